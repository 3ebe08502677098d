"""The effective config as text, for people."""

from __future__ import annotations

import msgspec
import yaml

from toolsearchd.config.masking import masked_tree
from toolsearchd.config.settings import Settings


class _Dumper(yaml.SafeDumper):
    """No anchors: what stands twice is written twice."""

    def ignore_aliases(self, _data: object) -> bool:
        return True


def dump_settings(settings: Settings) -> str:
    """The effective config as YAML that reads back the same, but for credentials, which are masked."""
    plain = {name: masked_tree(section) for name, section in msgspec.to_builtins(settings).items()}
    tools = {"tool_search": plain.pop("tool_search"), "connectors": plain.pop("connectors")}
    text = yaml.dump({"tools": tools, **plain}, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    assert isinstance(text, str)
    return text
