"""Members of an ensemble from ONNX models, run by onnxruntime: ``pip install 'vargate-uq[onnx]'``.

The caller says what the members are: several files, several outputs of one, an axis of an output, or repeated
passes of a model that has its dropout on.

    z = vargate.onnx.collect(["a.onnx", "b.onnx", "c.onnx"], x)             # a deep ensemble
    z = vargate.onnx.collect("heads.onnx", x, axis=1)                       # an output (N, M, C)
    z = vargate.onnx.collect("heads.onnx", x, outputs=["head0", "head1"])   # outputs (N, C)
    z = vargate.onnx.collect("dropout.onnx", x, passes=50)                  # MC dropout
    s = vargate.score(z, logits=True)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Union

import numpy as np
import numpy.typing as npt

from ._arrays import whole
from ._bar import Bar
from ._options import show_options

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from typing_extensions import Unpack

__all__ = ["collect", "collect_batches"]

Array = npt.NDArray[Any]
Model = Union[str, "os.PathLike[str]", bytes, "InferenceSession"]
Providers = Sequence[str | tuple[str, dict[str, Any]]]


class CollectOptions(TypedDict, total=False):
    """The options of `collect_batches`, which `collect` passes on."""

    outputs: str | Sequence[str] | None
    axis: int | None
    passes: int | None
    seed: int | None
    batch: int
    providers: Providers | None
    threads: int | None
    progress: bool | None


_TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(uint8)": np.uint8,
    "tensor(int8)": np.int8,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}
_FLOATS = ("tensor(float)", "tensor(double)", "tensor(float16)")
_EQUAL_PASSES = (
    "all {count} passes of {name} give the same outputs: its dropout is off, as exporters leave it (inference mode). "
    "Export it with dropout on: with vargate.torch.mc_dropout(model): torch.onnx.export(model, ..., "
    "training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False, dynamo=False)"
)
_GIVEN_SESSION = (
    "; onnxruntime also removes dropout from sessions made without disabled_optimizers=['EliminateDropout']"
)


# --- models -----------------------------------------------------------------------------------------------------------


def _runtime() -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise ImportError("vargate.onnx needs onnxruntime: pip install 'vargate-uq[onnx]'") from None
    return onnxruntime


class _Network:
    """A session, its name in messages, and its inputs by name."""

    def __init__(self, session: Any, name: str, made_here: bool) -> None:
        self.session, self.name, self.made_here = session, name, made_here
        self.inputs = {entry.name: entry for entry in session.get_inputs()}
        self.outputs = {entry.name: entry for entry in session.get_outputs()}
        sizes = {entry.shape[0] for entry in self.inputs.values() if entry.shape and isinstance(entry.shape[0], int)}
        if len(sizes) > 1:
            raise ValueError(f"{name}: inputs have fixed first axes of {sorted(sizes)}, expected one number of samples")
        self.fixed: int | None = sizes.pop() if sizes else None  # samples a run must have


def _open(model: Any, place: int, providers: Any, threads: int, keep_dropout: bool) -> _Network:
    runtime = _runtime()
    if isinstance(model, runtime.InferenceSession):
        return _Network(model, f"model {place}", False)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    source = model if isinstance(model, bytes) else os.fspath(model)
    name = f"model {place}" if isinstance(model, bytes) else str(source)
    if not isinstance(source, bytes) and not os.path.isfile(source):
        raise FileNotFoundError(f"there is no file {name}")
    # onnxruntime takes dropout for a no-op and removes it, also where the model says that it is on.
    dropped = ["EliminateDropout"] if keep_dropout else None
    try:
        session = runtime.InferenceSession(source, options, providers=providers, disabled_optimizers=dropped)
    except Exception as problem:
        raise ValueError(f"{name}: onnxruntime cannot load it: {str(problem).splitlines()[0]}") from None
    return _Network(session, name, True)


def _providers(wanted: Sequence[Any] | None) -> list[Any]:
    there = _runtime().get_available_providers()
    if wanted is None:
        return list(there)
    if isinstance(wanted, str):
        wanted = [wanted]
    for entry in wanted:
        name = entry if isinstance(entry, str) else entry[0]
        if name not in there:
            raise ValueError(f"providers: {name!r} is not in this onnxruntime, expected some of {', '.join(there)}")
    return list(wanted)


# --- inputs -----------------------------------------------------------------------------------------------------------


def _named_inputs(x: Any, network: _Network) -> dict[str, Array]:
    """Inputs by name, in the element types of the model."""
    names = list(network.inputs)
    if not isinstance(x, Mapping):
        if len(names) != 1:
            raise ValueError(f"{network.name} has inputs {', '.join(names)}: pass a mapping of names to arrays")
        x = {names[0]: x}
    if set(x) != set(names):
        raise ValueError(f"inputs are {', '.join(map(str, x))}, but {network.name} has {', '.join(names)}")
    out = {}
    for name, value in x.items():
        array, wanted = np.asarray(value), network.inputs[name].type
        kind = _TYPES.get(wanted)
        if kind is None:
            raise TypeError(f"{network.name}: input {name} is a {wanted}, which is not supported")
        if array.dtype != kind:
            if array.dtype.kind == "f" and np.dtype(kind).kind in "iub":
                raise TypeError(f"input {name} has dtype {array.dtype}, but {network.name} takes {np.dtype(kind)}")
            array = array.astype(kind)
        out[name] = np.ascontiguousarray(array)
    sizes = {len(array) for array in out.values()}
    if len(sizes) != 1:
        raise ValueError(f"inputs have {sorted(sizes)} samples, expected the same number in each")
    return out


def _padded(inputs: dict[str, Array], size: int) -> dict[str, Array]:
    """A last batch of a model with a fixed number of samples: its last sample again, cut off later."""
    return {name: np.concatenate([a, np.repeat(a[-1:], size - len(a), axis=0)]) for name, a in inputs.items()}


def _cut(x: Any, batch: int) -> Iterator[Any]:
    """Batches of an array or of a mapping of arrays."""
    first = next(iter(x.values())) if isinstance(x, Mapping) else x
    for start in range(0, len(first), batch):
        rows = slice(start, start + batch)
        yield {name: value[rows] for name, value in x.items()} if isinstance(x, Mapping) else x[rows]


# --- members ----------------------------------------------------------------------------------------------------------


def _chosen(network: _Network, outputs: str | Sequence[str] | None) -> list[str]:
    """The outputs to read: those named, or the only one of numbers with fractions."""
    if outputs is not None:
        names = [outputs] if isinstance(outputs, str) else list(outputs)
        for name in names:
            if name not in network.outputs:
                raise ValueError(f"outputs: {network.name} has no {name!r}, but {', '.join(network.outputs)}")
        return names
    names = [name for name, entry in network.outputs.items() if entry.type in _FLOATS]
    if len(names) != 1:
        listed = ", ".join(f"{name} {entry.type}" for name, entry in network.outputs.items())
        raise ValueError(
            f"{network.name} has outputs {listed}: name those to read, outputs='NAME', or several as members, "
            "outputs=['A', 'B']"
        )
    return names


class _Members:
    """What one batch gives: (N, M, C), members in the order of models, passes, outputs, axis."""

    def __init__(
        self, networks: list[_Network], outputs: Any, axis: int | None, passes: int | None, seed: int | None
    ) -> None:
        self.networks, self.axis, self.passes = networks, axis, passes
        self.random = np.random.default_rng(seed)
        self.chosen = [_chosen(network, outputs) for network in networks]
        self.several = len(networks) > 1 or len(self.chosen[0]) > 1 or axis is not None or passes is not None
        self.differ = False  # whether some member has differed from the first so far
        self.read = 0

    def _part(self, network: _Network, name: str, value: Array, n: int) -> Array:
        wanted = 2 if self.axis is None else 3
        if value.ndim != wanted:
            advice = ": pass axis=1 if its members are on axis 1" if value.ndim == 3 and self.axis is None else ""
            raise ValueError(
                f"{network.name}: output {name} has {value.ndim} axes, shape {value.shape}, expected {wanted} "
                + ("(samples, classes)" if wanted == 2 else "(samples, members, classes in some order)")
                + advice
            )
        part = value[:, None, :] if self.axis is None else np.moveaxis(value, self.axis, 1)
        if len(part) < n:
            raise ValueError(f"{network.name}: output {name} has shape {value.shape} for {n} samples")
        return part[:n]

    def __call__(self, x: Any) -> Array:
        parts = []
        for network, names in zip(self.networks, self.chosen, strict=True):
            inputs = _named_inputs(x, network)
            found = self._run(network, names, inputs) if self.passes is None else self._passes(network, names, inputs)
            parts += found
        shapes = {part.shape[2] for part in parts}
        if len(shapes) != 1:
            raise ValueError(f"the members have {sorted(shapes)} classes, expected the same number")
        z = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        self._look(z)
        return np.ascontiguousarray(z)

    def _run(self, network: _Network, names: list[str], inputs: dict[str, Array]) -> list[Array]:
        """One run: (n, members, C) of each output."""
        n = len(next(iter(inputs.values())))
        if network.fixed is not None and n < network.fixed:
            inputs = _padded(inputs, network.fixed)
        values = network.session.run(names, inputs)
        return [self._part(network, name, np.asarray(value), n) for name, value in zip(names, values, strict=True)]

    def _passes(self, network: _Network, names: list[str], inputs: dict[str, Array]) -> list[Array]:
        """Stochastic passes. onnxruntime seeds a linear congruential generator with consecutive numbers, one per run
        and node, so that masks of consecutive runs are shifted copies of each other: two dropped units may always fall
        together. Passes are therefore rows of the same run, where one stream draws all masks, and each run starts at a
        seed drawn from a good generator."""
        count, n = self.passes or 1, len(next(iter(inputs.values())))
        rows = {name: np.repeat(a, count, axis=0) for name, a in inputs.items()}  # sample 0 `count` times, sample 1 ...
        _runtime().set_seed(int(self.random.integers(1, 2**31 - 1)))
        return [z.reshape(n, count * z.shape[1], z.shape[2]) for z in self._run(network, names, rows)]

    def _look(self, z: Array) -> None:
        """Equal passes are refused at the first batch, and equal models at the end."""
        self.differ = self.differ or z.shape[1] == 1 or bool((z != z[:, :1]).any())
        self.read += len(z)
        if self.passes is not None and self.passes > 1 and not self.differ and len(z):
            self.refuse()

    def refuse(self) -> None:
        """Raises when all members were equal."""
        if self.differ or not self.read:
            return
        first = self.networks[0]
        if self.passes is not None:
            text = _EQUAL_PASSES.format(count=self.passes, name=first.name)
            raise ValueError(text + ("" if first.made_here else _GIVEN_SESSION))
        raise ValueError(
            f"all members give the same outputs for all {self.read} samples: copies of one model, or passes exported "
            "with dropout off (inference mode), show no uncertainty"
        )


def _run_size(networks: list[_Network], batch: int, passes: int | None) -> int:
    """Samples of a run."""
    fixed = {network.fixed for network in networks if network.fixed is not None}
    if len(fixed) > 1:
        raise ValueError(f"the models take {sorted(fixed)} samples per run, expected the same number")
    size = max(fixed.pop(), 1) if fixed else batch
    if passes is None:
        return size
    if networks[0].fixed is not None and size < passes:
        raise ValueError(
            f"{networks[0].name} takes {size} samples per run, fewer than the {passes} passes, and onnxruntime's masks "
            "of consecutive runs are not independent: export it with a dynamic first axis (dynamic_axes)"
        )
    return max(size // passes, 1)


def collect_batches(
    model: Model | Sequence[Model],
    inputs: Any,
    *,
    outputs: str | Sequence[str] | None = None,
    axis: int | None = None,
    passes: int | None = None,
    seed: int | None = None,
    batch: int = 256,
    providers: Providers | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Iterator[Array]:
    """What `collect` gives, one batch (n, M, C) after another: memory for one batch, whatever the inputs hold.

    Parameters are `collect`'s. For ``vargate.Scorer.feed`` and ``vargate.Evaluator.update``.
    """
    single = isinstance(model, (str, bytes, os.PathLike)) or hasattr(model, "get_inputs")
    models = [model] if single else list(model)  # type: ignore[arg-type]
    if not models:
        raise ValueError("model is empty, expected one or more files")
    if axis is not None:
        axis = whole(axis, "axis", 0, 2)
    passes = None if passes is None else whole(passes, "passes", 1)
    used, count = _providers(providers), 0 if threads is None else whole(threads, "threads", 0, 1024)
    networks = [_open(each, i, used, count, passes is not None) for i, each in enumerate(models)]
    run = _Members(networks, outputs, axis, passes, None if seed is None else whole(seed, "seed", 0))
    if not run.several:
        raise ValueError(
            f"{networks[0].name} is one model with one output: members are several files, outputs=[...], axis=, or "
            "passes= of a model with its dropout on (passes=1 for a single member)"
        )
    size = _run_size(networks, whole(batch, "batch", 1), passes)
    arrays = isinstance(inputs, Mapping) or hasattr(inputs, "__array__") or isinstance(inputs, (list, tuple))
    if isinstance(inputs, (list, tuple)):
        inputs = np.asarray(inputs)
    return _batches(run, inputs, arrays, size, sys.stderr.isatty() if progress is None else progress)


def _batches(run: _Members, inputs: Any, arrays: bool, size: int, shown: bool) -> Iterator[Array]:
    if arrays:
        rows = len(next(iter(inputs.values()))) if isinstance(inputs, Mapping) else len(inputs)
        bar = Bar(-(-rows // size), shown)
        blocks: Iterable[Any] = [inputs]
    else:
        bar, blocks = Bar(None, shown), inputs
    for block in blocks:
        for x in _cut(block, size):
            z = run(x)
            bar.step()
            yield z
    run.refuse()


def collect(model: Model | Sequence[Model], inputs: Any, **options: Unpack[CollectOptions]) -> Array:
    """The predictions of every member of ONNX models, ready for ``vargate.score``.

    Parameters
    ----------
    model : path, bytes or onnxruntime.InferenceSession, or a sequence of them
        Several models are members.
    inputs : array (N, ...), mapping of input names to arrays, or iterable of batches of either
        Floats are converted to the precision of the model.
    outputs : str or sequence of str, optional
        Outputs to read; several are members. Needed where a model has more than one output of floats.
    axis : int, optional
        The axis of an output of three that counts members: 1 for (N, M, C), 0 for (M, N, C).
    passes : int, optional
        Passes of a model whose dropout was exported in training mode; each is a member. They are rows of one run,
        because onnxruntime's masks of consecutive runs are not independent.
    seed : int, optional
        Of the passes. onnxruntime has one generator for the whole process, which every run with passes seeds again.
    batch : int
        Rows of a run: samples, or samples times passes (all passes of a sample at least). A model with a fixed first
        axis decides for itself, and a last batch is padded to it.
    providers : sequence, optional
        Of onnxruntime (``["CUDAExecutionProvider", "CPUExecutionProvider"]``); all that it has by default.
    threads : int, optional
        Within an operator; None or 0: onnxruntime's choice.
    progress : bool, optional
        A bar on standard error; None: on a terminal.

    Returns
    -------
    ndarray (N, M, C)
        Logits or probabilities, as the models give them.

    Raises
    ------
    ValueError
        Also where all members are equal on all samples: a model exported with dropout off, or copies of one.
        onnxruntime removes dropout even where it was exported in training mode; sessions made here keep it.
    """
    blocks = list(collect_batches(model, inputs, **options))
    if not blocks:
        raise ValueError("inputs are empty, expected at least one sample")
    return np.concatenate(blocks)


show_options(collect, collect_batches)
