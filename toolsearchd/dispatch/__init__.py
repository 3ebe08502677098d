"""What may run now, and what became of it?"""
