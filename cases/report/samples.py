"""samples.py - what a report is made from, as the cases need it: whole, cut short, or meant to do harm."""
import json

HOSTILE = "</pre><script>alert(1)</script>\"'&"


def result(point, mode="once", verdict="recovered exactly", site="net/a", **more):
    return dict({"run": point, "point": point, "call": "cudaMalloc", "site": site, "phase": "forward", "bytes": 512,
                 "nth_at_site": 1, "mode": mode, "fault": "oom", "verdict": verdict, "retries": 1, "splits": 0, "dropped": 0},
                **more)


def sweep(results, command="train", proof=True):
    bad = [dict(r, why=HOSTILE, repeat="oomproof sweep " + HOSTILE) for r in results if "recovered" not in r["verdict"]]
    return json.dumps({"fault_points": 10, "sites": 2, "modes": ["once", "persistent"], "verdicts": {}, "findings": bad,
                       "results": results, "command": command, "options": "", "runs": len(results), "seconds": 1.5,
                       "proof": proof})


def log(batches, summary=True):
    lines = [json.dumps({"batch": b, "points": 100, "trained": 100, "dropped": 0, "attempts": 3, "attempt_list": [
        {"fragment": 1, "parent": 0, "scenes": 2, "spatial": False, "own": 100, "points": 100, "gather_rows": 0, "bytes": 900,
         "outcome": "out of memory", "phase": "forward", "site": HOSTILE},
        {"fragment": 2, "parent": 1, "scenes": 1, "spatial": False, "own": 50, "points": 50, "gather_rows": 0, "bytes": 500,
         "outcome": "ok"},
        {"fragment": 3, "parent": 1, "scenes": 1, "spatial": True, "own": 50, "points": 60, "gather_rows": 0, "bytes": 500,
         "outcome": "ok"}]}) for b in range(batches)]
    if summary:
        lines.append(json.dumps({"summary": {"exit": 0, "points": 100, "trained": 100, "dropped": 0, "wasted_forward": 1}}))
    return "\n".join(lines) + "\n"


def lines_by_fault():
    """Three lines of code: reached by both faults, by one, by none; and one that only a run without a fault reached."""
    faults = [dict(result(k, m), run=n) for n, (k, m) in enumerate(((1, "once"), (1, "persistent"), (2, "once")))]
    return json.dumps({"lines_by_fault": 1, "command": "train", "without_counters": [2], "faults": faults, "files": {
        "trainer/recovery/a.c": {"lines": {"1": [0, 1], "2": [1], "3": [], "4": [], "5": [0, 1]}, "branches": {"2:1": [1], "2:2": []},
                                 "without_a_fault": [3], "never": [3, 4],
                                 "text": ["both();", "if (b) lasting();", "before();", "nobody" + HOSTILE, "again();"]}}})
