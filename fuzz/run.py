"""run.py PROGRAMS SECONDS JOBS OUTDIR [WANTED [MUST]]: shares JOBS processes over the fuzz targets, the programs
fuzz_NAME of the folder PROGRAMS.

Each process fuzzes one target for a turn, then takes the target that needs it most: those that must reach WANTED
executions (5.2e7) first, such that they arrive together; one process serves the others. MUST names those that must,
with commas; without it they are the six formats that users exchange. OUTDIR gets table.tsv every 20 seconds;
crashes.tar and corpus.tar.xz at the end and every five minutes."""

from __future__ import annotations

import glob
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time

import corpus

HERE = os.path.dirname(os.path.abspath(__file__))
MUST = ["recipe", "csv", "npz", "safetensors", "jsonl", "npy"]
LENGTH = {
    "npy": 640,
    "npz": 640,
    "safetensors": 400,
    "csv": 256,
    "jsonl": 256,
    "json": 256,
    "recipe": 256,
    "options": 200,
    "gzip": 512,
    "predictions": 512,
    "images": 1024,
    "stream": 256,
    "checkpoint": 1024,
    "dataset": 1024,
}
TURN = 60.0


class Target:
    def __init__(self, name):
        self.name, self.done, self.seconds, self.running, self.turns, self.crashes = name, 0, 0.0, [], 0, 0
        self.cov = self.ft = self.corp = 0
        self.must = name in MUST
        self.corpus = os.path.join(OUT, "corpus", name)
        os.makedirs(self.corpus, exist_ok=True)
        corpus.unpack(name, pathlib.Path(self.corpus))

    def live(self):
        return sum(w.executions() for w in self.running)

    def total(self):
        return self.done + self.live()

    def rate(self):
        seconds = self.seconds + sum(time.time() - w.start for w in self.running)
        return max(self.total() / seconds, 200.0) if seconds > 5 else 8000.0

    def need(self):  # seconds that remain with the processes it has now and one more
        return (WANTED - self.total()) / self.rate() / (len(self.running) + 1)


class Worker:
    number = 0

    def __init__(self, target, seconds):
        Worker.number += 1
        self.target, self.start = target, time.time()
        self.log = os.path.join(OUT, "logs", f"{target.name}-{Worker.number}.log")
        binary = os.path.join(PROGRAMS, "fuzz_" + target.name)
        dictionary = os.path.join(HERE, "dict", target.name + ".dict")
        command = [
            binary,
            f"-max_total_time={max(int(seconds), 1)}",
            f"-seed={1000 + Worker.number}",
            f"-max_len={LENGTH.get(target.name, 512)}",
            "-rss_limit_mb=2048",
            "-timeout=10",
            "-fork=0",
            "-detect_leaks=0",
            "-print_final_stats=1",
            "-reload=10",
            "-verbosity=1",
            f"-artifact_prefix={OUT}/crashes/{target.name}-",
        ]
        if os.path.exists(dictionary):
            command.append("-dict=" + dictionary)
        environment = dict(
            os.environ,
            TMPDIR=SHM,
            ASAN_OPTIONS="allocator_may_return_null=1:detect_leaks=0:"
            "malloc_context_size="
            + ("12" if target.crashes else "0")
            + ":quarantine_size_mb=4:thread_local_quarantine_size_kb=64",
        )
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [*command, target.corpus],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=environment,
            )

    def text(self):
        with open(self.log, "rb") as file:
            file.seek(max(os.path.getsize(self.log) - 6000, 0))
            return file.read().decode("latin1")

    def executions(self):
        text = self.text()
        found = re.findall(r"number_of_executed_units: (\d+)", text) or re.findall(r"^#(\d+)\s", text, re.M)
        for cov, ft, corp in re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", text)[-1:]:
            t = self.target
            t.cov, t.ft, t.corp = max(t.cov, int(cov)), max(t.ft, int(ft)), max(t.corp, int(corp))
        return int(found[-1]) if found else 0


def choose(slot_is_spare):
    must = [t for t in TARGETS if t.must and t.total() < WANTED]
    others = [t for t in TARGETS if not t.must]
    if must and not (slot_is_spare and others):
        return max(must, key=lambda t: t.need())
    if others:
        return min(others, key=lambda t: t.seconds + 30 * len(t.running))
    return min(TARGETS, key=lambda t: t.total())


