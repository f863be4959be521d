"""What is fuzzed? Models of every kind behind one Protocol, and how each is loaded."""
