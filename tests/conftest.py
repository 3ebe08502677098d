"""Hypothesis profiles: machines differ in speed, and `make soak` looks longer."""

from hypothesis import settings

settings.register_profile("everyday", deadline=None)
settings.register_profile("soak", deadline=None, max_examples=5000)
settings.load_profile("everyday")
