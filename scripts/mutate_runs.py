"""Processes that are limited by processor time, and which lines of the sources a test runs, for scripts/mutate.py.

Time limits count the processor time of a process and its children, so that a machine that is busy with other things
does not make a test fail. A process is stuck where nothing of it has run or wanted to run for STUCK seconds."""

import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import threading
import time
from dataclasses import dataclass

from c_mutants import function_lines

STUCK, WALL = 60, 7200  # seconds
LOOK = 1  # seconds between two looks at a process
SHORT = 8  # lines


class OutOfTimeError(Exception):
    pass


@dataclass(frozen=True)
class Ended:
    """How a process ended: the status is None where it used more time than it may, or was stuck."""

    status: int | None
    cpu: float


def use_of_session(leader):
    """Processor seconds of all processes of a session, and whether one of their threads runs, or waits for a processor
    or a disk."""
    ticks, wants = 0, False
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader:
                ticks += sum(int(field) for field in fields[11:15])
                states = [(task / "stat").read_text().rpartition(")")[2].split()[0] for task in folder.glob("task/*")]
                wants = wants or "R" in states or "D" in states
        except (OSError, IndexError):  # it has just ended
            continue
    return ticks / os.sysconf("SC_CLK_TCK"), wants


def limit_memory(most):
    if most:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Runner:
    """Runs processes until the time for all of them has ended."""

    def __init__(self, folder, seconds):
        self.folder = folder
        self.end = time.monotonic() + seconds if seconds else None
        self.turn, self.running, self.alone = threading.Condition(), 0, False

    def left(self):
        return self.end - time.monotonic() if self.end else float("inf")

    def run(self, command, limit, output=subprocess.DEVNULL, memory=None, alone=False, **options):
        """Runs a command that may use `limit` seconds of processor time; past it the whole process group is ended.
        `alone`: nothing else runs meanwhile."""
        with self.turn:
            self.turn.wait_for(lambda: not self.alone and not (alone and self.running))
            self.running += 1
            self.alone = alone
        try:
            return self.run_now(command, limit, output, memory, **options)
        finally:
            with self.turn:
                self.running -= 1
                self.alone = False
                self.turn.notify_all()

    def run_now(self, command, limit, output, memory, **options):
        if self.left() <= 0:
            raise OutOfTimeError
        with subprocess.Popen(
            command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=lambda: limit_memory(memory), cwd=self.folder, **options,
        ) as process:  # fmt: skip
            pause, used = 0.001, 0.0
            begin = looked = active = time.monotonic()
            while True:
                ended, status, usage = os.wait4(process.pid, os.WNOHANG)
                if ended:
                    process.returncode = os.waitstatus_to_exitcode(status)
                    cpu = usage.ru_utime + usage.ru_stime
                    return Ended(process.returncode if cpu <= limit else None, cpu)
                now = time.monotonic()
                if now - looked >= LOOK:
                    cpu, wants = use_of_session(process.pid)
                    active = now if wants or cpu > used else active
                    looked, used = now, cpu
                if used > limit or now - active > STUCK or now - begin > WALL or self.left() <= 0:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                    if self.left() <= 0:
                        raise OutOfTimeError
                    return Ended(None, used)
                time.sleep(pause)
                pause = min(0.05, 1.5 * pause)


class Reach:
    """Which functions of the sources every test runs, so that a change is tried with no test that cannot run it.

    The sources are compiled a second time, with counters for gcov; a test is run with these in front of the library,
    and a function is run by it where a line of it has been. Of a function of at most SHORT lines, or of which no test
    runs a line, the whole file counts, because the compiler may put its lines elsewhere. What is not known is run."""

    OPTIONS = ("-O1", "-fno-inline", "--coverage")

    def __init__(self, folder):
        self.folder = folder
        self.ran = {}  # (test, way) -> {file: lines that it ran}
        self.any = {}  # (file, way) -> lines that some test ran
        self.lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        self.flush = folder / "flush.c"  # counters of a process that leaves by _exit() are written, too
        self.flush.write_text(
            "void __gcov_dump(void);\nvoid __real__exit(int);\nvoid __wrap__exit(int);\n"
            "void __wrap__exit(int status) {\n    __gcov_dump();\n    __real__exit(status);\n}\n"
        )

    def counters(self, test, way):
        """Where a test writes its counters."""
        return self.folder / "counts" / f"{test.replace('/', '-')}{way}"

    def read(self, folder):
        """The lines that the counters in this folder say have run: {file: [line]}."""
        found = {}
        for data in folder.glob("*.gcda"):
            notes = data.with_suffix(".gcno")
            notes.symlink_to(self.folder / notes.name)
            out = subprocess.run(["gcov", "--json-format", "--stdout", data.name], cwd=folder,
                                 capture_output=True, check=True).stdout  # fmt: skip
            for text in out.splitlines():
                for file in json.loads(text)["files"]:
                    name = re.search(r"/(src/(measures|evaluate)/.*)", os.path.normpath(file["file"]))
                    if name:
                        lines = (line["line_number"] for line in file["lines"] if line["count"])
                        found.setdefault(name.group(1), set()).update(lines)
        return {name: sorted(lines) for name, lines in found.items()}

    def add(self, test, way, found):
        with self.lock:
            self.ran[test, way] = {name: set(lines) for name, lines in found.items()}
            for name, lines in found.items():
                self.any.setdefault((name, way), set()).update(lines)

    def may(self, test, way, name, function):
        """Whether the test can run this function, by its first and last line, of this file."""
        if (test, way) not in self.ran or not function:
            return True
        known, ran = self.any.get((name, way), set()), self.ran[test, way].get(name, set())
        lines = range(function[0], function[1] + 1)
        if len(lines) > SHORT and known.intersection(lines):
            return bool(ran.intersection(lines))
        return bool(ran) or not known


def function_at(source, line):
    """The first and last line of the function around a line; None outside of all."""
    return next(((first, last) for first, last in function_lines(source) if first <= line <= last), None)
