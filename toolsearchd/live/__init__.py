"""What is the newest catalog, and what does each agent see of it?"""
