"""Clients' configs as they look in life, and an installation into them without any file."""

from pathlib import Path

import msgspec

from toolsearchd.config.install.clients import CLIENTS
from toolsearchd.config.install.door import Door
from toolsearchd.config.install.plan import plan_install
from toolsearchd.config.install.records import FoundFiles, Record

DATA = Path(__file__).parents[1] / "data/clients"
TEXTS = {path.stem: path.read_bytes() for path in DATA.glob("*.*")}
INSTALLED = {path.stem: path.read_bytes() for path in DATA.glob("installed/*.*")}
DOOR = Door(command="/opt/bin/toolsearchctl")
FILE = "/home/me/config"


def found(plan, *, text=None, moved=None):
    """The files after a plan was followed; `text`, `moved`: what they became since."""
    return FoundFiles(
        file=FILE,
        text=plan.text if text is None else text,
        original=plan.original,
        moved=plan.moved if moved is None else moved,
        record=msgspec.json.decode(plan.record, type=Record),
    )


def before(text):
    return FoundFiles(file=FILE, text=text)


def install(name, *text, **more):
    """Into the client's own text, or another one."""
    return plan_install(CLIENTS[name], before(*text or [TEXTS[name]]), DOOR, **more)


def servers(name, text):
    """The entries of a client's config, by the reader that the daemon uses."""
    client = CLIENTS[name]
    value = client.load(text.decode("utf-8-sig"), FILE).value
    for key in client.section:
        value = (value or {}).get(key)
    return value or {}
