"""Results that are kept as the JSON document that a command writes."""

from __future__ import annotations

import json
import os
from typing import Any


class Document:
    """A result whose JSON text the library made; `_text` is an attribute of the class that derives from this."""

    _text: str

    def to_dict(self) -> dict[str, Any]:
        """The keys of the command's ``--json`` but for ``schema`` and ``command``."""
        out: dict[str, Any] = json.loads(self._text)
        return {key: value for key, value in out.items() if key not in ("schema", "command")}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file that the command line and the functions here take; complete under its name, or not at all."""
        from ._files import save_text

        save_text(self._text, os.fspath(path))
