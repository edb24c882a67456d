"""inputs.py - what the report is made from, told apart by what is in the files. Nothing is trusted to be whole: what is cut
short or damaged is read as far as it goes, and said."""
import glob
import json
import os
import stat
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

import checks


class Inputs:
    def __init__(self):
        self.sweeps, self.logs, self.traces, self.mutants, self.fixtures, self.lines = [], [], [], [], [], []
        self.coverage, self.read, self.tests, self.notes, self.suites = [], [], {}, [], []

    def note(self, text):
        self.notes.append(text)


MOST = 256 << 20  # bytes of one file: a sweep of 10,000 points has 8 MB, a log of a day some


def contents(path, into, most=MOST):
    """The bytes of a regular file that is not too large, or None and a note: a pipe or a device could keep us for ever."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as f:
            if not stat.S_ISREG(os.fstat(f.fileno()).st_mode):
                into.note(f"{path}: neither a file nor a folder; copy what it holds into a file first")
                return None
            data = f.read(most + 1)
    except OSError as e:
        into.note(f"{path}: {e.strerror}: that part is missing")
        return None
    if len(data) > most:
        into.note(f"{path}: larger than {most >> 20} MiB, which is the most that is read of one file; left out")
        return None
    return data


def json_lines(path, lines, into):
    rows, broken = [], 0
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            broken += 1
            if broken <= 5:
                into.note(f"{path}, line {number} is not whole: the run was cut short, or the file is damaged")
            continue
        if isinstance(row, dict):
            rows.append(row)
    if broken > 5:
        into.note(f"{path}: {broken - 5} more lines are not whole")
    return rows


TEXTS = ("call", "site", "phase", "mode", "fault", "verdict", "why", "repeat", "second_site", "worst")
NUMBERS = ("run", "point", "bytes", "nth_at_site", "inherited_from", "retries", "splits", "dropped", "budget", "stack")


def sound(row):
    """A result whose fields are what they are taken for; None where one is not."""
    if not isinstance(row, dict):
        return None
    if any(not isinstance(row.get(k, ""), str) for k in TEXTS):
        return None
    if any(isinstance(row.get(k, 0), bool) or not isinstance(row.get(k, 0), int) or
           not -2 < row.get(k, 0) < checks.MOST for k in NUMBERS):
        return None
    return row


def shard_of(sweep):
    """(i, n): the i-th of n; 1 of 1 of an older sweep, which does not say."""
    shard = sweep.get("shard")
    whole = isinstance(shard, list) and len(shard) == 2 and all(isinstance(x, int) and 0 < x < 1 << 20 for x in shard)
    return tuple(shard) if whole else (1, 1)


def missing_shards(into):
    """All of i/n for some n, or a note; then the sweep is of a part of its points."""
    for sweep in into.sweeps:
        of = sorted({n for _, n in sweep["shards"]})
        here = {n: {i for i, k in sweep["shards"] if k == n} for n in of}
        if not of or any(len(here[n]) == n for n in of):
            continue
        n = max(of)
        lack = [str(i) for i in range(1, n + 1) if i not in here[n]]
        into.note(f"{sweep['parts'][0]}: of its {n:,} shards the {', '.join(lack[:20])}{', ...' if len(lack) > 20 else ''} "
                  f"{'is' if len(lack) == 1 else 'are'} not here: their fault points are not covered")
        sweep["proof"] = False


def add_sweep(path, text, into):
    try:
        sweep = json.loads(text)
    except (ValueError, RecursionError):
        into.note(f"{path} is not whole: the sweep was cut short; go on with oomproof sweep --resume")
        return
    for name in ("results", "findings"):
        rows = sweep.get(name, [])
        sweep[name] = [r for r in rows if sound(r)] if isinstance(rows, list) else []
        if sweep[name] != rows:
            into.note(f"{path}: what is no result among its {name} is left out: the file is damaged")
    for name, empty in (("results", []), ("findings", []), ("modes", []), ("seconds", 0), ("proof", False)):
        sweep.setdefault(name, empty)
    odd = checks.figures(sweep)
    if odd:
        into.note(f"{path}: {odd}: the file is damaged, and left out")
        return
    for what in checks.sweep(sweep):
        into.note(f"{path} contradicts itself: {what}")
    if sweep.get("finished", True) is not True and not sweep["results"]:
        into.note(f"{path}: the sweep has not finished: it is still running, or it was killed; none of its runs are here")
    elif not sweep.get("proof"):
        into.note(f"{path}: the sweep is not proved complete: it was stopped, or was of a part of the points")
    for same in into.sweeps:  # shards of one sweep have the same points
        if "command" in sweep and all(same.get(k) == sweep.get(k) for k in ("fault_points", "sites", "command", "options", "modes", "kinds")):
            known = {checks.key(r) for r in same["results"]}
            same["results"] += [r for r in sweep.get("results", []) if checks.key(r) not in known]
            same["findings"] += [r for r in sweep.get("findings", []) if checks.key(r) not in known]
            same["seconds"] += sweep.get("seconds", 0)
            same["proof"] = bool(same["proof"] and sweep.get("proof"))
            same["parts"].append(path)
            same["shards"].add(shard_of(sweep))
            return
    sweep["parts"] = [path]
    sweep["shards"] = {shard_of(sweep)}
    into.sweeps.append(sweep)


def add_log(path, text, into):
    rows = json_lines(path, text.splitlines(), into)
    log = {"path": path, "batches": [r for r in rows if "batch" in r],
           "validations": [r["validation"] for r in rows if isinstance(r.get("validation"), dict)],
           "summary": next((r["summary"] for r in rows if isinstance(r.get("summary"), dict)), None)}
    for what in checks.log(log["batches"], log["summary"]):
        into.note(f"{path}: {what}")
    if log["summary"] is None:
        into.note(f"{path} has no summary: the run was stopped before its end, after {len(log['batches'])} batches")
    into.logs.append(log)


EVENTS = 500_000  # of one trace, each 1 KB while the page is made; a step of the trainer has 7,000


def first(run, path, into):
    """Lines of a reader's output, no further than the most that is read; then it is ended, and run.cut says so."""
    lines = size = 0
    for line in iter(lambda: run.stdout.readline(1 << 20), b""):
        if lines == EVENTS or size + len(line) > MOST:
            into.note(f"{path}: more than {EVENTS:,} events, or {MOST >> 20} MiB of them, are not read; those after the first {lines:,} are missing")
            run.cut = True
            run.kill()
            break
        lines += 1
        size += len(line)
        yield line.decode("utf-8", "replace")


