"""When is a server tried again, when is it let alone, when is it believed? Pure: time comes in as numbers."""

from __future__ import annotations

from collections import deque

from toolsearchd.limits import Limits


class Backoff:
    """The waits of one server. A first connect is tried again after `first_connect_delays_s`, a lost server
    after `reconnect_delays_s`; then it is parked: a lost one is probed every `parked_probe_s`, one that never
    connected after a cooldown that doubles. A handshake alone proves nothing: only `proven` resets."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._failures = 0
        self._was_connected = False
        self._renewals = 0

    @property
    def is_parked(self) -> bool:
        return self._failures > len(self._delays)

    @property
    def _delays(self) -> tuple[float, ...]:
        limits = self._limits
        return limits.reconnect_delays_s if self._was_connected else limits.first_connect_delays_s

    def connected(self) -> None:
        """The handshake worked: from now on the server counts as lost, not as never found."""
        if not self._was_connected:
            self._was_connected, self._failures = True, 0

    def proven(self) -> None:
        """A call was answered, or the session held for a while: the budget is whole again."""
        self._failures = 0

    def renews(self, *, was_useful: bool) -> bool:
        """A session ended, and its server is there: does a new one begin at once? A few times in a row where
        none was of use; from then on it is a failure as any other."""
        self._renewals = 0 if was_useful else self._renewals + 1
        return self._renewals <= self._limits.session_renewals

    def failed(self, jitter: float) -> float:
        """Seconds to wait. `jitter`: -1..1, uniform; it moves the wait by `reconnect_jitter` at most."""
        self._failures += 1
        limits = self._limits
        parked_for = self._failures - len(self._delays) - 1
        if parked_for >= 0 and self._was_connected:
            return limits.parked_probe_s
        if parked_for >= 0:
            return float(min(limits.cooldown_max_s, limits.cooldown_s * 2 ** min(parked_for, 16)))
        return self._delays[self._failures - 1] * (1 + self._limits.reconnect_jitter * jitter)


class Breaker:
    """Opens after `breaker_failures` failed calls in a row, lets one probe through after `breaker_open_s`,
    closes on a success. What a failure is, is its caller's to say. `now`: monotonic seconds."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._failures = 0
        self._opened_at: float | None = None
        self._probing = False

    def admits(self, now: float) -> bool:
        """May a call be sent? True makes it the probe where the breaker is open."""
        if self._opened_at is None:
            return True
        if self._probing or now - self._opened_at < self._limits.breaker_open_s:
            return False
        self._probing = True
        return True

    def opens_for_s(self, now: float) -> float:
        """Seconds until a probe is let through; 0 where calls pass."""
        if self._opened_at is None:
            return 0.0
        return max(0.0, self._opened_at + self._limits.breaker_open_s - now)

    def record(self, *, ok: bool, now: float) -> None:
        """The outcome of a call that `admits` let through."""
        self._probing = False
        if ok:
            self._failures, self._opened_at = 0, None
            return
        self._failures += 1
        if self._opened_at is not None or self._failures >= self._limits.breaker_failures:
            self._opened_at = now

    def abandoned(self) -> None:
        """The call ended without telling anything of the server (it was stopped)."""
        self._probing = False


class SessionClaims:
    """How often a server's words alone end a session, in `session_claims_window_s`: each end costs the open
    calls of all others, and a tool may speak of sessions of its own for ever."""

    def __init__(self, limits: Limits) -> None:
        self._window_s = limits.session_claims_window_s
        self._believed: deque[float] = deque(maxlen=limits.session_claims)

    def believes(self, now: float, *, is_plain: bool) -> bool:
        """`is_plain`: the words can mean nothing else; others are believed once. `now`: monotonic seconds."""
        recent = [at for at in self._believed if now - at < self._window_s]
        if len(recent) >= ((self._believed.maxlen or 0) if is_plain else 1):
            return False
        self._believed.append(now)
        return True


class ChangeBudget:
    """Of a tool list, `list_changes` changes are taken over within `list_change_window_s`: each costs every
    agent its prompt cache, and a list that flips must not do so for ever."""

    def __init__(self, limits: Limits) -> None:
        self._window_s = limits.list_change_window_s
        self._changes: deque[float] = deque(maxlen=limits.list_changes)

    def is_spent(self, now: float) -> bool:
        """May no further change be taken over at `now`, monotonic seconds?"""
        changes = self._changes
        return len(changes) == changes.maxlen and now - changes[0] < self._window_s

    def spend(self, now: float) -> None:
        """A change is taken over."""
        self._changes.append(now)

    def next_s(self, now: float) -> float:
        """Seconds until a change may be taken over again."""
        return max(0.0, self._changes[0] + self._window_s - now) if self.is_spent(now) else 0.0
