"""What is the smallest graph, and the script, that shows a defect?"""