def add_trace(path, into, oomproof):
    with tempfile.TemporaryFile() as err, subprocess.Popen([oomproof, "trace", path, "--json"], stdout=subprocess.PIPE, stderr=err) as run:
        run.cut = False
        events = json_lines(path, first(run, path, into), into)
        for e in events:  # few words, many times
            e.update((k, sys.intern(e[k])) for k in ("call", "phase", "site") if isinstance(e.get(k), str))
        run.stdout.close()
        wrong = run.wait() and not run.cut
        err.seek(0)
        said = err.read(2000).decode("utf-8", "replace").strip()
    if wrong or not events:
        into.note(f"{path}: {said or 'no event in it'}")
    # a program that marks its steps, and of whose last one only a part is here
    marks = [k for k, e in enumerate(events) if "call" not in e and "attempts" in e]
    if marks and any(e.get("phase") in ("backward", "commit") for e in events[marks[-1]:]):
        into.note(f"{path} ends within a step, after {len(marks)} whole one{'s' if len(marks) > 1 else ''}: the run was stopped there")
    into.traces.append({"path": path, "events": events})


def add_lines(path, text, into):
    try:
        data = json.loads(text)
        into.lines.append({"faults": list(data["faults"]), "files": {
            name: {k: f[k] for k in ("lines", "branches", "never", "without_a_fault", "text")} for name, f in data["files"].items()},
            "command": data.get("command", ""), "without_counters": data.get("without_counters", [])})
    except (ValueError, KeyError, TypeError, AttributeError):
        into.note(f"{path} is not whole: make coverage was stopped; run it again")


