"""A report page in a notebook: shown in place, or opened in a browser."""

from __future__ import annotations

import os
import webbrowser
from html import escape
from pathlib import Path

__all__ = ["ReportPage"]

_MOST = 8 << 20  # bytes of a page that is embedded whole


class ReportPage:
    """A page that ``vargate report`` wrote. A notebook shows it in place; `open` opens it in the browser.

    The page is embedded whole (an ``iframe`` with ``srcdoc``), so that it stays in the notebook when the file moves. It
    may run its own scripts and nothing else: it cannot reach the notebook. Pages of more than 8 MiB are linked instead.

    Parameters
    ----------
    path : path
        The page, or the folder that holds it as ``report.html``.
    height : int
        Of the frame in a notebook, in pixels.

    Examples
    --------
    >>> import tempfile, pathlib, vargate.page
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "report.html").write_text("<h1>Digits</h1>")
    >>> page = vargate.page.ReportPage(folder)
    >>> page.path.name, "srcdoc" in page._repr_html_()
    ('report.html', True)
    """

    def __init__(self, path: str | os.PathLike[str], *, height: int = 640) -> None:
        place = Path(path)
        self.path = place / "report.html" if place.is_dir() else place
        if not self.path.is_file():
            raise FileNotFoundError(f"there is no page {self.path}")
        self.height = int(height)

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"<vargate.page.ReportPage: {self.path}>"

    def open(self) -> bool:
        """Opens the page in the browser; False where there is none."""
        return webbrowser.open(self.path.absolute().as_uri())

    def _repr_html_(self) -> str:
        address, name = escape(self.path.absolute().as_uri(), quote=True), escape(str(self.path))
        if self.path.stat().st_size > _MOST:
            return f'<a href="{address}" target="_blank" rel="noopener">{name}</a> (too large to be shown here)'
        text = escape(self.path.read_text(encoding="utf-8"), quote=True)
        return (
            f'<iframe srcdoc="{text}" title="{name}" sandbox="allow-scripts allow-downloads" width="100%" '
            f'height="{self.height}" style="border:1px solid #8884;border-radius:4px" loading="lazy"></iframe>'
        )
