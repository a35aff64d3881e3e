#!/usr/bin/env python3
"""Mutation testing: how many small errors, put into src/measures and src/evaluate at random, do the tests notice?

    scripts/mutate.py --out build/mutate [--mutants 300] [--seed 27] [--jobs 2] [--seconds 0] [--cmocka FOLDER]

A change (scripts/c_mutants.py) is drawn by file, in proportion to its length, then by operator, then by position.
Files for vector units that this machine does not have are left out. Changes that do not compile, or that leave the
object code as it is, are replaced by others. A changed file is compiled alone and linked in front of a library that is
built once (the libraries of third_party, no oneDNN, no CUDA); then the tests run, those that found changes of the same
file first, until one fails or runs five times as long as it should, twice, the second time alone. Of a header that
several files include, the first one alone is tried with the quick tests before the others are compiled; of the kernels
of the measures before that a form that compiles in half the time (BRIEF), with the tests that pass in it as it is. What
passes all tests goes through the other runs of check-all.sh, with the C tests that take at most SLOW seconds: in each
lower vector tier, and with AddressSanitizer and UBSan in the changed files, where only their reports count; not so the
kernels of the measures, which take minutes to compile with these.

OUT/mutants.tsv has one line per mutant, written when it is decided: number, file, line, operator, before, after, killed
or survived, by which test ("late": it ran too long; else the tier, or "sanitizer"), seconds. A second run with the same
OUT goes on from there, with the times of the tests where no source is newer. --list prints the changes to be tried;
--only NUMBERS tries those alone. --seconds ends the run after that time. The share has a Clopper-Pearson interval.
--cmocka names a folder with cmocka.h and libcmocka.so where it is not installed. Exit status 1 when fewer than --least
(90) per cent were killed."""

import argparse
import concurrent.futures
import dataclasses
import json
import math
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

from c_mutants import applied, changes_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODULES = ("measures", "evaluate")
CLI = ("20-score.sh", "22-columns.sh", "23-kinds.sh", "28-axes.sh", "28-class-k.sh", "45-fit-k.sh", "50-evaluate.sh",
       "60-decide.sh", "65-sets.sh")  # fmt: skip
WORKFLOW = ("test_workflow_decide", "test_workflow_nulls", "test_workflow_score", "test_workflow_search",
            "test_workflow_sites")  # fmt: skip
QUICK, SLOW = 10, 5  # seconds
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
BRIEF = ["-Og"]
TIERS = ("portable", "avx2", "avx512")
AVX512 = {"avx512f", "avx512dq", "avx512bw", "avx512vl"}  # as src/base/cpu.c wants them
PERTURB = {"MALLOC_PERTURB_": "85"}  # of tests of evaluate, as in tests/CMakeLists.txt
FAULT_PARTS = ("fault_preload", "api_arrays")  # linked into the tests that count allocations
COLUMNS = ("number", "file", "line", "operator", "before", "after", "result", "by", "seconds")


class OutOfTimeError(Exception):
    pass


def cannot_run(name):
    """Whether a source is for vector units that this machine does not have."""
    return "avx512" in name and not AVX512.issubset(pathlib.Path("/proc/cpuinfo").read_text().split())


def one_line(text):
    return " ".join(text.split())[:100]


class Plan:
    """The endless list of changes that a seed gives."""

    def __init__(self, seed):
        folders = [ROOT / "src" / module for module in MODULES]
        paths = sorted(p for folder in folders for p in folder.rglob("*.[ch]") if "cuda" not in p.parts)
        names = [p.relative_to(ROOT).as_posix() for p in paths]
        self.left_out = [name for name in names if cannot_run(name)]
        self.sources = {name: (ROOT / name).read_text() for name in names if name not in self.left_out}
        self.changes = {}
        for name, source in self.sources.items():
            by_operator = {}
            for change in changes_of(source):
                by_operator.setdefault(change.operator, []).append(change)
            if by_operator:
                self.changes[name] = by_operator
        self.names = sorted(self.changes)
        self.weights = [self.sources[name].count("\n") for name in self.names]
        self.random = random.Random(seed)
        self.drawn, self.seen = [], set()

    def draw(self, number):
        """The change of this number, as (file, change)."""
        while len(self.drawn) <= number:
            name = self.random.choices(self.names, self.weights)[0]
            operator = self.random.choice(sorted(self.changes[name]))
            change = self.random.choice(self.changes[name][operator])
            if (name, change) not in self.seen:
                self.seen.add((name, change))
                self.drawn.append((name, change))
        return self.drawn[number]


