"""One call's way: who lets it through, sends it, and keeps what became of it?"""
