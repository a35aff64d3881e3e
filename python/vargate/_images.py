"""The evaluation of label maps: the library's, site by site, from a file.

Predictions in memory go to a file first, image by image, since the library reads images from disk and
keeps only what it counts; the file of a caller is read itself.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from ctypes import POINTER, byref, c_double, c_int64, c_uint32, cast, pointer
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._arrays import as_integers, as_names, real, whole
from ._jobs import Job
from ._options import ScoringOptions, ThreadedOptions, measure_names, resolve, show_options, temperatures
from ._sites import Sites, as_sites, flat_labels, site_axes
from ._tally import chosen_columns, points
from .evaluate import RANKING, Evaluation, Finding, ImageFigures, best_of, evaluation_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._arrays import Array

__all__ = ["Asked", "evaluate_images", "reported", "save_maps"]


@dataclass(frozen=True)
class Asked:
    """The options of `evaluate` that are not about scoring."""

    bins: int
    bootstrap: int
    seed: int
    confidence: float
    coverages: Sequence[float]
    risks: Sequence[float]
    curve: int
    threads: int | None
    ignore: int | None


def _plain(p: Any) -> Array:
    """An array in memory as NumPy has it; bfloat16, which NumPy's files lack, as float32."""
    values = p.detach() if hasattr(p, "detach") else p
    if "bfloat16" in str(getattr(values, "dtype", "")):
        values = values.float() if hasattr(values, "float") else np.asarray(values).astype(np.float32)
    return np.asarray(values)


def _write(p: Any, sites: Sites, axes: str, path: Path) -> str:
    """Predictions as a file; returns the axes of what was written."""
    if not isinstance(p, (list, tuple)):
        np.save(path, _plain(p))
        return axes
    members = [_plain(one) for one in p]
    order = axes.replace("M", "")
    shape = (sites.shape[0], len(members), sites.c, *sites.shape[1:])
    out = np.lib.format.open_memmap(path, mode="w+", dtype=members[0].dtype, shape=shape)
    letters = [letter for letter in "NCHWD" if letter in order or letter in "NC"]
    for m, member in enumerate(members):
        whole_member = member if "N" in order else member[None]
        named = order if "N" in order else "N" + order
        out[:, m] = whole_member.transpose([named.index(letter) for letter in letters])
    out.flush()
    return "NM" + "".join(letters[1:])


def _labels(labels: Any, sites: Sites | None, folder: Path) -> bytes | None:
    if labels is None or isinstance(labels, (str, os.PathLike)):
        return None if labels is None else os.fsencode(labels)
    maps = np.asarray(labels.detach() if hasattr(labels, "detach") else labels)
    if sites is not None:
        maps = flat_labels(maps, sites).reshape(sites.shape)
    np.save(folder / "labels.npy", as_integers(maps, "labels"))
    return os.fsencode(folder / "labels.npy")


def _reading(
    axes: str, labels: bytes | None, ignore: int | None, scoring: ThreadedOptions
) -> tuple[_native.InputOptions, list[Any]]:
    """The library's options of reading and scoring, and what must outlive them."""
    how: dict[str, Any] = {
        name: value for name, value in scoring.items() if name not in ("measures", "classes", "axes")
    }
    given, logits = temperatures(how.get("temperature")), how.get("logits")
    resolved = resolve(**how, interruptible=False)
    reading = _native.InputOptions(_native.size(_native.InputOptions), axes=axes.encode(), labels=labels)
    reading.logits = -1 if not logits else 1
    reading.temperature = ",".join(map(repr, given)).encode() if given else None
    reading.scoring = cast(resolved.address, POINTER(_native.ScoreOptions))
    if "measures" in scoring:
        chosen = c_uint32()
        names = measure_names(scoring["measures"], resolved.k)
        _native.check(_native.lib.vg_fields_parse(byref(chosen), ",".join(names).encode()))
        reading.fields = chosen
    ignored = c_int64(0 if ignore is None else whole(ignore, "ignore", -(2**63)))
    if ignore is not None:
        reading.ignore = pointer(ignored)
    return reading, [resolved, ignored]


def _options(asked: Asked, job: Job) -> tuple[_native.EvaluateFileOptions, list[Any]]:
    c_coverages, c_risks = (
        _native.doubles(points(asked.coverages, "coverages")),
        _native.doubles(points(asked.risks, "risks")),
    )
    options = _native.EvaluateFileOptions(
        _native.size(_native.EvaluateFileOptions),
        whole(asked.bins, "bins", 1, 10000),
        whole(asked.bootstrap, "bootstrap", 0),
        whole(asked.seed, "seed", 0),
        real(asked.confidence, "confidence"),
        cast(c_coverages, POINTER(c_double)),
        len(c_coverages),
        cast(c_risks, POINTER(c_double)),
        len(c_risks),
        whole(asked.curve, "curve", 0),
        job.native,
    )
    return options, [c_coverages, c_risks]


def _result(result: Any, classes: tuple[str, ...] | None) -> Evaluation:
    """The library's result as an object."""
    if classes is None and result.class_names:
        classes = tuple(result.class_names[i].decode() for i in range(result.c))
    found = evaluation_of(result.evaluation.contents, result.m, classes)
    rows = [result.images[i] for i in range(result.image_count)]
    said = [result.findings[i] for i in range(result.finding_count)]
    return replace(
        found,
        findings=tuple(
            Finding(row.about.decode(), row.verdict.decode(), row.choice.decode() or None, row.text.decode())
            for row in said
        ),
        sites=tuple(result.sites[: 4 if result.sites[3] > 1 else 3]),
        ignored=int(result.ignored),
        images=tuple(
            ImageFigures(row.sites, row.accuracy, row.abstained_share, row.mean, row.median, row.p95, row.max)
            for row in rows
        ),
    )


