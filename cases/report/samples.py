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
