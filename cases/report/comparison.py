"""comparison.py BUILD - what oomproof report --compare must not miss: runs and figures that are gone, exact recovery that no longer
is, more work, files of different kinds, files that contradict themselves."""
import json
import os
import subprocess
import sys
import tempfile

import checking
from checking import putter, want
from samples import coverage, log, result, sweep

OOMPROOF = os.path.join(sys.argv[1], "bin/oomproof")

with tempfile.TemporaryDirectory() as d:
    put = putter(d)

    def compare(a, b):
        return subprocess.run([OOMPROOF, "report", "--compare", a, b], capture_output=True, text=True, check=False, timeout=120)

    def summary(name, *files):
        subprocess.run([OOMPROOF, "report", "-o", os.path.join(d, name), *files], capture_output=True, check=False)
        return os.path.join(d, name, "summary.json")

    def differs(what, a, b, code, *texts):
        """As sweeps, as summaries, and one of each."""
        one, two = put("old.json", a), put("new.json", b)
        sone, stwo = summary("so", one), summary("sn", two)
        for x, y in ((one, two), (sone, stwo), (one, stwo), (sone, two)):
            run = compare(x, y)
            for text in texts:
                want(run.returncode == code and text in run.stdout, f"{what}, {os.path.basename(x)}, {os.path.basename(y)}: {run.returncode} "
                     f"\"{text}\" of {run.stdout}{run.stderr}")

    full = [result(k, m, site=f"net/{k}") for k in range(1, 6) for m in ("once", "persistent")]
    differs("the same", sweep(full), sweep(full), 0, "")
    for verdict in ("recovered with declared loss", "refused cleanly"):
        worse = [*full[:9], result(5, "persistent", verdict, "net/5")]
        differs(verdict, sweep(full), sweep(worse), 1, f"recovered exactly -> {verdict}  WORSE")
        differs("back", sweep(worse), sweep(full), 0, f"{verdict} -> recovered exactly  better")
    differs("retries", sweep(full), sweep([dict(r, retries=2) if r["point"] == 3 else r for r in full]), 1, "retries: more in 2 runs",
            "net/3 call 1 once oom: 1 -> 2")
    differs("points left out", sweep(full), sweep([dict(r, dropped=4) if r["point"] == 3 else r for r in full]), 1, "dropped: more in 2 runs")
    differs("fewer retries", sweep([dict(r, retries=2) for r in full]), sweep(full), 0, "retries: more in 0 runs, fewer in 10, -10 together  better")
    # runs that are gone: with their point, in a sweep that is proved complete, or without a reason
    differs("a point that the program has no more", sweep(full), sweep(full[2:]), 0, "2 runs of fault points that are gone:", "net/1 call 1 once oom")
    differs("points that were not tried", sweep(full), sweep(full[2:], fault_points=5), 1, "WORSE: 2 of them were not made")
    differs("a way that was not tried", sweep(full), sweep(full[::2]), 1, "WORSE: 5 of them were not made")
    differs("a sweep that was stopped", sweep(full), sweep(full[:6], fault_points=5, asked=10, proof=False, finished=False), 1, "WORSE: 4 of them were not made",
            "sweeps not finished: 0 -> 1  WORSE")
    differs("one that contradicts itself", sweep(full), sweep(full, runs=12), 1, "NEW is not whole: ", "says 12 runs")
    # cost and what vouches for the tests, of summaries
    fine = coverage().replace('"lines":[9,10]', '"lines":[10,10]').replace('"missing":["a.c:3: did not run"]', '"missing":[]')
    old = summary("a", put("s.json", sweep(full)), put("l.jsonl", log(3)), put("c.json", fine))
    for what, files, text in (("no coverage", (put("s.json", sweep(full)), put("l.jsonl", log(3))), "coverage: lines not run: 0 -> not there  WORSE"),
                              ("more retries", (put("s.json", sweep(full)), put("c.json", fine), put("l.jsonl", log(3).replace(
                                  '"attempts": 3', '"retries": 2, "attempts": 3'))), "l.jsonl: retries: 0 -> 6  WORSE")):
        run = compare(old, summary("b", *files))
        want(run.returncode == 1 and text in run.stdout, f"{what}: {run.returncode} {run.stdout}")
    run = compare(old, put("s.json", sweep(full)))
    want(run.returncode == 0 and "only what both hold is compared" in run.stdout, f"a summary with more than sweeps: {run.returncode} {run.stdout}")
    # what cannot be compared
    damaged = put("d.json", json.dumps({"sweeps": [], "figures": {"findings": {"value": "x", "better": 1}}, "notes": [], "results": []}))
    for path in (damaged, put("n.json", '{"sweeps":7}'), put("h.json", '{"fault_points":' + "[" * 100000), "/dev/zero", d):
        run = compare(old, path)
        want(run.returncode == 2 and "error: --compare" in run.stderr and "Traceback" not in run.stderr, f"{path}: {run.returncode} {run.stderr[-300:]}")
sys.exit(checking.failed)
