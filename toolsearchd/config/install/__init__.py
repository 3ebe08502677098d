"""Here is a client's config: what does it say with the daemon in it, and again without? Texts in, texts out.

Each syntax has an editor that changes a text where it must and keeps every other byte. A plan says what an
installation, its end or a change of disclosure writes, and has read its own texts back before it is followed.
"""
