"""What does a model see for N tokens?"""
