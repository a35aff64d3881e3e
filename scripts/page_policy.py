#!/usr/bin/env python3
"""The content security policies of the pages that vargate writes.

    scripts/page_policy.py            writes the digests of script and style into the pages that are written by hand
    scripts/page_policy.py --check    fails unless every page has a strict policy that fits it

A strict policy names the one script and the one style of the page by their digests, so that nothing that comes with the
data, or is inserted later, is executed: no 'unsafe-inline', no attribute that handles an event, nothing from elsewhere.
report_template.html gets its digests from web/build.mjs; pages without a script allow none."""

import base64
import hashlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WRITTEN = tuple(f"src/workflow/{name}_page.html" for name in ("compare", "maps", "reproduction"))
PAGES = ("src/report/report_template.html", *WRITTEN)
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"\s+content="([^"]*)">')
SCRIPT = re.compile(r"<script(?![^>]*application/json)[^>]*>(.*?)</script>", re.S)
STYLE = re.compile(r"<style>(.*?)</style>", re.S)
HANDLER = re.compile(r"<[a-z][^<>]*\son[a-z]+\s*=", re.I)


def digest(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def faults_of(page):
    """What is wrong with a page, in words."""
    found = POLICY.search(page)
    if not found:
        return ["it has no policy"]
    policy = dict(part.strip().split(" ", 1) for part in found.group(1).split(";") if part.strip())
    wanted = {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'"}
    for name, pattern in (("script-src", SCRIPT), ("style-src", STYLE)):
        wanted[name] = " ".join(f"'{digest(text)}'" for text in pattern.findall(page)) or "'none'"
    faults = [f"{name} is {policy.get(name)}, expected {value}" for name, value in wanted.items()
              if policy.get(name) != value]  # fmt: skip
    if "unsafe" in found.group(1):
        faults.append("its policy has an unsafe source")
    outside = SCRIPT.sub("", STYLE.sub("", page))
    if HANDLER.search(outside) or re.search(r"javascript:", outside, re.I):
        faults.append("it has an inline event handler")
    if re.search(r"\sstyle=", outside):
        faults.append("it has a style attribute, which the policy refuses")
    return faults


def renewed(page):
    policy = POLICY.search(page)
    text = policy.group(0)
    for name, pattern in (("script-src", SCRIPT), ("style-src", STYLE)):
        found = pattern.search(page)
        text = re.sub(rf"{name} '[^']*'", f"{name} '{digest(found.group(1))}'" if found else f"{name} 'none'", text)
    return page[: policy.start()] + text + page[policy.end() :]


def main():
    if sys.argv[1:] != ["--check"]:
        for name in WRITTEN:
            (ROOT / name).write_text(renewed((ROOT / name).read_text()))
    faults = [f"{name}: {fault}" for name in PAGES for fault in faults_of((ROOT / name).read_text())]
    print("\n".join(faults) or f"{len(PAGES)} pages have strict policies")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
