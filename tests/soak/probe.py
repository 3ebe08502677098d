"""The daemon, each step of its loop timed: `python -m tests.soak.probe REPORT …`, then as `toolsearchd`.

When it ends, REPORT holds JSON: `steps`, how many there were; `longest`, [milliseconds of CPU of the loop's
thread, name of the task] of the longest ones, after READY.
"""

from __future__ import annotations

import heapq
import json
import sys
import time
from pathlib import Path

KEPT = 20
WORTH_S = 0.005  # shorter ones are counted only


def main(report: Path) -> None:
    import trio

    from toolsearchd import __main__
    from toolsearchd.daemon import app

    class Steps(trio.abc.Instrument):
        def __init__(self) -> None:
            self.began = time.thread_time()  # of the step that READY is a part of
            self.count = 0
            self.longest: list[tuple[float, int, str]] = []

        def before_task_step(self, task: object) -> None:
            self.began = time.thread_time()

        def after_task_step(self, task: object) -> None:
            took = time.thread_time() - self.began
            self.count += 1
            if took > WORTH_S:
                heapq.heappush(self.longest, (took, self.count, getattr(task, "name", "?")))
                if len(self.longest) > KEPT:
                    heapq.heappop(self.longest)

    steps = Steps()
    run = app.Daemon.run

    async def timed(self: app.Daemon) -> None:
        ready = self.notifier.ready

        def ready_and_counting(status: str) -> None:
            ready(status)
            if not steps.count:
                trio.lowlevel.add_instrument(steps)

        self.notifier.ready = ready_and_counting  # type: ignore[method-assign]
        await run(self)

    app.Daemon.run = timed  # type: ignore[method-assign]
    try:
        __main__.main()
    finally:
        longest = [(round(1000 * took, 1), name) for took, _, name in sorted(steps.longest, reverse=True)]
        report.write_text(json.dumps({"steps": steps.count, "longest": longest}))


if __name__ == "__main__":
    file = Path(sys.argv[1])
    sys.argv = ["toolsearchd", *sys.argv[2:]]
    main(file)
