"""What happens to findings when the budget is spent."""
