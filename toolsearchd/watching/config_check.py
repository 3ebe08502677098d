"""`--check-config`: what the daemon would read, with what is wrong in it. Writes nothing."""

from __future__ import annotations

import os
from pathlib import Path

from toolsearchd.config.dialect_options import DialectOptionsByName
from toolsearchd.config.model import Problem
from toolsearchd.disclosure.sanitise import plain_line
from toolsearchd.watching.remembered import ConfigMemory
from toolsearchd.watching.watcher import Watcher


def check_config(
    config_file: Path, state_dir: Path, dialect_options: DialectOptionsByName
) -> tuple[str, list[Problem]]:
    """The effective config as YAML, before it as comments what was read and the servers found, and each
    problem, of the sources too. Writes nothing."""
    from toolsearchd.config.settings_text import dump_settings  # with PyYAML; the daemon itself writes none

    memory = ConfigMemory(state_dir, config_file, keeps=False)
    watcher = Watcher(
        config_file, environ=os.environ, dialect_options=dialect_options, memory=memory, log_problems=False
    )
    watcher.load_now()
    absent = "" if config_file.exists() or watcher.refusal() else ": not there, every key has its default"
    sources = (f"source {file.file} ({file.format}): {file.servers}" for file in watcher.files())
    servers = ", ".join(
        spec.name + (f" ({spec.idle}: {spec.mend})" if spec.enabled and spec.idle else "")
        for spec in watcher.desired.servers
    )
    said = (f"config {config_file}{absent}", *sources, f"servers: {servers or 'none'}")
    comments = "".join(f"# {plain_line(line)}\n" for line in said)
    return comments + dump_settings(watcher.settings), list(watcher.problems)
