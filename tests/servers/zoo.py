"""Entries for `mcpServers` that start the servers of this folder."""

import sys
from pathlib import Path

HERE = Path(__file__).parent


def zoo(name, *args, **more):
    """An entry that starts `<name>.py` here with `args`; `more` are further keys of the entry."""
    return {"command": sys.executable, "args": ["-I", str(HERE / f"{name}.py"), *map(str, args)], **more}