def table():
    with open(OUT + "/table.tsv.new", "w") as file:
        file.write("target\texecutions\tcore_seconds\texecutions_per_second\tedges\tfeatures\tcorpus\tcrashes\n")
        for t in TARGETS:
            seconds = t.seconds + sum(time.time() - w.start for w in t.running)
            file.write(
                f"{t.name}\t{t.total()}\t{seconds:.0f}\t{t.total() / max(seconds, 1):.0f}\t{t.cov}\t{t.ft}\t"
                f"{len(os.listdir(t.corpus))}\t{len(glob.glob(f'{OUT}/crashes/{t.name}-*'))}\n"
            )
    os.replace(OUT + "/table.tsv.new", OUT + "/table.tsv")


def pack():
    with tarfile.open(OUT + "/crashes.tar.new", "w") as tar:
        for name in sorted(os.listdir(OUT + "/crashes"))[:3000]:
            tar.add(f"{OUT}/crashes/{name}", "crashes/" + name)
        for name in sorted(os.listdir(OUT + "/logs")):
            if name.startswith("crashed-"):
                tar.add(f"{OUT}/logs/{name}", "logs/" + name)
    os.replace(OUT + "/crashes.tar.new", OUT + "/crashes.tar")
    left = 60 << 20  # bytes before compression
    with tarfile.open(OUT + "/corpus.tar.xz.new", "w:xz", preset=1) as tar:
        for t in TARGETS:
            share = left // len(TARGETS)
            for name in sorted(os.listdir(t.corpus)):
                path = os.path.join(t.corpus, name)
                try:  # libFuzzer removes an input when it has found a smaller one
                    share -= os.path.getsize(path) + 1024
                    if share < 0:
                        break
                    tar.add(path, f"corpus/{t.name}/{name}")
                except FileNotFoundError:
                    continue
    os.replace(OUT + "/corpus.tar.xz.new", OUT + "/corpus.tar.xz")


def finish(worker):
    t = worker.target
    t.done += worker.executions()
    t.seconds += time.time() - worker.start
    t.turns += 1
    t.running.remove(worker)
    if worker.process.returncode != 0:
        t.crashes += 1
        if t.crashes <= 40:
            shutil.copy(worker.log, f"{OUT}/logs/crashed-{os.path.basename(worker.log)}")
    os.unlink(worker.log)


def main():
    end, next_table, next_pack, started = time.time() + SECONDS, 0.0, time.time() + 300, time.time()
    slots = [None] * JOBS
    while True:
        now = time.time()
        for i, worker in enumerate(slots):
            if worker and worker.process.poll() is not None:
                finish(worker)
                slots[i] = worker = None
            if worker is None and end - now > 2 and not STOP:
                # turns of different lengths, so that they do not all end at once; the first ones are short
                turn = min(TURN * (0.7 + 0.6 * ((Worker.number * 7919) % 100) / 100), end - now - 1)
                if now - started < 30:
                    turn = min(turn, 15)
                slots[i] = Worker(choose(i == JOBS - 1 and JOBS > 3), turn)
                slots[i].target.running.append(slots[i])
        if now >= next_table:
            table()
            next_table = now + 20
        if now >= next_pack:
            pack()
            next_pack = now + 300
        if now >= end + 5 or STOP or (now >= end and not any(slots)):
            break
        time.sleep(0.2)
    for worker in slots:
        if worker:
            worker.process.send_signal(signal.SIGINT)
    for worker in slots:
        if worker:
            try:
                worker.process.wait(10)
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
            finish(worker)
    table()
    pack()
    shutil.rmtree(SHM, ignore_errors=True)
    sys.stdout.write(pathlib.Path(OUT, "table.tsv").read_text())


STOP = []
if len(sys.argv) < 5:
    sys.exit(__doc__)
PROGRAMS, OUT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[4])
SECONDS, JOBS = float(sys.argv[2]), int(sys.argv[3])
WANTED = float(sys.argv[5]) if len(sys.argv) > 5 else 5.2e7
if len(sys.argv) > 6:
    MUST = sys.argv[6].split(",")
for folder in ("corpus", "crashes", "logs"):
    os.makedirs(os.path.join(OUT, folder), exist_ok=True)
SHM = f"/dev/shm/vargate-fuzz-{os.getpid()}" if os.access("/dev/shm", os.W_OK) else OUT + "/tmp"
os.makedirs(SHM, exist_ok=True)
NAMES = sorted(os.path.basename(p)[5:] for p in glob.glob(PROGRAMS + "/fuzz_*") if os.access(p, os.X_OK))
TARGETS = [Target(n) for n in MUST if n in NAMES] + [Target(n) for n in NAMES if n not in MUST]
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, lambda *_: STOP.append(1))
main()
