"""Here is a query: which tools?"""
