"""Memory, the GIL and Ctrl-C: no copies, no leaks, other threads run, Ctrl-C stops a call."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import tracemalloc

import numpy as np
import pytest

import vargate


def test_no_copy() -> None:
    for dtype in ("f4", "f8"):
        p = np.full((20_000, 10, 10), 0.1, dtype)
        for view in (p, p[::2], p[:, ::-1], p.transpose(1, 0, 2)):
            vargate.score(p[:10], measures="tu")
            tracemalloc.start()
            try:
                axes = "MNC" if view.shape[0] == 10 else "NMC"
                s = vargate.score(view, measures="tu", axes=axes)
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            assert s.tu.nbytes <= peak < s.tu.nbytes + 20_000, (dtype, view.strides)


LEAK = """
import gc, resource
import numpy as np, vargate

p = np.random.default_rng(0).dirichlet(np.ones(3), size=(20, 4))
bad = p * 2

def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()

def work(times):
    for i in range(times):
        vargate.score(p)
        if i % 10 == 0:
            try:
                vargate.score(bad)
                raise SystemExit("bad rows were taken")
            except ValueError:
                pass
            vargate.score(p.tolist(), k=(1 + i % 7, 9))
        if i % 50 == 0:
            vargate.Scorer().feed(p)
            vargate.evaluate(p, np.zeros(20, int))
            vargate.select_k(p, target_coverage=0.1)
            vargate.calibrate(np.log(p), np.arange(20) % 3)

work(1000)
gc.collect()
before, objects = resident(), len(gc.get_objects())
work(10_000)
gc.collect()
print(resident() - before, len(gc.get_objects()) - objects)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_no_leak() -> None:
    """In a process of its own, where no other test allocates."""
    done = subprocess.run([sys.executable, "-c", LEAK], capture_output=True, text=True, check=True)
    grown, objects = map(int, done.stdout.split())
    assert grown < 1 << 20
    assert objects < 100


def test_the_gil_is_released() -> None:
    """One call of some tenths of a second, in which this thread wakes up every millisecond, or on a busy machine less
    often; a call that kept the lock would let it run before and after only."""
    p = np.random.default_rng(0).dirichlet(np.ones(10), size=(20000, 60)).astype("f4")
    ticks, done = 0, threading.Event()

    def work() -> None:
        vargate.score(p, k=np.arange(1, 21), threads=1)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.wait(0.001):
        ticks += 1
    thread.join()
    assert ticks >= 10


CTRL_C = """
import os, signal, threading, time
import numpy as np, vargate

rng = np.random.default_rng(0)
p = rng.dirichlet(np.ones(10), size=(500, 100)).astype("f4")
p = np.tile(p, (400, 1, 1))                                  # some seconds of work
y = np.zeros(len(p), int)
s = vargate.score(p[:50_000], measures="all")
z = np.log(p[:30_000] + 1e-6)
many = None
if "{what}" in ("ranking", "ood"):                           # long by their rows, not by resamples
    small = np.tile(rng.dirichlet(np.ones(3), size=(50_000, 2)), (30, 1, 1)) + 0.0
    many = vargate.score(small, labels=np.arange(len(small)) % 3)
calls = {{
    "ranking": lambda: vargate.evaluate(many, threads=1),
    "ood": lambda: vargate.ood(many, many, threads=1),
    "score": lambda: vargate.score(p),
    "feed": lambda: vargate.Scorer().feed(p),
    "evaluate": lambda: vargate.evaluate(s, y[:50_000], bootstrap=20_000),
    "calibrate": lambda: vargate.calibrate(z, np.arange(30_000) % 10, solver="bayes"),
}}
pressed = []
def press():
    time.sleep({delay})
    pressed.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press).start()
try:
    calls["{what}"]()
    print("finished")
except KeyboardInterrupt:
    print(time.perf_counter() - pressed[0])
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
vargate.score(p[:10])
"""


@pytest.mark.parametrize("what", ["score", "feed", "evaluate", "ranking", "ood", "calibrate"])
def test_ctrl_c(what: str) -> None:
    """Half a second, because tests share the machine."""
    script = textwrap.dedent(CTRL_C).format(what=what, delay=0.1 if what in ("ranking", "ood") else 0.2)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert not done.stderr
    assert done.stdout.strip() != "finished", "the call was too short to be stopped"
    assert float(done.stdout) < 0.5


def test_handlers_that_do_not_raise_do_not_stop_it() -> None:
    heard: list[int] = []
    previous = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        p = np.random.default_rng(0).dirichlet(np.ones(5), size=(3000, 60)).astype("f4")
        expected = vargate.score(p).tu
        threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()
        end = time.monotonic() + 5
        while not heard and time.monotonic() < end:
            assert np.array_equal(vargate.score(p).tu, expected)
        assert heard == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, previous)


def test_huge_shapes_are_refused_not_tried() -> None:
    """A view of 2^57 samples costs nothing to make; scoring it must fail cleanly."""
    p = np.lib.stride_tricks.as_strided(np.full(2, 0.5), shape=(1 << 57, 1, 2), strides=(0, 0, 8))
    with pytest.raises((MemoryError, ValueError)):
        vargate.score(p)


def test_interrupt_state_is_clean() -> None:
    from vargate import _native

    assert _native._stopped == []
    with pytest.raises(ZeroDivisionError), _native.Interruptible():
        _ = 1 / 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_tiny_call_costs_little() -> None:
    """A call aims at 20 us of this thread's time, every measure computed; twice that fails on any machine."""
    p = np.random.default_rng(0).dirichlet(np.ones(10), size=(1, 5))
    best = 1.0
    for _ in range(15):
        start = time.thread_time()
        for _ in range(500):
            vargate.score(p)
        best = min(best, (time.thread_time() - start) / 500)
    assert best < 40e-6
