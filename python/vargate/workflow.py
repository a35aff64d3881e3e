"""Whole tasks in this process: `train` a recipe, `predict` with its run, `run` it all, `report` on it."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Mapping, Sequence
from ctypes import POINTER, byref, c_char_p, c_void_p, cast, pointer
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _native
from ._arrays import as_integers, reals, whole
from ._files import save_arrays
from ._images import reported
from ._jobs import Job, Listener
from ._maps import CalibrationMap
from ._options import ClassGates, Gates, Temperature, rename_map, resolve, show_options, split_gates, thread_count
from ._predictions import Predictions
from ._recipes import Device, RecipeKeys, data_folder, find_recipe
from ._sites import site_axes
from ._summary import Verdict, verdict_of
from .calibrate import Calibration
from .evaluate import Evaluation, evaluation_of
from .ood import OodSet, set_of
from .page import ReportPage
from .scores import Scores

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["EpochFigures", "RunResult", "TrainResult", "predict", "report", "run", "train"]

Recipe = str | os.PathLike[str] | Mapping[str, Any]
ENSEMBLES = ("mcd", "lle", "mcd-lle")


@dataclass(frozen=True)
class EpochFigures:
    """Figures after an epoch, a line of ``metrics.jsonl``; epochs count from 1."""

    epoch: int
    train_loss: float
    train_accuracy: float
    val_loss: float
    val_accuracy: float
    val_ece: float
    diversity: float
    k_sensitivity: float
    rate: float
    images_per_s: float
    verdict: Verdict


@dataclass(frozen=True)
class TrainResult:
    """What a training has done.

    Attributes
    ----------
    folder : Path
        The run: checkpoints, ``metrics.jsonl``, ``recipe.yaml``.
    last, best : EpochFigures
        After the last epoch; at the highest validation accuracy.
    seconds : float
        Of this call.
    collapsed : bool
        The alarm of diversity collapse was raised.
    epochs_done : int
        By this call; 0: the run was finished already.
    """

    folder: Path
    last: EpochFigures
    best: EpochFigures
    seconds: float
    collapsed: bool
    epochs_done: int


@dataclass(frozen=True)
class RunResult:
    """What a whole run has found. ``results.json`` in its folder has every figure.

    `test` and `ood` are of the predictions as trained, `test_calibrated` and `ood_calibrated` of those at the
    temperatures fitted to the validation set; None and empty where the recipe does not calibrate.
    """

    folder: Path
    training: TrainResult
    test: Evaluation
    test_calibrated: Evaluation | None
    ood: dict[str, OodSet]
    ood_calibrated: dict[str, OodSet]


def _epoch(m: _native.EpochMetrics) -> EpochFigures:
    names = [name for name, *_ in m._fields_ if name not in ("verdict", "reserved")]
    return EpochFigures(**{name: getattr(m, name) for name in names}, verdict=verdict_of(m.verdict))


def _training(found: _native.TrainResult, folder: Path) -> TrainResult:
    last, best = _epoch(found.last), _epoch(found.best)
    return TrainResult(folder, last, best, found.seconds, bool(found.collapsed), found.epochs_done)


def train(
    recipe: Recipe,
    out: str | os.PathLike[str] | None = None,
    *,
    data: str | os.PathLike[str] | None = None,
    device: Device = "auto",
    threads: int | None = None,
    resume: bool = False,
    jobs: int = 1,
    tensorboard: bool = False,
    progress: bool | Listener = False,
    **keys: Unpack[RecipeKeys],
) -> TrainResult:
    """Trains a network by a recipe, as ``vargate train`` does, in this process.

    Parameters
    ----------
    recipe : path, str or mapping
        A YAML file, the name of a recipe that ships (``"quickstart"``), or a mapping of keys.
    out : path, optional
        Run folder, made if need be; ``runs/NAME`` of the recipe by default.
    data : path, optional
        Folder searched first for data sets.
    device : {"auto", "cpu", "cuda"}
        Where to compute.
    threads : int, optional
        None or 0: one per core.
    resume : bool
        Continue from the folder's last checkpoint if there is one.
    jobs : int
        Networks of a deep ensemble that are trained at once on the CPU, each with `threads` threads.
    tensorboard : bool
        Write the figures of the epochs for TensorBoard as well, into the folder ``tensorboard`` of the run.
    progress : bool or function
        True: a line of text on standard error. A function is called with a `Progress`; what it raises stops the work
        and is raised from here.
    **keys
        Changes to the recipe: ``epochs=2``, ``heads=10``, ``ood=["svhn"]``.

    Returns
    -------
    TrainResult

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, once a checkpoint is written; ``resume=True`` continues from it and ends with the same bits.

    Examples
    --------
    >>> import tempfile, vargate
    >>> small = {"dataset": "digits", "network": "cnn-4-8", "heads": 3, "epochs": 1, "train_limit": 64}
    >>> done = vargate.train(small, tempfile.mkdtemp() + "/run", batch=32)       # doctest: +SKIP
    >>> done.epochs_done                                                        # doctest: +SKIP
    1
    """
    given, name = find_recipe(recipe, keys)
    folder = Path("runs") / name if out is None else Path(out)
    found = _native.TrainResult()
    with Job(progress) as job:
        options = _native.TrainRecipeOptions(
            _native.size(_native.TrainRecipeOptions),
            cast(given, c_void_p),
            os.fsencode(folder),
            data_folder(data),
            device.encode(),
            thread_count(threads),
            bool(resume),
            job=job.native,
            jobs=whole(jobs, "jobs", 1, 1024),
            tensorboard=bool(tensorboard),
        )
        job.done(_native.lib.vg_train_recipe(byref(found), byref(options)), go_on="; resume=True continues from it")
    return _training(found, folder)


def run(
    recipe: Recipe = "quickstart",
    out: str | os.PathLike[str] | None = None,
    *,
    data: str | os.PathLike[str] | None = None,
    device: Device = "auto",
    threads: int | None = None,
    jobs: int = 1,
    tensorboard: bool = False,
    progress: bool | Listener = False,
    **keys: Unpack[RecipeKeys],
) -> RunResult:
    """Trains a recipe, predicts, calibrates, scores and evaluates, as ``vargate run`` does without its page (`report`).

    Everything is kept in the run folder. Called again, finished stages are skipped and a stopped one is continued.
    Parameters are those of `train`.

    Returns
    -------
    RunResult

    Examples
    --------
    >>> import vargate
    >>> done = vargate.run("quickstart", epochs=2, progress=True)               # doctest: +SKIP
    >>> done.test.accuracy, done.ood["digits-ood"].measures["tu"].auroc         # doctest: +SKIP
    """
    given, name = find_recipe(recipe, keys)
    folder = Path("runs") / name if out is None else Path(out)
    found = POINTER(_native.RunResult)()
    with Job(progress) as job:
        options = _native.RunRecipeOptions(
            _native.size(_native.RunRecipeOptions),
            cast(given, c_void_p),
            os.fsencode(folder),
            data_folder(data),
            device.encode(),
            thread_count(threads),
            job=job.native,
            jobs=whole(jobs, "jobs", 1, 1024),
            tensorboard=bool(tensorboard),
        )
        job.done(_native.lib.vg_run_recipe(byref(found), byref(options)), go_on="; the same call continues from it")
    try:
        return _run_result(found.contents, folder)
    finally:
        _native.lib.vg_run_result_free(found)


def _run_result(r: _native.RunResult, folder: Path) -> RunResult:
    def evaluation(held: Any) -> Evaluation | None:
        return evaluation_of(held.contents.evaluation.contents, held.contents.m) if held else None

    def sets(held: Any) -> dict[str, OodSet]:
        if not held:
            return {}
        o = held.contents
        names = [r.ood_names[i].decode() for i in range(o.set_count)]
        rows = [(o.sets[i].n, o.sets[i].rows, o.sets[i].table[0]) for i in range(o.set_count)]
        return {
            name: set_of(n, at[:count], bool(o.resamples)) for name, (n, at, count) in zip(names, rows, strict=True)
        }

    test = evaluation(r.test)
    assert test is not None
    return RunResult(
        folder,
        _training(r.training, folder),
        test,
        evaluation(r.test_calibrated),
        sets(r.ood),
        sets(r.ood_calibrated),
    )


def predict(
    runs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str] | None = None,
    *,
    split: Literal["test", "val", "train"] | None = None,
    input: str | os.PathLike[str] | None = None,
    checkpoint: Literal["last", "best"] | None = None,
    ensemble: Literal["mcd", "lle", "mcd-lle"] | None = None,
    members: int = 0,
    passes: int = 0,
    heads: int = 0,
    logits: bool = True,
    data: str | os.PathLike[str] | None = None,
    device: Device = "auto",
    threads: int | None = None,
    force: bool = False,
    skip_corrupt: bool = False,
    progress: bool | Listener = False,
) -> Predictions:
    """The predictions of trained networks for a data set's images, as ``vargate predict`` makes them, in this process.

    Parameters
    ----------
    runs : path or sequence of paths
        Run folders or checkpoint files; several make a deep ensemble.
    out : path, optional
        ``.npz`` or ``.safetensors`` to write. Without it the predictions are in memory alone.
    split : {"test", "val", "train"}, optional
        Of the first network's data set; ``"test"`` where `input` is not given either.
    input : str or path, optional
        Other images: a data set's name, a file or a folder.
    checkpoint : {"last", "best"}, optional
        Of a run folder; the recipe's by default.
    ensemble, members, passes, heads
        What the members are and how many; the recipe's by default.
    logits : bool
        Logits, for `calibrate` and exact scores, rather than probabilities.
    data, device, threads, progress
        As in `train`.
    force : bool
        Replace an existing file even if it does not hold predictions of ours.
    skip_corrupt : bool
        Leave out image files that cannot be decoded; ``ids`` says which are there.

    Returns
    -------
    Predictions
        With labels and class names where they are known; ``.score()`` scores them.

    Examples
    --------
    >>> import vargate
    >>> vargate.predict("runs/quickstart").score().decide(k=1)                  # doctest: +SKIP
    """
    listed = [runs] if isinstance(runs, (str, os.PathLike)) else list(runs)
    paths = (c_char_p * max(len(listed), 1))(*[os.fsencode(path) for path in listed])
    with tempfile.TemporaryDirectory(prefix="vargate-") as scratch, Job(progress) as job:
        place = Path(out) if out is not None else Path(scratch) / "predictions.npz"
        options = _native.PredictRunsOptions(
            _native.size(_native.PredictRunsOptions),
            cast(paths, POINTER(c_char_p)),
            len(listed),
            -1 if checkpoint is None else ("last", "best").index(checkpoint),
            None if split is None else split.encode(),
            None if input is None else os.fsencode(input),
            data_folder(data),
            device.encode(),
            thread_count(threads),
            -1 if ensemble is None else ENSEMBLES.index(ensemble),
            members,
            passes,
            heads,
            bool(logits),
            os.fsencode(place),
            bool(force),
            job.native,
            bool(skip_corrupt),
        )
        job.done(_native.lib.vg_predict_runs(None, byref(options)))
        found = Predictions(place)
        if out is None:
            _ = found.values  # before the file goes
            found.path = None
        return found


# --- reports ----------------------------------------------------------------------------------------------------------


class _Inputs:
    """Arguments of a report that are in memory, as files beside each other."""

    def __init__(self, scratch: str) -> None:
        self.folder = Path(scratch)

    def file(self, value: Any, name: str, logits: bool = False) -> bytes:
        """The path of predictions or scores."""
        if isinstance(value, (str, os.PathLike)):
            return os.fsencode(value)
        path = self.folder / f"{name}.npz"
        if isinstance(value, Scores):
            value.save(path)
            return os.fsencode(path)
        values = np.asarray(value)
        if values.dtype.kind not in "biuf" and values.dtype.name != "bfloat16":
            raise TypeError(f"source is a {type(value).__name__}, expected a path, Scores, or predictions (N, M, C)")
        save_arrays({"Z" if logits else "P": values}, str(path))
        return os.fsencode(path)

    def labels(self, labels: Any) -> bytes | None:
        if labels is None or isinstance(labels, (str, os.PathLike)):
            return None if labels is None else os.fsencode(labels)
        path = self.folder / "labels.npz"
        save_arrays({"L": as_integers(np.asarray(labels), "labels")}, str(path))
        return os.fsencode(path)

    def calibration(self, given: Any, logits: bool) -> bytes | None:
        if given is None or isinstance(given, (str, os.PathLike)):
            return None if given is None else os.fsencode(given)
        if not isinstance(given, tuple) or len(given) != 2:
            raise TypeError("calibration is a path, or a pair of predictions and labels")
        path = self.folder / "calibration.npz"
        held = {"Z" if logits else "P": np.asarray(given[0]), "L": as_integers(np.asarray(given[1]), "labels")}
        save_arrays(held, str(path))
        return os.fsencode(path)

    def images(self, images: Any) -> bytes | None:
        if images is None or isinstance(images, (str, os.PathLike)):
            return None if images is None else os.fsencode(images)
        path = self.folder / "images.npy"
        np.save(path, np.asarray(images))
        return os.fsencode(path)

    def names(self, classes: Sequence[str] | None) -> bytes | None:
        if classes is None:
            return None
        path = self.folder / "classes.txt"
        path.write_text("".join(f"{name}\n" for name in classes), encoding="utf-8")
        return os.fsencode(path)

    def temperature(self, temperature: Temperature) -> bytes | None:
        if temperature is None:
            return None
        if isinstance(temperature, (str, os.PathLike)):
            return os.fsencode(temperature)
        if isinstance(temperature, (Calibration, CalibrationMap)):
            path = self.folder / "temperatures.json"
            path.write_text(temperature._text, encoding="utf-8")
            return os.fsencode(path)
        return ",".join(map(repr, reals(temperature, "temperature"))).encode()  # type: ignore[arg-type]


# What a command line can name: nothing, a file, a number.
_NAMED = (type(None), str, os.PathLike, int, float)


def report(
    source: Any,
    out: str | os.PathLike[str] | None = None,
    *,
    labels: Any = None,
    ood: Mapping[str, Any] | None = None,
    k: Gates | None = None,
    class_k: ClassGates = None,
    logits: bool | None = None,
    temperature: Temperature = None,
    calibration_map: Temperature = None,
    classes: Sequence[str] | None = None,
    title: str | None = None,
    axes: str | None = None,
    ignore: int | None = None,
    multilabel: bool = False,
    calibration: Any = None,
    images: Any = None,
    metrics: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: bool | Listener = False,
) -> ReportPage:
    """Writes the report page of a run, of predictions or of scores, as ``vargate report --no-figures`` does.

    Parameters
    ----------
    source : path, Scores or array_like (N, M, C)
        The folder of a run, a file of predictions or of scores, or either in memory; of images also a list of arrays,
        one per member.
    out : path, optional
        Folder for ``report.html``; ``RUN/report`` of a run, otherwise a new temporary folder by default.
    labels : array_like of int or path, optional
        True classes. Those of the file, or of the scores, by default.
    ood : mapping of names to paths, Scores or arrays, optional
        Out-of-distribution sets.
    k : float or sequence of float, optional; or GateFit or the path of its .json file
        Gate settings; those of the run's recipe, or 1, 2, 3 by default (1 with `class_k`).
    class_k : optional
        A k for every class, as in `score`.
    logits : bool, optional
        What predictions are; by the name of the array in a file, probabilities in memory by default.
    temperature, calibration_map : optional
        As in `score`.
    classes : sequence of str, optional
        Names of the classes; the file's or the scores' by default.
    title : str, optional
        Heading of the page.
    axes, ignore : optional
        Of images and volumes, as in `score`: the rows of the page are then their sites, and it shows images.
    multilabel : bool
        Every class is a yes/no label of its own: the rows of the page are labels of samples. Scores tell by themselves.
    calibration : path, or array_like with labels beside it as a pair, optional
        Predictions with labels that the page's prediction sets are calibrated on: a file, or ``(p, labels)``; half of
        the samples by default.
    images, metrics, data : optional
        The images (a data set's name or file, or an array (N, H, W) or (N, H, W, C)), ``metrics.jsonl`` of the
        training, and the folder searched first for data sets; of a run its own.
    force : bool
        Replace an existing page even if it is not one of ours.
    progress : bool or function
        As in `train`.

    Returns
    -------
    ReportPage
        One file that needs nothing else: `path`. A notebook shows it in place, `open` opens it in the browser.

    Examples
    --------
    >>> import numpy as np, vargate
    >>> p = np.random.default_rng(0).dirichlet(np.ones(3), size=(200, 5))
    >>> vargate.report(p, labels=p.mean(axis=1).argmax(axis=1), title="Three classes").path.name
    'report.html'
    """
    given: dict[str, Any] = {"temperature": temperature, "calibration_map": calibration_map}
    rename_map(given)
    temperature = given["temperature"]
    k, class_k = split_gates(k, class_k)
    from_memory = not isinstance(source, (str, os.PathLike))
    if out is None and (from_memory or not os.path.isdir(source)):
        out = tempfile.mkdtemp(prefix="vargate-report-")
    if isinstance(source, (Scores, Predictions)):
        labels, classes = source.labels if labels is None else labels, classes or source.classes
    if isinstance(source, Scores):
        k = source._k if k is None else k
    elif isinstance(source, Predictions):
        logits, source = source.logits if logits is None else logits, source.values
    page = POINTER(_native.Page)()
    with tempfile.TemporaryDirectory(prefix="vargate-") as scratch, Job(progress) as job:
        inputs = _Inputs(scratch)
        reading = _native.InputOptions(_native.size(_native.InputOptions), logits=-1)
        if logits is not None:
            reading.logits = bool(logits)
        letters = None if isinstance(source, Scores) else site_axes(source, axes)
        reading.temperature = inputs.temperature(temperature)
        if letters is None:
            path, reading.labels = inputs.file(source, "predictions", bool(logits)), inputs.labels(labels)
            reading.axes = None if axes is None else axes.encode()
        else:
            path, reading.axes, reading.labels = reported(source, letters, labels, inputs.folder)
        ignored = ctypes.c_int64(0 if ignore is None else whole(ignore, "ignore", -(2**63)))
        if ignore is not None:
            reading.ignore = pointer(ignored)
        how: dict[str, Any] = {"k": (1.0, 2.0, 3.0) if k is None and class_k is None else 1.0 if k is None else k}
        usual = k is None and class_k is None and not multilabel
        scoring = None if usual else resolve(**how, class_k=class_k, multilabel=multilabel)
        if scoring is not None:
            reading.scoring = cast(scoring.address, POINTER(_native.ScoreOptions))
        others = [
            _native.NamedFile(name.encode(), inputs.file(value, f"ood-{i}", bool(logits)))
            for i, (name, value) in enumerate((ood or {}).items())
        ]
        named = (_native.NamedFile * max(len(others), 1))(*others)
        options = _native.PageOptions(
            _native.size(_native.PageOptions),
            cast(named, POINTER(_native.NamedFile)),
            len(others),
            (title or ("scores" if isinstance(source, Scores) else "predictions")).encode()
            if title or from_memory
            else None,
            inputs.images(images),
            inputs.names(classes),
            None if metrics is None else os.fsencode(metrics),
            data_folder(data),
            bool(force),
            job.native,
            None,
            0,
            from_memory or not all(isinstance(v, _NAMED) for v in (labels, temperature)),  # written to `scratch`
            inputs.calibration(calibration, bool(logits)),
        )
        folder = None if out is None else os.fsencode(out)
        job.done(_native.lib.vg_page_write(byref(page), path, folder, byref(reading), byref(options)))
    try:
        return ReportPage(os.fsdecode(page.contents.path))
    finally:
        _native.lib.vg_page_free(page)


show_options(train, RecipeKeys)
show_options(run, RecipeKeys)
