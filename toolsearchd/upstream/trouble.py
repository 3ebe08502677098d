"""What is amiss with a server, beside its state. Gone with what it tells of: no old error beside `ready`."""

from __future__ import annotations

from collections.abc import Callable

from toolsearchd.config.secret_values import SecretValues
from toolsearchd.disclosure.sanitise import plain_line


class Trouble:
    """`text` is one line, without the server's secrets; empty where nothing is amiss."""

    def __init__(self, secrets: Callable[[], SecretValues]) -> None:
        self._secrets = secrets
        self._refusal = False  # the text is of a call that HTTP refused
        self.text = ""

    def tell(self, words: str, *, behind: str = "") -> str:
        """The text from now on. `behind`: what is shown after it and holds no secret any more."""
        self.text = plain_line(self._secrets().masked(words)) + behind
        self._refusal = False
        return self.text

    def connected(self) -> None:
        """What an earlier life died of is over. A refusal stays until a call is answered."""
        if not self._refusal:
            self.text = ""

    def answered(self, refusal: str) -> None:
        """A call was; `refusal`: HTTP's words where it refused the call."""
        if refusal:
            self.tell(refusal)
        elif self._refusal:
            self.text = ""
        self._refusal = bool(refusal)
