"""Composes the daemon: what is started, in which order, and who answers for the whole?"""
