"""check_site.py FOLDER - every link and picture inside the site leads somewhere: files and anchors."""

from __future__ import annotations

import sys
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path


class Page(HTMLParser):
    """The anchors of a page and the places it refers to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value and tag in ("a", "img", "script", "link"):
                self.targets.append(value)


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in folder.rglob("*.html")}
    wrong = links = 0
    for path, page in pages.items():
        if path.name == "404.html":
            continue
        for target in page.targets:
            address = urllib.parse.urlsplit(target)
            if address.scheme or address.netloc:
                continue
            links += 1
            place = (path.parent / urllib.parse.unquote(address.path)).resolve() if address.path else path
            place = place / "index.html" if place.is_dir() else place
            anchor = urllib.parse.unquote(address.fragment)
            if not place.exists() or (anchor and place in pages and anchor not in pages[place].anchors):
                print(f"{path.relative_to(folder)}: {target} leads nowhere")
                wrong += 1
    print(f"{len(pages)} pages, {links} links, {wrong} wrong")
    sys.exit(bool(wrong or not links))


if __name__ == "__main__":
    main()
