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
    return {(r.get("call"), r.get("site"), r.get("nth_at_site"), r.get("mode"), r.get("fault"), r.get("budget"), r.get("second_site")):
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
            lines.append(f"{said(k)}: {va[k]} -> {vb[k]}{'  WORSE' if bad else '  better' if va[k] not in good else ''}")
    for word, names, there in (("new", vb.keys() - va.keys(), vb), ("gone", va.keys() - vb.keys(), va)):
        names = sorted(names, key=str)
        if names:
            lines.append(f"{len(names)} runs of fault points that are {word}:")
        bad = [k for k in names if there[k] not in good]
        worse |= word == "new" and bool(bad)
        shown = bad[:20] + [k for k in names if k not in bad][:max(0, 20 - len(bad))]
        lines += [f"  {said(k)}: {there[k]}" + ("  WORSE" if word == "new" and there[k] not in good else "") for k in shown]
        if len(names) > len(shown):
            lines.append(f"  and {len(names) - len(shown)} more")
    return [plain(line) for line in lines] or ["nothing differs"], worse


def said(k):
    call, site, nth, mode, fault, budget, second = k
    if budget is not None:
        return f"{fault} on a budget of {budget} bytes"
    return f"{call} {site} call {nth} {mode} {fault}" + (f", then {second}" if second else "")


def plain(line):
    """For a terminal: what it would take for a command is shown as what it is."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in line)
