"""What must be true of a stranger's file before a library opens it?"""
