"""Text in, desired state out: which servers should run, and by which settings?"""
