"""Hermes: its releases of September and June 2026, and as NemoClaw configures it."""
