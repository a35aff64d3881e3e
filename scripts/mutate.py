#!/usr/bin/env python3
"""Mutation testing: how many small errors, put into src/measures and src/evaluate at random, do the tests notice?

    scripts/mutate.py --out build/mutate [--mutants 300] [--seed 27] [--jobs 2] [--seconds 0] [--cmocka FOLDER]

A change (scripts/c_mutants.py) is drawn by file, in proportion to its length, then by operator, then by position.
Files for vector units that this machine does not have are left out. Changes that do not compile, or that leave the
object code as it is, are replaced by others. A changed file is compiled alone and linked in front of a library that is
built once (the libraries of third_party, no oneDNN, no CUDA); then the tests run that can run the changed function
(mutate_runs.py), those that found changes of the same file first, until one fails, uses five times the processor time
that it should and LATE seconds more, or is stuck; the last two only where it does so again, alone. Of a header that
several files include, the first one alone is tried with the quick tests before the others are compiled; of the kernels
of the measures before that a form that compiles in half the time (BRIEF), with the tests that pass in it as it is. What
passes all tests goes through the other runs of check-all.sh, with the C tests that take at most SLOW seconds: in each
lower vector tier, and with AddressSanitizer and UBSan in the files of the modules, where only their reports count; of
the kernels of the measures only those of the best tier are compiled with these.

OUT/mutants.tsv has one line per mutant, written when it is decided: number, file, line, operator, before, after, killed
or survived, by which test ("late": too much time; else the tier, or "sanitizer"), seconds. A second run with the
same OUT goes on from there, with the times of the tests where no source is newer: seconds of processor time. --list
prints the changes to be tried; --only NUMBERS tries those alone. --seconds ends the run after that time. The share has
a Clopper-Pearson interval.
--cmocka names a folder with cmocka.h and libcmocka.so where it is not installed. Exit status 1 when fewer than --least
(90) per cent were killed."""

import argparse
import concurrent.futures
import dataclasses
import functools
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time

from c_mutants import applied, changes_of
from mutate_runs import OutOfTimeError, Reach, Runner, function_at
from mutate_table import Table, interval

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODULES = ("measures", "evaluate")
CLI = ("20-score.sh", "22-columns.sh", "23-kinds.sh", "28-axes.sh", "28-class-k.sh", "45-fit-k.sh", "50-evaluate.sh",
       "60-decide.sh", "65-sets.sh")  # fmt: skip
WORKFLOW = ("test_workflow_decide", "test_workflow_nulls", "test_workflow_score", "test_workflow_search",
            "test_workflow_sites")  # fmt: skip
QUICK, SLOW, LATE, COUNTED = 1, 5, 5, 10  # seconds
MEMORY = 16 << 30
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
BRIEF = ["-Og"]
TIERS = ("portable", "avx2", "avx512")
AVX512 = {"avx512f", "avx512dq", "avx512bw", "avx512vl"}  # as src/base/cpu.c wants them
PERTURB = {"MALLOC_PERTURB_": "85"}  # of tests of evaluate, as in tests/CMakeLists.txt
FAULT_PARTS = ("fault_preload", "api_arrays")  # linked into the tests that count allocations


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
    memory: int | None = MEMORY
    objects: dict = dataclasses.field(default_factory=dict)  # source -> its object, where all are compiled another way

    def reports(self, output):
        """Whether what a failed test wrote is what this way looks for."""
        return self.name != "sanitizer" or any(word in output for word in (b"Sanitizer", b"runtime error"))


