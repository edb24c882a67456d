"""lines.py BUILD - the lines that each fault reached, against what must hold of a recovery. What runs after every failure is
reached by all, what runs before any by none, what only a lasting failure needs by those alone; and a pruned run has the lines
of one that ran on."""
import json
import os
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1])
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
NOTES = os.path.join(BUILD, "cases/coverage/CMakeFiles/covered.dir/__/__/trainer/recovery")
failed = 0


def want(holds, what):
    global failed
    if not holds:
        print("not so:", what)
        failed = 1


def faultlines(out, *words):
    run = subprocess.run(["sh", os.path.join(ROOT, "scripts/faultlines.sh"), BUILD, out, "--sample", "8", *words, "--",
                          "--data", "rooms:2,max=900", "--batch", "2"], capture_output=True, text=True, check=False)
    if run.returncode:
        print(run.stdout, run.stderr)
        sys.exit(1)
    with open(out, encoding="utf-8") as f:
        return json.load(f)


with tempfile.TemporaryDirectory() as d:
    data = faultlines(os.path.join(d, "pruned.json"))
    whole = faultlines(os.path.join(d, "whole.json"), "--no-prune")
    runs = [f["run"] for f in data["faults"]]
    want(len(runs) == 16 and not data["without_counters"], f"8 points, once and for good: {len(runs)}")

    def by_fault(x):
        """{file and line or branch: the faults that reached it}; runs of another order are numbered in another way."""
        name = {f["run"]: (f["point"], f["mode"]) for f in x["faults"]}
        return {(path, kind, where): {name[r] for r in of} for path, f in x["files"].items()
                for kind in ("lines", "branches") for where, of in f[kind].items()}
    a, b = by_fault(data), by_fault(whole)
    for key in sorted(a.keys() | b.keys()):
        want(a.get(key) == b.get(key), f"{key}: pruned {a.get(key)}, run on {b.get(key)}")

    recover = data["files"]["trainer/recovery/recover.c"]

    def at(text):
        """The faults at the line with that text, and whether it is in the list of those that none reached."""
        n = next(i for i, line in enumerate(recover["text"], 1) if text in line)
        return set(recover["lines"][str(n)]), n in recover["never"], n in recover["without_a_fault"]
    once = {f["run"] for f in data["faults"] if f["mode"] == "once"}
    want(at("pt_status st = to_baseline(r, f);")[0] == set(runs), "every fault is followed by the way to the baseline")
    want(at("pt_queue_push(&r.queue, whole);") == (set(), True, True), "the batch began before any fault")
    want(at("return pt_fail(PT_ERR_INTERNAL,") == (set(), True, False), "the bound on attempts is told of in no run at all")
    dropped = at("r->stats->at_floor++;")[0]
    want(dropped and not dropped & once, f"what lasts drops points, what comes once never does: {sorted(dropped)}")
    split = at("r->stats->splits_scene++;")[0]
    want(split and not split & once, f"nor is it split: {sorted(split)}")

    page = subprocess.run([os.path.join(BUILD, "bin/oomproof"), "report", "-o", d, os.path.join(d, "pruned.json")],
                          capture_output=True, text=True, check=False)
    with open(os.path.join(d, "index.html"), encoding="utf-8") as f:
        html = f.read()
    want(page.returncode == 0 and "16 faults reached" in html and "<summary>16</summary>" in html, f"the page: {page.stderr}")

    # a program without counters, and notes that are not there
    with open(os.path.join(d, "sweep.json"), "w", encoding="utf-8") as f:
        json.dump({"results": [{"run": 0, "inherited_from": -1}]}, f)
    for notes, says in ((d, "build the target covered_pointtrain"), (NOTES, "built with --coverage")):
        os.makedirs(os.path.join(d, "plain"), exist_ok=True)
        bare = subprocess.run(["python3", "scripts/faultlines.py", d, notes, os.path.join(d, "sweep.json"), os.path.join(d, "x")],
                              capture_output=True, text=True, check=False, cwd=ROOT)
        want(bare.returncode == 1 and says in bare.stderr, f"{says}: {bare.returncode} {bare.stderr}")
sys.exit(failed)
