"""Fuzzing inside pytest: the fixture `jostle`, what it remembers from run to run, and cases that are tests."""
