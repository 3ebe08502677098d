"""OpenClaw: the three generations of its tool search."""
