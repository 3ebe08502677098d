"""A peer's process: asked over JSON lines, ended when it takes too long."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path
from typing import Any

from tests.bench.peers.registry import Peer

ADAPTERS = Path(__file__).parent / "adapters"


class PeerFailedError(Exception):
    """The peer died or took too long; the text says which, with the last thing that it wrote."""


class PeerProcess:
    """Use in `with`. `log`: where its stderr goes."""

    def __init__(self, peer: Peer, python: Path, log: Path) -> None:
        self.peer = peer
        self._log = log
        command = [python, ADAPTERS / f"{peer.adapter}_adapter.py", *peer.arguments]
        with log.open("wb") as opened:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=opened, text=True
            )

    def __enter__(self) -> PeerProcess:
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, message: dict[str, Any], within_s: float) -> dict[str, Any]:
        """The answer. Raises PeerFailedError, after which the process is gone."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        late = threading.Timer(within_s, self._process.kill)
        late.start()
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timed_out = not late.is_alive()
            late.cancel()
        if not line:
            self._process.kill()
            self._process.wait()
            raise PeerFailedError(f"no answer within {within_s:.0f} s" if timed_out else self._last_words())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def load(self, tools: Path, within_s: float) -> dict[str, Any]:
        """Gives it a catalog. Returns `build_s`, `cpu_s`."""
        return self.ask({"op": "load", "tools": str(tools)}, within_s)

    def search(self, queries: list[tuple[str, int]], within_s: float) -> dict[str, Any]:
        """Returns `found` and `us` for as many of the queries as it answered in about `within_s`."""
        return self.ask(
            {"op": "search", "queries": queries, "within_s": within_s}, within_s=within_s * 2 + 60
        )

    def _last_words(self) -> str:
        said = self._log.read_text("utf-8", "replace").strip().splitlines()
        return said[-1][:200] if said else f"exit {self._process.returncode}"
