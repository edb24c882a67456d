"""compare.py - what a change made better or worse: two sweeps, or two summaries of reports."""
import json


def load(path):
    with open(path, encoding="utf-8") as f:
        data = json.load(f)
    if not isinstance(data, dict) or not ("results" in data or "sweeps" in data):
        raise ValueError("neither a sweep (oomproof sweep --json) nor a report's summary.json")
    return data


def figures(data):
    """name -> (value, 1: more is better, -1: less is, 0: neither)."""
    if "sweeps" in data:
        return {k: (v["value"], v["better"]) for k, v in data["figures"].items()}
    found = len(data.get("findings", []))
    return {"fault points": (data.get("fault_points", 0), 0), "findings": (found, -1),
            "proved complete": (int(bool(data.get("proof"))), 1), "seconds": (round(data.get("seconds", 0), 1), 0),
            **{f"verdict {v}": (n, 0) for v, n in data.get("verdicts", {}).items()}}


def verdicts(data):
    return {(r.get("call"), r.get("site"), r.get("nth_at_site"), r.get("mode"), r.get("fault"), r.get("budget")):
            r.get("verdict") for r in data.get("results", [])}


def compare(old_path, new_path, good):
    """Lines for people, and whether something got worse. good: verdicts that are no finding."""
    old, new = load(old_path), load(new_path)
    lines, worse = [], False
    a, b = figures(old), figures(new)
    for name in sorted(a.keys() | b.keys()):
        x, y = a.get(name, (None, 0))[0], b.get(name, (None, 0))[0]
        better = (b.get(name) or a.get(name))[1]
        if x == y:
            continue
        word = ""
        if better and isinstance(x, (int, float)) and isinstance(y, (int, float)):
            word = "  better" if (y - x) * better > 0 else "  WORSE"
            worse |= word == "  WORSE"
        lines.append(f"{name}: {x} -> {y}{word}")
    va, vb = verdicts(old), verdicts(new)
    for k in sorted(va.keys() & vb.keys(), key=str):
        if va[k] != vb[k]:
            bad = vb[k] not in good
            worse |= bad
            lines.append(f"{k[0]} {k[1]} call {k[2]} {k[3]} {k[4]}: {va[k]} -> {vb[k]}{'  WORSE' if bad else ''}")
    return lines or ["nothing differs"], worse
