"""…in whose words?"""
