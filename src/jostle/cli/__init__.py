"""What does a person type and see? Only here is anything printed."""
