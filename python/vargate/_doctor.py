"""What this build and this machine have, and how to get what is missing."""

from __future__ import annotations

import json
from ctypes import byref, c_char_p, c_size_t, c_void_p, cast
from typing import NamedTuple

from . import _native


class Finding(NamedTuple):
    """One line of `doctor`: what was looked at, what there is, and how to get what is missing (None: nothing is)."""

    topic: str
    found: str
    advice: str | None


def doctor() -> list[Finding]:
    """What `vargate doctor` shows: version, vector tier, what trains, GPU, libraries, programs and data sets.

    Examples
    --------
    >>> import vargate
    >>> [f.topic for f in vargate.doctor()][:3]
    ['vargate', 'processor', 'training']
    """
    lines, count, text = c_void_p(), c_size_t(), c_void_p()
    _native.check(_native.lib.vg_doctor(byref(lines), byref(count)))
    try:
        _native.check(_native.lib.vg_doctor_json(byref(text), lines, count))
    finally:
        _native.lib.vg_doctor_free(lines)
    try:
        document = json.loads(cast(text, c_char_p).value or b"{}")
    finally:
        _native.lib.vg_free(text)
    return [Finding(f["topic"], f["found"], f["advice"]) for f in document["findings"]]
