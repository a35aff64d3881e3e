"""A progress bar on standard error, for the collectors of members."""

from __future__ import annotations

import sys
import time

__all__ = ["Bar"]


class Bar:
    """Batches done, on standard error."""

    def __init__(self, total: int | None, shown: bool) -> None:
        self.total, self.shown, self.begun, self.last, self.done = total, shown, time.monotonic(), 0.0, 0

    def step(self) -> None:
        """One more batch is done."""
        self.done += 1
        now = time.monotonic()
        if not self.shown or (now - self.last < 0.1 and self.done != self.total):
            return
        self.last = now
        rate = self.done / max(now - self.begun, 1e-9)
        if self.total:
            filled = 30 * self.done // self.total
            left = (self.total - self.done) / rate
            text = f"collect [{'#' * filled}{'.' * (30 - filled)}] {self.done}/{self.total} {left:.0f} s left"
        else:
            text = f"collect {self.done} batches, {rate:.1f} per second"
        sys.stderr.write(f"\r{text}\x1b[K" + ("\n" if self.done == self.total else ""))
        sys.stderr.flush()