def add_coverage(path, text, into):
    try:
        data = json.loads(text)
        total, files = data["total"], data["files"]
        for f in [total, *files.values()]:
            for kind in ("lines", "functions", "branches"):
                ran, of = f[kind]
                if not isinstance(ran, int) or not isinstance(of, int):
                    raise TypeError
        into.coverage.append({"total": total, "files": files, "exclusions": [
            {k: x[k] for k in ("file", "line", "reason")} for x in data["exclusions"]], "missing": list(data["missing"]),
            "failed": list(data["failed"]), "lost": list(data["lost"]), "runs": int(data["runs"]),
            "most_exclusions": int(data["most_exclusions"])})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        into.note(f"{path} is not whole: counting was stopped; run make coverage again")


def add_junit(path, text, into):
    try:
        root = xml.fromstring(text)
    except xml.ParseError:
        into.note(f"{path} is not whole: the tests were stopped")
        return
    of = {}
    for case in root.iter("testcase"):
        wrong = case.find("failure") is not None or case.find("error") is not None
        state = "failed" if wrong else "skipped" if case.find("skipped") is not None else "passed"
        worst(of, case.get("name", ""), state)
    if not of:
        into.note(f"{path}: no test in it")
    into.suites.append((root.get("name") or next((s.get("name") for s in root.iter("testsuite")), ""), of))


def worst(of, name, state):
    """Of two results of one test the worse one is told."""
    order = ("passed", "skipped", "failed")
    of[name] = max(of.get(name, state), state, key=order.index)


def gather(into):
    """When all is read: the tests, but for those of a sweep that is here as JSON, which would count twice."""
    said = {"".join(c if " " <= c <= "~" else "?" for c in f"point {r.get('point')} {r.get('site')} {r.get('fault')} {r.get('mode')}")
            for s in into.sweeps for r in s["results"]}
    said |= {f"budget {r['budget']} any {r.get('fault')} budget" for s in into.sweeps for r in s["results"] if "budget" in r}
    for suite, of in into.suites:
        if suite == "oomproof sweep" and of and said.issuperset(of):
            continue
        for name, state in of.items():
            worst(into.tests, name, state)


def own(path):
    """A summary of an earlier report, which lies where reports go."""
    if os.path.basename(path) != "summary.json":
        return False
    try:
        with open(path, "rb") as f:
            return f.read(32).startswith(b'{\n "version": 1,')
    except OSError:
        return False


def add(path, into, oomproof="oomproof"):
    if os.path.isdir(path):
        before = len(into.read)
        for inside in sorted(glob.glob(os.path.join(glob.escape(path), "*"))):
            if inside.endswith((".json", ".oomt", ".jsonl")):
                if not own(inside):
                    add(inside, into, oomproof)
        if len(into.read) == before:
            into.note(f"{path}: nothing in this folder is read (*.json, *.jsonl, *.oomt)")
        return
    into.read.append(path)
    whole = contents(path, into)
    if whole is None:
        return
    head = whole[:64]
    if head[:8] in (b"opptrace", b"ecartppo"):
        add_trace(path, into, oomproof)
        return
    text = whole.decode("utf-8", "replace")
    if head.startswith(b"<?xml"):
        add_junit(path, text, into)
    elif head.startswith(b'{"fault_points"'):
        add_sweep(path, text, into)
    elif head.startswith(b'{"coverage"'):
        add_coverage(path, text, into)
    elif head.startswith(b'{"lines_by_fault"'):
        add_lines(path, text, into)
    elif head.startswith(b'{"mutant"'):
        into.mutants += json_lines(path, text.splitlines(), into)
    elif head.startswith(b'{"oomt"'):
        rows = json_lines(path, [text.partition("\n")[0]], into)
        fails = text.count('"e":"fail"')
        into.fixtures += [dict(r, name=os.path.basename(path)[:-5], fails=fails) for r in rows]
    elif head.startswith((b'{"batch"', b'{"summary"', b'{"validation"')) or (path.endswith(".jsonl") and not text.strip()):
        add_log(path, text, into)
    else:
        into.note(f"{path}: neither a sweep, a log of pointtrain, a trace, JUnit, mutants, coverage, lines by fault nor a recording; left out")