def _only(found: Evaluation, measures: str | Sequence[str] | None) -> Evaluation:
    """The rankings that were requested: ``"gtu@1"`` is one of those of its field."""
    names = list(chosen_columns({name: np.empty(0) for name in found.measures}, measures))
    if len(names) == len(found.measures):
        return found
    kept = {name: found.measures[name] for name in names}
    return replace(
        found,
        measures=kept,
        best=best_of(kept, RANKING, RANKING[3:]),
        lead=found.lead if found.lead is not None and found.lead.leader in kept else None,
        findings=tuple(finding for finding in found.findings if finding.about != "measure"),
    )


def _said(error: ValueError, scratch: str) -> str:
    """Files of ours are the caller's arrays."""
    return str(error).replace(f"{scratch}/p.npy", "p").replace(f"{scratch}/labels.npy", "labels")


def evaluate_images(
    p: Any, labels: Any, asked: Asked, extra: Mapping[str, Any] | None, scoring: ScoringOptions
) -> Evaluation:
    """`vargate.evaluate` of images and volumes."""
    if extra:
        raise ValueError(
            "extra: images are ranked by our measures; score them first: evaluate(score(p, axes=...), ...)"
        )
    axes, named = site_axes(p, scoring.get("axes")) or "", scoring.get("classes")
    sites = None if isinstance(p, (str, os.PathLike)) else as_sites(p, axes)
    if labels is None and sites is not None:
        raise ValueError(f"labels are needed: label maps {sites.shape} of the images")
    out = POINTER(_native.EvaluationResult)()
    with tempfile.TemporaryDirectory(prefix="vargate-") as scratch, Job(False) as job:
        path = p if sites is None else Path(scratch) / "p.npy"
        axes = axes if sites is None else _write(p, sites, axes, Path(path))
        reading, _kept = _reading(
            axes, _labels(labels, sites, Path(scratch)), asked.ignore, {**scoring, "threads": asked.threads}
        )
        options, _held = _options(asked, job)
        try:
            job.done(_native.lib.vg_evaluate_file(byref(out), os.fsencode(path), byref(reading), byref(options)))
        except ValueError as error:
            raise ValueError(_said(error, scratch)) from None
    try:
        classes = None if named is None else as_names(named, out.contents.c)
        return _only(_result(out.contents, classes), scoring.get("measures"))
    finally:
        _native.lib.vg_evaluation_result_free(out)


def reported(p: Any, axes: str, labels: Any, scratch: Path) -> tuple[bytes, bytes, bytes | None]:
    """Predictions of images as a file, the axes of what is in it, and their label maps."""
    sites = None if isinstance(p, (str, os.PathLike)) else as_sites(p, axes)
    path = p if sites is None else scratch / "p.npy"
    letters = axes if sites is None else _write(p, sites, axes, Path(path))
    return os.fsencode(path), letters.encode(), _labels(labels, sites, scratch)


def save_maps(
    p: Any,
    folder: str | os.PathLike[str],
    *,
    labels: Any = None,
    ignore: int | None = None,
    pictures: int = 20,
    force: bool = False,
    **scoring: Unpack[ScoringOptions],
) -> Path:
    """Maps of images in a folder, as ``vargate score --maps`` writes them: arrays, pictures and a page.

    Parameters
    ----------
    p : path, array_like or list of arrays, one per member
        Predictions of images or volumes, as in `score`.
    folder : path
        Made where it is missing; it holds `NAME.npy`, `NAME-IMAGE.png`, ``images.csv``, ``maps.html``, ``maps.json``.
    labels : array_like of int or path, optional
        Label maps (N, H, W).
    ignore : int, optional
        The label of sites that are left out and marked in the maps.
    pictures : int
        How many images have pictures and are in the page.
    force : bool
        Use a folder that holds other files.
    **scoring
        The options of `score`; `axes` name those of the images, ``"NMCHW"``, ``"MNCHW"``, ..., where no dims tell them.

    Returns
    -------
    Path
        The folder.

    Examples
    --------
    >>> import numpy as np, tempfile, vargate
    >>> p = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 5, 4, 6))  # members, images, height, width
    >>> out = vargate.save_maps(p, tempfile.mkdtemp(), axes="MNHWC", pictures=1)
    >>> np.load(out / "gmu.npy").shape, (out / "maps.html").exists()
    ((5, 4, 6), True)
    """
    letters = site_axes(p, scoring.get("axes"))
    if letters is None:
        raise ValueError("save_maps writes maps of images: name their axes, axes='NMCHW'")
    with tempfile.TemporaryDirectory(prefix="vargate-") as scratch, Job(False) as job:
        path, written, given = reported(p, letters, labels, Path(scratch))
        reading, _kept = _reading(written.decode(), given, ignore, {**scoring, "threads": None})
        options = _native.ScoreFileOptions(
            _native.size(_native.ScoreFileOptions), None, bool(force), 0, job.native, os.fsencode(folder)
        )
        options.pictures = whole(pictures, "pictures", 0)
        try:
            job.done(_native.lib.vg_score_file(None, path, byref(reading), byref(options)))
        except ValueError as error:
            raise ValueError(_said(error, scratch)) from None
    return Path(folder)


show_options(save_maps, ScoringOptions)
