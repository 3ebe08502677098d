"""Which processes belong to a directory: by their command, or their environment."""

import os
import re
from pathlib import Path


def left_running(directory):
    """Pid → command of what lives."""
    names_it = re.compile(re.escape(os.fsencode(directory)) + rb"(?![\w-])")
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command, environment = ((process / name).read_bytes() for name in ("cmdline", "environ"))
        except OSError:  # it has ended, or is another's
            continue
        if int(process.name) != os.getpid() and (names_it.search(command) or names_it.search(environment)):
            found[int(process.name)] = command.replace(b"\0", b" ").decode(errors="replace")
    return found
