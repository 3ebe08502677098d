"""Why a tool's arguments can't be validated, as a call of it finds out."""

from toolsearchd.dispatch.check import plan


def unvalidatable_reason(definition, limits):
    """Empty where they can."""
    return definition.unvalidatable or plan(definition.input_schema, limits).fault
