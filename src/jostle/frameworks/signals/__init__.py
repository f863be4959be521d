"""What a framework did inside while a program ran: its parts by name, as cheap as each framework tells them."""
