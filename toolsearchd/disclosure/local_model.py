"""Where a session's model runs: small ones, on this machine, are given less."""

from __future__ import annotations

import re

_HOST = re.compile(r"^[a-z][a-z0-9+.-]*://(?:[^/@]*@)?(\[[^\]]*\]|[^/:?#]*)", re.IGNORECASE)
_LOOPBACK = re.compile(r"(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|::1|0\.0\.0\.0)", re.IGNORECASE)
_LOCAL_PROVIDERS = ("ollama", "lmstudio", "lm-studio")


def is_local_model(provider: str, model: str, base_url: str) -> bool:
    """Does this machine serve the model? The address says so; without one, the provider's name."""
    if base_url:
        host = _HOST.match(base_url)
        return host is not None and _LOOPBACK.fullmatch(host[1]) is not None
    return (provider or model.partition("/")[0]).strip().lower() in _LOCAL_PROVIDERS