@dataclasses.dataclass
class Way:
    """A way to run the tests: as they are, in a lower vector tier, or with a sanitizer."""

    name: str = ""
    variables: dict = dataclasses.field(default_factory=dict)
    linked: tuple = ()  # options of the linker
    tests: dict = dataclasses.field(default_factory=dict)  # name -> seconds on the sources as they are
    memory: int = 16 << 30

    def reports(self, output):
        """Whether what a failed test wrote is what this way looks for."""
        return self.name != "sanitizer" or any(word in output for word in (b"Sanitizer", b"runtime error"))


class Bench:
    """The library as it is, its compile commands, and the tests with the time each takes."""

    def __init__(self, options):
        self.out, self.jobs = options.out, options.jobs
        self.end = time.monotonic() + options.seconds if options.seconds else None
        self.build, self.cmocka = self.out / "build", options.cmocka
        self.linker = []
        for name in ("lld", "gold"):
            if shutil.which(f"ld.{name}"):
                self.linker = [f"-fuse-ld={name}"]
                break
        self.objects, self.parts, self.lock = {}, {}, threading.Lock()
        self.plain, self.ways, self.brief = Way(), [], Way("brief")
        self.turn, self.running, self.alone = threading.Condition(), 0, False
        self.kills = {}  # (file, test) -> number

    def left(self):
        return self.end - time.monotonic() if self.end else float("inf")

    def run(self, command, limit, output=subprocess.DEVNULL, memory=Way.memory, alone=False, **options):
        """The exit status; None when it ran longer than the limit. Ends the whole process group. `alone`: nothing else
        runs meanwhile."""
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
        limit = min(limit, self.left())
        if limit <= 0:
            raise OutOfTimeError
        with subprocess.Popen(
            command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=lambda: limit_memory(memory), cwd=ROOT, **options,
        ) as process:  # fmt: skip
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if self.left() <= 0:
                    raise OutOfTimeError from None
                return None

    def prepare(self):
        flags = ["-DCMAKE_BUILD_TYPE=Release", "-DVG_TESTS=OFF", "-DVG_SHARED=OFF", "-DVG_VENDORED=ON",
                 "-DVG_CUDA=OFF", "-DVG_DNNL_LIBRARY=", "-DVG_DNNL_INCLUDE=", "-DVG_WERROR=OFF",
                 "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]  # fmt: skip
        with open(self.out / "build.log", "w") as log:
            say = {"stdout": log, "stderr": subprocess.STDOUT, "check": True}
            subprocess.run(["cmake", "-S", ROOT, "-B", self.build, "-G", "Unix Makefiles", *flags], **say)
            subprocess.run(["cmake", "--build", self.build, "-j", str(self.jobs), "--target", "vargate-cli"], **say)
        self.commands = {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            path = pathlib.Path(entry["file"])
            if not path.is_relative_to(self.build):  # generated
                name = path.relative_to(ROOT).as_posix()
                if not cannot_run(name):
                    self.commands[name] = compile_words(entry)
        self.kernel = next(name for name in sorted(self.commands, reverse=True) if "/tier_" in name)
        self.program = sorted(str(p) for p in self.build.glob("CMakeFiles/vargate-cli.dir/cli/*.o"))
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            names = [*(p.stem for m in MODULES for p in sorted((ROOT / "tests" / m).glob("test_*.c"))), *WORKFLOW]
            list(pool.map(self.compile_test, [n for n in names if "cuda" not in n]))
            list(pool.map(self.compile_part, FAULT_PARTS))
            list(pool.map(lambda t: self.time_test(t, self.plain), [*self.objects, *(f"cli/{name}" for name in CLI)]))
            if not self.plain.tests:
                raise SystemExit("mutate: no test passes on the sources as they are")
            self.ways = [*self.lower_tiers(), *self.sanitizer()]
            quick = [t for t, seconds in self.plain.tests.items() if seconds <= SLOW and not t.startswith("cli/")]
            list(pool.map(lambda each: self.time_test(*each), [(t, way) for way in self.ways for t in quick]))
        self.prepare_brief()

    def prepare_brief(self):
        """Times the quick tests with the kernels of the measures compiled in the brief form, as they are."""
        worker, target = Worker(self, None, "as-is"), self.out / "brief.o"
        if not worker.compile(self.kernel, target, *BRIEF):
            return
        quick = [t for t, s in self.plain.tests.items() if s <= QUICK and concerns(t, "src/measures/")]
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(lambda t: self.time_test(t, self.brief, [target]), quick))

    def lower_tiers(self):
        """The vector tiers below the one that this machine takes by itself."""
        words = subprocess.run([self.build / "vargate", "--version"], capture_output=True, text=True, check=True).stdout
        best = next((i for i, tier in enumerate(TIERS) if f"({tier})" in words), 0)
        return [Way(tier, {"VARGATE_CPU": tier}) for tier in TIERS[:best]]

    def sanitizer(self):
        """AddressSanitizer, with its search for leaks where this machine lets a process be traced; [] without it."""
        source, program = self.out / "probe.c", self.out / "probe"
        source.write_text("int main(void) { return 0; }\n")
        if self.run(["cc", *SANITIZE, source, "-o", program], 60, memory=None) != 0:
            return []
        leaks = self.run([program], 60, memory=None, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=1"}) == 0
        options = f"allocator_may_return_null=1:detect_leaks={int(leaks)}"
        return [Way("sanitizer", {"ASAN_OPTIONS": options}, tuple(SANITIZE), memory=None)]

    def compile_test(self, name):
        target = self.compile_object(next((ROOT / "tests").glob(f"*/{name}.c")))
        if target:
            self.objects[name] = target
        else:
            print(f"mutate: {name} does not compile here and is left out")

    def compile_part(self, name):
        self.parts[name] = self.compile_object(ROOT / "tests" / "faults" / f"{name}.c", "-DFAULT_WRAP")

    def compile_object(self, source, *options):
        """The object of a source of the tests, None where it does not compile."""
        target = self.out / "tests" / f"{source.stem}.o"
        target.parent.mkdir(parents=True, exist_ok=True)
        folders = {"include", "src", "third_party/jansson", "third_party/zlib"}
        folders |= {p.parent.relative_to(ROOT).as_posix() for p in (ROOT / "tests").glob("*/*.h")}
        words = ["cc", "-std=c17", "-O2", "-w", "-D_POSIX_C_SOURCE=200809L", "-D_FILE_OFFSET_BITS=64", *options]
        words += [f"-I{ROOT / folder}" for folder in sorted(folders)] + ([f"-I{self.cmocka}"] if self.cmocka else [])
        return str(target) if self.run([*words, "-c", source, "-o", target], 300) == 0 else None

    def link(self, test, changed, target, way):
        """Links the test, or the program for a test of the command line, with the changed objects in front."""
        own = self.program if test.startswith("cli/") else [self.objects[test]]
        if test.endswith(("_faults", "_pinned")):
            own = [*own, *(part for part in self.parts.values() if part), *wrapped_calls(), "-ldl"]
        own = [*own, *wrapped_by(test)]
        words = ["cc", *self.linker, *way.linked, *own, *changed, self.build / "libvargate.a", "-fopenmp", "-lpthread"]
        if not test.startswith("cli/"):
            folder = str(self.cmocka) if self.cmocka else None
            words += [f"-L{folder}", f"-Wl,-rpath,{folder}", "-lcmocka"] if folder else ["-lcmocka"]
        return self.run([*words, "-lm", "-o", target], 120, memory=None) == 0

    def fault(self, test, changed, folder, limit, way):
        """What is wrong with the test: "" where it passes, "failed", or "late" where it ran past the limit, with others
        beside it and then alone."""
        wrong = self.fault_once(test, changed, folder, limit, way)
        return self.fault_once(test, changed, folder, limit, way, alone=True) if wrong == "late" else wrong

    def fault_once(self, test, changed, folder, limit, way, alone=False):
        target, said = folder / f"{test.replace('/', '-')}{way.name}", folder / "output"
        try:
            if not self.link(test, changed, target, way):
                return "failed"
            command = [target]
            if test.startswith("cli/"):
                command = ["sh", "tests/cli/test_cli.sh", target, test[4:]]
            variables = {"VARGATE": str(target), "VARGATE_BUILD": str(self.build), "TMPDIR": str(folder)}
            with open(said, "wb") as output:
                variables |= PERTURB if test.startswith("test_evaluate") else {}
                variables = {**os.environ, **variables, **way.variables}
                status = self.run(command, limit, output, way.memory, alone, env=variables)
            wrong = "late" if status is None else "failed" if status else ""
            return wrong if way.reports(said.read_bytes()) else ""
        finally:
            target.unlink(missing_ok=True)

    def time_test(self, test, way, objects=()):
        known = self.out / "as-is" / f"{test.replace('/', '-')}{way.name}.seconds"
        if known.exists() and known.stat().st_mtime > newest_source() and not objects:  # a run that goes on
            way.tests[test] = float(known.read_text())
            return
        folder = known.with_suffix("")
        folder.mkdir(parents=True, exist_ok=True)
        begin = time.monotonic()
        fault = self.fault_once(test, objects, folder, 200, way)
        if not fault:
            way.tests[test] = time.monotonic() - begin
            known.write_text(f"{way.tests[test]:.3f}")
            return
        said = (folder / "output").read_text(errors="replace").splitlines() if (folder / "output").exists() else []
        print(f"mutate: {test} {way.name} {fault} on the sources as they are and is left out:")
        print("\n".join(line for line in said if "OK ]" not in line and "RUN  " not in line)[-2000:], flush=True)

    def order(self, name, way):
        """The tests, those first that found changes of this file, then those of its module, quick ones before slow; the
        pinned ones last, whose checksums say less about what is wrong."""
        module, usual = name.split("/")[1], way.tests

        def place(test):
            found = self.kills.get((name, test), 0) / (1 + usual[test])
            return (test.endswith("_pinned"), -found, module not in test, usual[test])

        return sorted((t for t in usual if concerns(t, name)), key=place)

    def users(self, name):
        """The sources that a change of this file concerns."""
        if name.endswith(".c"):
            return [name] if name in self.commands else []
        users = []
        for source in self.commands:
            depend = self.build / "CMakeFiles" / f"vargate-{source.split('/')[1]}.dir" / f"{source}.o.d"
            if source.startswith("src/") and depend.exists() and f"/{name.split('/', 1)[1]}" in depend.read_text():
                users.append(source)
        return sorted(users, reverse=True)  # the best tier first


class Worker:
    """A copy of the sources in which one change at a time is made."""

    def __init__(self, bench, plan, index):
        self.bench, self.plan = bench, plan
        self.folder = bench.out / f"worker-{index}"
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in ("src", "include", "third_party"):
            shutil.copytree(ROOT / name, self.folder / name)

    def compile(self, source, target, *options):
        words = [w.replace("@COPY@", str(self.folder)) for w in self.bench.commands[source]]
        return self.bench.run([*words, *options, "-c", self.folder / source, "-o", target], 300) == 0

    def as_it_was(self, source):
        """The object code of a source without a change, compiled once."""
        target = self.bench.out / "plain" / f"{source.replace('/', '-')}.o"
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            new = target.with_suffix(f".{threading.get_ident()}")
            if not self.compile(source, new):
                raise SystemExit(f"mutate: {source} does not compile")
            new.rename(target)
        return target.read_bytes()

    def object_of(self, source):
        """The object of a changed source: None where it does not compile, "" where the code is the same."""
        target = self.folder / f"{pathlib.Path(source).stem}.o"
        if not self.compile(source, target):
            return None
        return "" if target.read_bytes() == self.as_it_was(source) else str(target)

    def judge(self, number):
        name, change = self.plan.draw(number)
        begin, path, source = time.monotonic(), self.folder / name, self.plan.sources[name]
        for user in self.bench.users(name):
            self.as_it_was(user)
        path.write_text(applied(source, change))
        try:
            result, by = self.outcome(name)
        finally:
            path.write_text(source)
        before = one_line(source[change.start : change.end])
        return (number, name, change.line, change.operator, before, one_line(change.text) or "(nothing)", result, by,
                f"{time.monotonic() - begin:.1f}")  # fmt: skip

    def brief_killer(self, name):
        """The quick test that notices the change in the brief form of the kernels, or None."""
        target = self.folder / "brief.o"
        if not self.compile(self.bench.kernel, target, *BRIEF):
            return None
        return self.killer(name, [target], self.bench.brief)

    def outcome(self, name):
        """What becomes of the change that was just made, and which test noticed it."""
        users, changed = self.bench.users(name), {}
        by = self.brief_killer(name) if self.bench.kernel in users else None
        if by:
            return "killed", by
        for source in users:
            target = self.object_of(source)
            if target is None:
                return "invalid", "-"
            if target:
                changed[source] = target
                some = len(changed) == 1 and len(users) > 1
                by = self.killer(name, changed.values(), self.bench.plain, QUICK) if some else None
                if by:
                    return "killed", by
        if not changed:
            return "same", "-"
        by = self.killer(name, changed.values(), self.bench.plain) or self.killer_of_ways(name, changed)
        return ("killed", by) if by else ("survived", "-")

    def killer_of_ways(self, name, changed):
        """The same in the lower tiers and with the sanitizers, for which the sources are compiled again."""
        for way in self.bench.ways:
            objects = list(changed.values())
            if way.linked and self.bench.kernel in changed:
                continue  # the kernels take minutes to compile with sanitizers
            if name.startswith("src/evaluate/") and way.name in TIERS and cannot_run("avx512"):
                continue  # the same code: in this module only the AVX-512 tier differs
            if way.linked:
                objects = [f"{target}.{way.name}.o" for target in objects]
                for source, target in zip(changed, objects, strict=True):
                    if not self.compile(source, target, *way.linked, "-O1"):
                        return None
            by = self.killer(name, objects, way)
            if by:
                return f"{by} ({way.name})"
        return None

    def killer(self, name, changed, way, longest=float("inf")):
        """The first test that fails, of those that take no longer than `longest`; None when all pass."""
        for test in self.bench.order(name, way):
            usual = way.tests[test]
            fault = self.bench.fault(test, changed, self.folder, 5 * usual + 5, way) if usual <= longest else ""
            if fault:
                with self.bench.lock:
                    self.bench.kills[name, test] = self.bench.kills.get((name, test), 0) + 1
                return test if fault == "failed" else f"{test} (late)"
        return None


def concerns(test, name):
    """Whether a change of the file can show in the test: measures do not use evaluate, few tests of evaluate look at
    measures, and the kernels for a device, which are tested without one, have only a plan in common with the rest."""
    if name.startswith("src/evaluate/"):
        return not test.startswith(("test_measures", "test_device"))
    if test.startswith("test_device"):
        return name == "src/measures/device_plan.c"
    return not test.startswith("test_evaluate") or test in (
        "test_evaluate_columns", "test_evaluate_faults", "test_evaluate_pinned", "test_evaluate_rows")  # fmt: skip


def wrapped_calls():
    """The linker's options for tests whose calls fail, as tests/CMakeLists.txt has them."""
    words = re.search(r"set[(]wrapped ([^)]*)[)]", (ROOT / "tests" / "CMakeLists.txt").read_text())
    return [f"-Wl,--wrap={word}" for word in words.group(1).split()]


def wrapped_by(test):
    """The same for a test that counts calls of a function of ours."""
    build = (ROOT / "tests" / "CMakeLists.txt").read_text()
    words = re.search(rf'STREQUAL "{test}"[)]\s*target_link_options[(][^)]*', build)
    return [f"-Wl,--wrap={word}" for word in re.findall(r"--wrap=(\w+)", words.group())] if words else []


def newest_source():
    return max(p.stat().st_mtime for name in ("src", "include", "tests") for p in (ROOT / name).rglob("*"))


def limit_memory(most):
    if most:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def compile_words(entry):
    """A command of compile_commands.json without its source, target and dependency file, for a copy at @COPY@."""
    words, kept, skip = shlex.split(entry["command"]), [], False
    for word in words:
        if skip or word in ("-o", "-c", "-MF", "-MT", "-MQ"):
            skip = not skip and word != "-c"
        elif word != entry["file"] and word != "-MD" and "include-order" not in word:
            kept.append(word.replace(str(ROOT / "third_party"), "@COPY@/third_party"))
    return [*kept, "-I@COPY@/include", "-I@COPY@/src"]


def interval(part, whole):
    """The 95 % interval of a share, after Clopper and Pearson, by bisection on the binomial distribution."""

    def at_least(count, p):
        return sum(math.comb(whole, k) * p**k * (1 - p) ** (whole - k) for k in range(count, whole + 1))

    def solve(count, wanted):
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if at_least(count, middle) < wanted else (low, middle)
        return low

    return solve(part, 0.025) if part else 0.0, solve(part + 1, 0.975) if part < whole else 1.0


class Table:
    """mutants.tsv and, with what was replaced, tried.tsv."""

    def __init__(self, out):
        self.rows, self.path, self.all = {}, out / "mutants.tsv", out / "tried.tsv"
        if self.all.exists():
            for line in self.all.read_text().splitlines()[1:]:
                row = line.split("\t")
                self.rows[int(row[0])] = row
        else:
            for path in (self.path, self.all):
                path.write_text("\t".join(COLUMNS) + "\n")

    def add(self, row):
        self.rows[row[0]] = [str(value) for value in row]
        for path in (self.all, self.path) if row[6] in ("killed", "survived") else (self.all,):
            with open(path, "a") as file:
                file.write("\t".join(self.rows[row[0]]) + "\n")

    def counted(self, wanted):
        """The first `wanted` mutants by number, as far as they are decided."""
        rows = [self.rows[number] for number in sorted(self.rows)]
        return [row for row in rows if row[6] in ("killed", "survived")][:wanted]


def next_numbers(table, options):
    """Numbers still to be tried; ends when enough mutants were counted."""
    if options.only:
        yield from options.only
        return
    number = 0
    while len(table.counted(options.mutants)) < options.mutants:
        if number not in table.rows:
            yield number
        number += 1


def search(bench, plan, table, options):
    """Runs the workers until enough mutants are decided or time is over."""
    numbers, lock = next_numbers(table, options), threading.Lock()

    def work(index):
        worker = Worker(bench, plan, index)
        try:
            while True:
                with lock:
                    number = next(numbers, None)
                    if number is None or bench.left() < 5:
                        return
                    plan.draw(number)
                row = worker.judge(number)
                with lock:
                    table.add(row)
        except OutOfTimeError:
            return
        finally:
            shutil.rmtree(worker.folder, ignore_errors=True)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in [pool.submit(work, i) for i in range(options.jobs)]:
            done.result()


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=lambda text: pathlib.Path(text).resolve(), required=True)
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=27)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--least", type=float, default=90)
    parser.add_argument("--cmocka", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--only", type=lambda text: [int(number) for number in text.split(",")])
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def main():
    options = parsed()
    plan = Plan(options.seed)
    if plan.left_out:
        print(f"mutate: left out, because this machine cannot run them: {', '.join(plan.left_out)}", flush=True)
    if options.list:
        for number in options.only or range(options.mutants):
            name, change = plan.draw(number)
            before = one_line(plan.sources[name][change.start : change.end])
            print(number, f"{name}:{change.line}", change.operator, before, "->", one_line(change.text) or "(nothing)")
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    bench, table = Bench(options), Table(options.out)
    bench.prepare()
    spent = ", ".join(
        f"{name} {seconds:.1f}" for name, seconds in sorted(bench.plain.tests.items(), key=lambda t: t[1])
    )
    print(f"mutate: seconds per test: {spent}", flush=True)
    for way in bench.ways:
        print(f"mutate: {way.name}: {len(way.tests)} tests, {sum(way.tests.values()):.0f} s", flush=True)
    search(bench, plan, table, options)
    rows = table.counted(options.mutants)
    killed = sum(row[6] == "killed" for row in rows)
    for row in rows:
        if row[6] == "survived":
            print(f"survived: {row[0]} {row[1]}:{row[2]} {row[3]}: {row[4]} -> {row[5]}")
    share = 100 * killed / max(1, len(rows))
    late = sum("(late)" in row[7] for row in rows)
    low, high = (100 * end for end in interval(killed, max(1, len(rows))))
    print(f"mutate: {killed} of {len(rows)} mutants killed ({share:.1f} %, 95 % interval {low:.1f} to {high:.1f} %)")
    print(f"mutate: {late} of them by tests that ran too long, alone, too")
    return 0 if rows and share >= options.least else 1


if __name__ == "__main__":
    sys.exit(main())
