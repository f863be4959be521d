"""What does the model do with this batch?"""
