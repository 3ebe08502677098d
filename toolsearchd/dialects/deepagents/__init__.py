"""Deep Agents Code: its search of tools, by substring, with what it exposes kept per session."""

from toolsearchd.dialects.guest import Guest

GUEST = Guest(
    dialects={"deepagents": "dialect.DEEPAGENTS"},
    clients=(
        ("deepagents", "deepagents"),
        ("deepagents-*", "deepagents"),
        ("langchain-deepagents*", "deepagents"),
    ),
    modules=("dialect",),
)
