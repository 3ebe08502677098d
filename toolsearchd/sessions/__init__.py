"""Who is connected, and what is each entitled to?"""
