"""figures.py - the numbers that two reports are compared by, and the one line that says whether all is well."""
import os

import checks
import training
from page import VERDICTS, number


def unfinished(s):
    return s.get("finished", True) is not True


def figures(i):
    """name -> (value, 1: more is better, -1: less is, 0: neither)."""
    results = [r for s in i.sweeps for r in s["results"]]
    out = {"fault points": (sum(number(s.get("fault_points", 0)) for s in i.sweeps), 0),
           "sweep runs": (len(results), 0),
           "findings": (sum(len(s["findings"]) for s in i.sweeps), -1),
           "sweeps not finished": (sum(unfinished(s) for s in i.sweeps), -1),
           "sweeps not proved complete": (sum(not s["proof"] and not unfinished(s) for s in i.sweeps), -1),
           "mutants": (len(i.mutants), 1), "mutants not caught": (sum(not m.get("caught") for m in i.mutants), -1),
           "tests passed": (sum(t == "passed" for t in i.tests.values()), 1),
           "tests failed": (sum(t == "failed" for t in i.tests.values()), -1),
           "tests skipped": (sum(t == "skipped" for t in i.tests.values()), -1)}
    for verdict_ in VERDICTS:
        out[f"verdict {verdict_}"] = (sum(r.get("verdict") == verdict_ for r in results), 0)
    for log in i.logs:
        c, name = training.cost(log), os.path.basename(log["path"])
        out[f"{name}: points dropped"] = (c["dropped"], -1)
        out[f"{name}: retries"] = (c["retries"], -1)
        out[f"{name}: forward passes rolled back"] = (c["rolled_back"], -1)
        out[f"{name}: of these, forward passes that had ended"] = (c["wasted_forward"], -1)
        out[f"{name}: backward passes rolled back"] = (c["wasted_backward"], -1)
        out[f"{name}: seconds of recovery"] = (round(c["seconds_recover"], 3), 0)
        out[f"{name}: share of time in recovery"] = (round(c["seconds_recover"] / c["seconds"], 4) if c["seconds"] else 0, 0)
    for c in i.coverage:
        for kind, (ran, of) in c["total"].items():
            out[f"coverage: {kind} not run"] = (of - ran, -1)
        out["coverage: exclusions"] = (len(c["exclusions"]), -1)
    for x in i.lines:
        out["lines that no fault reached"] = (sum(len(f["never"]) for f in x["files"].values()), -1)
    return out


def verdict(f):
    wrong = [n for n in ("findings", "sweeps not finished", "sweeps not proved complete", "mutants not caught", "tests failed", "coverage: lines not run",
                         "coverage: functions not run", "coverage: branches not run") if f.get(n, (0,))[0]]
    return ", ".join(f"{f[n][0]} {singular(n) if f[n][0] == 1 else n}" for n in wrong)


def code(i, f):
    """The command's exit code: 1 something was found wrong, 2 what was given cannot all be read or contradicts itself."""
    return 1 if verdict(f) else 2 if i.notes else 0


def judged(i):
    return bool(i.sweeps or i.logs or i.tests or i.mutants or i.coverage)


def not_tried(i):
    """Runs at one point each that unfinished sweeps still owe."""
    return sum(max(0, number(s.get("asked", 0)) - sum(map(checks.alone, s["results"]))) for s in i.sweeps if not s["proof"])


def headline(i, f):
    """✓ or ✗, and why: only where all that was given could be read is all well; – where nothing was judged."""
    bad, parts = verdict(f), len(i.notes)
    missing = f"{parts} parts are missing, cut short or contradict themselves" if parts > 1 else \
        "one part is missing, cut short or contradicts itself" if parts else ""
    if bad:
        owed = not_tried(i)
        bad += f"; {owed:,} runs that were asked for were not made" if owed else ""
        return f"✗ {bad}" + (f"; {missing}" if missing else "")
    if missing:
        return f"✗ not complete: nothing was found wrong in what is here, but {missing}"
    return "✓ nothing was found wrong" if judged(i) else "– nothing here was judged: it shows what ran, not whether it was right"


def singular(name):
    for noun in ("findings", "sweeps", "mutants", "tests", "lines", "functions", "branches"):
        name = name.replace(noun, noun[:-2] if noun == "branches" else noun[:-1])
    return name
