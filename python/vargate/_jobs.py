"""Listening to a job of the library: progress, warnings, and stopping it by Ctrl-C or from the listener."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from . import _native

__all__ = ["Job", "Listener", "Progress"]

EVENTS = ("begin", "progress", "end", "note", "warning")


@dataclass(frozen=True)
class Progress:
    """What a listener receives.

    Attributes
    ----------
    event : {"begin", "progress", "end", "note", "warning"}
        A part of the work begins, continues, has ended; one line for a person.
    text : str
        The part's name, ``"epoch 3/20  loss 0.1234"``, or the line.
    unit : str
        What is counted: ``"steps"``, ``"images"``.
    done, total : int
        Units so far, of how many (0: unknown).
    """

    event: Literal["begin", "progress", "end", "note", "warning"]
    text: str = ""
    unit: str = ""
    done: int = 0
    total: int = 0


Listener = Callable[[Progress], object]


class _Line:
    """Progress as a line of text that is written again at most ten times a second; notes stay above it."""

    def __init__(self) -> None:
        self.next = 0.0
        self.unit = ""
        self.width = 0

    def _write(self, text: str, end: str) -> None:
        print("\r" + text.ljust(self.width), end=end, file=sys.stderr, flush=True)
        self.width = len(text) if not end else 0

    def __call__(self, heard: Progress) -> None:
        if heard.event == "begin":
            self.unit = heard.unit
        elif heard.event in ("note", "warning"):
            self._write(("warning: " if heard.event == "warning" else "") + heard.text, "\n")
        elif heard.event == "end":
            if self.width:
                self._write("", "")
                print("\r", end="", file=sys.stderr, flush=True)
            self.next = self.width = 0
        elif time.monotonic() >= self.next:
            self.next = time.monotonic() + 0.1
            share = f"  {100 * heard.done // heard.total} %" if heard.total else ""
            self._write(f"{heard.text}  {heard.done}{f'/{heard.total}' if heard.total else ''} {self.unit}{share}", "")


class Job:
    """A call of the library that is listened to: ``with Job(progress) as job: job.done(lib.function(... job.native))``.

    What the listener raises stops the work and is raised from the block; so is what Ctrl-C raises. Warnings of the
    library become Python's when the work has ended.
    """

    def __init__(self, progress: bool | Listener) -> None:
        self._listen: Listener | None = _Line() if progress is True else progress if callable(progress) else None
        if progress not in (True, False, None) and self._listen is None:
            raise TypeError(f"progress is {progress!r}, expected True, False or a function")
        self._said: list[str] = []
        self._raised: BaseException | None = None
        self._signals = _native.Interruptible()
        self._tell = _native.JobFn(self._hear)
        self.native = _native.Job(self._tell, None)

    def _hear(self, _context: Any, message: Any) -> int:
        # What is raised here would be lost: it is kept, the library is asked to stop, and done() raises it.
        try:
            if self._raised is None:
                self._pass_on(message.contents)
        except BaseException as raised:
            self._raised = raised
        return 1 if self._raised is not None or _native.stopped_here() else 0

    def _pass_on(self, m: _native.JobMessage) -> None:
        event = EVENTS[m.event]
        if event == "warning":
            self._said.append((m.text or b"").decode("utf-8", "replace"))
        if self._listen is not None:
            text, unit = (m.text or b"").decode("utf-8", "replace"), (m.unit or b"").decode()
            self._listen(Progress(event, text, unit, m.done, m.total))  # type: ignore[arg-type]

    def __enter__(self) -> Job:
        self._signals.__enter__()
        return self

    def __exit__(self, *what: object) -> None:
        self._signals.__exit__(*what)

    def done(self, status: int, *, go_on: str = "") -> None:
        """Ends the call: warns, and raises what stopped it. `go_on` says how stopped work is continued."""
        line = _native.lib.vg_error_message().decode("utf-8", "replace") if status else ""
        for text in self._said:
            warnings.warn(text, stacklevel=3)
        if self._raised is not None:
            raise self._raised
        stopped = _native.take_stopped() if status == _native.ERR_INTERRUPTED else None
        if type(stopped) is KeyboardInterrupt:
            raise KeyboardInterrupt(f"{line}{go_on}") from None
        if stopped is not None:
            raise stopped
        if status:
            raise _native.error(status)
