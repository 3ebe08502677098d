"""Which files changed, and what did each say when it was last good?"""
