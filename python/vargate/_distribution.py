"""Notices the other distribution that is imported as ``vargate``.

This package is distributed as ``vargate-uq``. PyPI's ``vargate`` is an unrelated program with the same import name:
installed into one folder, the two overwrite each other's files, and whichever was installed last is half complete.
"""

from __future__ import annotations

import warnings
from pathlib import Path


def warn_of_the_other(site: Path) -> None:
    """Warns, in one line, when the folder that holds this package holds the other distribution as well."""
    for found in site.glob("vargate-*.dist-info"):
        version = found.name.removeprefix("vargate-").removesuffix(".dist-info")
        warnings.warn(
            f"vargate {version}, another program of this import name, is installed beside vargate-uq and shares its "
            "files: pip uninstall vargate, then pip install --force-reinstall vargate-uq",
            RuntimeWarning,
            stacklevel=3,
        )