class Bench:
    """The library as it is, its compile commands, and the tests with the time each takes."""

    def __init__(self, options):
        self.out, self.jobs = options.out, options.jobs
        self.build, self.cmocka = self.out / "build", options.cmocka
        self.linker = []
        for name in ("lld", "gold"):
            if shutil.which(f"ld.{name}"):
                self.linker = [f"-fuse-ld={name}"]
                break
        self.objects, self.parts, self.lock = {}, {}, threading.Lock()
        self.plain, self.ways, self.brief = Way(), [], Way("brief")
        self.runner = Runner(ROOT, options.seconds)
        self.reach = Reach(options.out / "reach")
        self.kills = {}  # (file, test) -> number

    def run(self, command, limit, memory=MEMORY, **options):
        """The exit status; None when it used more processor time than the limit, or was stuck."""
        return self.runner.run(command, limit, memory=memory, **options).status

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
            self.prepare_sanitizer(pool)
            each = [(t, way, way.objects.values()) for way in self.ways for t in quick]
            list(pool.map(lambda one: self.time_test(*one), each))
            self.prepare_reach(pool)
        self.prepare_brief()

    def sources(self):
        return [name for name in self.commands if name.startswith(tuple(f"src/{module}/" for module in MODULES))]

    def prepare_sanitizer(self, pool):
        """Compiles the modules with sanitizers, as they are; of the kernels of the measures the best tier."""
        worker = Worker(self, None, "sanitizer")
        (self.out / "sanitizer").mkdir(exist_ok=True)
        for way in [way for way in self.ways if way.linked]:
            names = [name for name in self.sources() if "/tier_" not in name or name == self.kernel]
            objects = {name: str(self.out / "sanitizer" / f"{name.replace('/', '-')}.o") for name in names}
            if all(pool.map(lambda n: worker.compiled(n, objects[n], *way.linked, "-O1"), names)):  # noqa: B023
                way.objects = objects

    def prepare_reach(self, pool):
        """Runs the tests with counters in the sources of the modules. Those that wrap the functions which write the
        counters, and long ones, are left out."""
        if not shutil.which("gcov"):
            return
        worker = Worker(self, None, "reach")
        names = self.sources()
        objects = [self.reach.folder / f"{name.replace('/', '-')}.o" for name in names]
        flush = self.reach.folder / "flush.o"
        done = list(pool.map(lambda pair: worker.compiled(*pair, *Reach.OPTIONS), zip(names, objects, strict=True)))
        if not all(done) or self.run(["cc", "-c", self.reach.flush, "-o", flush], 60) != 0:
            print("mutate: the sources do not compile with counters: every change is tried with all tests")
            return
        ways = [self.plain, *(way for way in self.ways if not way.linked)]
        wrapping = ("_faults", "_pinned")
        some = [(t, w) for w in ways for t, s in w.tests.items() if s <= COUNTED and not t.endswith(wrapping)]
        list(pool.map(lambda each: self.measure_reach(*each, [*objects, flush]), some))

    def measure_reach(self, test, way, objects):
        folder = self.reach.counters(test, way.name)
        known = folder / "lines.json"
        if not is_fresh(known, test):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            counted = Way(way.name, {**way.variables, "GCOV_PREFIX": str(folder), "GCOV_PREFIX_STRIP": "99"},
                          ("--coverage", "-Wl,--wrap=_exit"), memory=None)  # fmt: skip
            if self.fault_once(test, objects, folder, 1000, counted)[0]:
                return  # not known, so it is always run
            known.write_text(json.dumps(self.reach.read(folder)))
        self.reach.add(test, way.name, json.loads(known.read_text()))

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
        if self.run(["cc", *SANITIZE, source, "-o", program], 60, None) != 0:
            return []
        leaks = self.run([program], 60, None, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=1"}) == 0
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
        return self.run([*words, "-lm", "-o", target], 120, None) == 0

    def fault(self, test, changed, folder, limit, way):
        """What is wrong with the test: "" where it passes, "failed", or "late" where it used more time than it may,
        with others beside it and then alone."""
        wrong, _ = self.fault_once(test, changed, folder, limit, way)
        return self.fault_once(test, changed, folder, limit, way, alone=True)[0] if wrong == "late" else wrong

    def fault_once(self, test, changed, folder, limit, way, alone=False):
        """What is wrong with the test, and the processor time that it used."""
        target, said = folder / f"{test.replace('/', '-')}{way.name}", folder / "output"
        try:
            if not self.link(test, changed, target, way):
                return "failed", 0.0
            command = [target]
            if test.startswith("cli/"):
                command = ["sh", "tests/cli/test_cli.sh", target, test[4:]]
            variables = {"VARGATE": str(target), "VARGATE_BUILD": str(self.build), "TMPDIR": str(folder),
                         "OMP_WAIT_POLICY": "passive"}  # fmt: skip
            with open(said, "wb") as output:
                variables |= PERTURB if test.startswith("test_evaluate") else {}
                variables = {**os.environ, **variables, **way.variables}
                ended = self.runner.run(command, limit, output, way.memory, alone, env=variables)
            wrong = "late" if ended.status is None else "failed" if ended.status else ""
            return wrong if way.reports(said.read_bytes()) else "", ended.cpu
        finally:
            target.unlink(missing_ok=True)

    def time_test(self, test, way, objects=()):
        known = self.out / "as-is" / f"{test.replace('/', '-')}{way.name}.seconds"
        if is_fresh(known, test):  # a run that goes on
            way.tests[test] = float(known.read_text())
            return
        folder = known.with_suffix("")
        folder.mkdir(parents=True, exist_ok=True)
        fault, cpu = self.fault_once(test, objects, folder, 200, way)
        if not fault:
            way.tests[test] = cpu
            known.write_text(f"{way.tests[test]:.3f}")
            return
        said = (folder / "output").read_text(errors="replace").splitlines() if (folder / "output").exists() else []
        print(f"mutate: {test} {way.name} {fault} on the sources as they are and is left out:")
        print("\n".join(line for line in said if "OK ]" not in line and "RUN  " not in line)[-2000:], flush=True)

    def order(self, name, function, way):
        """The tests that can run the function, those first that found changes of this file, then those of its module,
        quick ones before slow; the pinned ones last, whose checksums say less about what is wrong."""
        module, usual = name.split("/")[1], way.tests
        tier = way.name if way.name in TIERS else ""

        def place(test):
            found = self.kills.get((name, test), 0) / (1 + usual[test])
            return (test.endswith("_pinned"), -found, module not in test, usual[test])

        able = (t for t in usual if concerns(t, name) and self.reach.may(t, tier, name, function))
        return sorted(able, key=place)

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
        self.bench, self.plan, self.function = bench, plan, None
        self.folder = bench.out / f"worker-{index}"
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in ("src", "include", "third_party"):
            shutil.copytree(ROOT / name, self.folder / name)

    def compile(self, source, target, *options):
        words = [w.replace("@COPY@", str(self.folder)) for w in self.bench.commands[source]]
        return self.bench.run([*words, *options, "-c", self.folder / source, "-o", target], 300) == 0

    def compiled(self, source, target, *options):
        """The same of sources as they are, where it was not done before."""
        target = pathlib.Path(target)
        return is_fresh(target) or self.compile(source, target, *options)

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
        self.function = function_at(source, change.line)
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
            if name.startswith("src/evaluate/") and way.name in (TIERS if cannot_run("avx512") else TIERS[1:]):
                continue  # the same code: in this module only the AVX-512 tier differs
            if way.linked:
                objects = []
                for source, target in changed.items():
                    slow = "/tier_" in source and source != self.bench.kernel
                    objects.append(target if slow else f"{target}.{way.name}.o")
                    if not slow and not self.compile(source, objects[-1], *way.linked, "-O1"):
                        return None
                objects += [target for source, target in way.objects.items() if source not in changed]
            by = self.killer(name, objects, way)
            if by:
                return f"{by} ({way.name})"
        return None

    def killer(self, name, changed, way, longest=float("inf")):
        """The first test that fails, of those that take no longer than `longest`; None when all pass."""
        for test in self.bench.order(name, self.function, way):
            usual = way.tests[test]
            fault = self.bench.fault(test, changed, self.folder, 5 * usual + LATE, way) if usual <= longest else ""
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


def is_fresh(path, test=""):
    """Whether a file is newer than the sources, and than those of the test."""
    return path.exists() and path.stat().st_mtime > newest_source(test)


@functools.cache
def newest_source(test):
    own = [p for p in (ROOT / "tests").rglob("*") if p.suffix == ".h" or p.stem == test or p.parent.name == "faults"
           or test.startswith(p.parent.name + "/")]  # fmt: skip
    return max(p.stat().st_mtime for p in [*(ROOT / "src").rglob("*"), *(ROOT / "include").rglob("*"), *own])


def compile_words(entry):
    """A command of compile_commands.json without its source, target and dependency file, for a copy at @COPY@."""
    words, kept, skip = shlex.split(entry["command"]), [], False
    for word in words:
        if skip or word in ("-o", "-c", "-MF", "-MT", "-MQ"):
            skip = not skip and word != "-c"
        elif word != entry["file"] and word != "-MD" and "include-order" not in word:
            kept.append(word.replace(str(ROOT / "third_party"), "@COPY@/third_party"))
    return [*kept, "-I@COPY@/include", "-I@COPY@/src"]


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
                    if number is None or bench.runner.left() < 5:
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
