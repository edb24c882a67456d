"""checks.py - whether what a file says of itself agrees: a sweep whose figures contradict its runs is not believed."""
from page import VERDICTS

# what shim/sweep/sweep.h calls a finding; VERDICTS are the others
FINDINGS = ("not judged", "wrong gradient", "leak", "swallowed", "state drift", "unbounded retries", "hang", "crash", "did not fire")
MOST = 10 ** 15  # no count and no number of bytes is greater


def is_count(x):
    return isinstance(x, int) and not isinstance(x, bool) and 0 <= x < MOST


def is_amount(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool) and 0 <= x < MOST


def bad(r):
    return r.get("verdict") not in VERDICTS


def key(r):
    return (r.get("point"), r.get("mode"), r.get("fault"), r.get("second_site"), r.get("budget"))


def alone(r):
    """A run of one point: no pair, no budget."""
    return "budget" not in r and "second_site" not in r


def figures(s):
    """The first figure or word of a sweep that is not of its kind, or ""."""
    for name in ("fault_points", "sites", "asked", "runs"):
        if not is_count(s.get(name, 0)):
            return f"{name} is no count"
    if not is_amount(s.get("seconds", 0)):
        return "seconds is no time"
    for name in ("proof", "finished"):
        if not isinstance(s.get(name, False), bool):
            return f"{name} is neither true nor false"
    if not isinstance(s.get("modes", []), list) or not isinstance(s.get("verdicts", {}), dict):
        return "modes or verdicts are not what a sweep writes"
    return ""


def sweep(s):
    """What contradicts itself in one file of a sweep, in sentences; missing findings are put in."""
    results, findings, out = s["results"], s["findings"], []
    unknown = sorted({str(r.get("verdict")) for r in results + findings if r.get("verdict") not in VERDICTS and
                      r.get("verdict") not in FINDINGS})
    if unknown:
        out.append("a sweep gives no verdict as " + ", ".join(f"\"{v[:60]}\"" for v in unknown[:5]))
    listed = {key(f) for f in findings}
    hidden = [r for r in results if bad(r) and key(r) not in listed]
    if hidden:
        out.append(f"{len(hidden)} runs went wrong that are not among its findings")
        findings += [dict(r, why="its verdict says so; the file lists no finding for it") for r in hidden]
    wrong = {key(r) for r in results if bad(r)}
    extra = [f for f in findings if key(f) not in wrong]
    if extra:
        out.append(f"{len(extra)} of its findings are not among its runs")
    counts = {}
    for r in results:
        counts[r.get("verdict")] = counts.get(r.get("verdict"), 0) + 1
    counts.pop("not judged", None)
    if "verdicts" in s and s["verdicts"] != counts:
        out.append("its counts of verdicts are not those of its runs")
    if s.get("runs", len(results)) != len(results):
        out.append(f"it says {s['runs']:,} runs, and {len(results):,} are here")
    points = {r.get("point") for r in results if alone(r)}
    asked = s.get("asked", s.get("fault_points", 0))
    have = sum(map(alone, results)) if "asked" in s else len(points)
    if s["proof"] and not results:
        out.append("it says that it is proved complete, and holds no run")
    elif s["proof"] and have != asked and (points or asked and not any("budget" in r for r in results)):
        what = "runs" if "asked" in s else "fault points"
        out.append(f"it says that it is proved complete, and {have:,} of {asked:,} {what} are here")
    if len(points) > s.get("fault_points", 0):
        out.append(f"it has runs of {len(points):,} fault points, and says {s.get('fault_points', 0):,}")
    return out


COUNTS = ("points", "trained", "dropped", "attempts", "retries", "splits_scene", "splits_space", "planned", "wasted_forward",
          "wasted_backward", "bytes_peak", "bytes_baseline", "exit")


def log(rows, summary):
    """What is no number where one must be (set to 0, so that it is said once and added nowhere), and totals that contradict."""
    out, odd = [], set()
    for row in [*rows, *([summary] if summary else [])]:
        for name in COUNTS + ("seconds", "seconds_recover"):
            if name in row and not (is_amount if name.startswith("seconds") else is_count)(row[name]):
                odd.add(name)
                row[name] = 0
    if odd:
        out.append(f"{', '.join(sorted(odd))}: not always a number that can be; counted as 0, so totals are too small")
        return out
    wrong = [b for b in rows if b.get("trained", 0) + b.get("dropped", 0) > b.get("points", 0) and "voided" not in b]
    if wrong:
        out.append(f"in {len(wrong)} batches more points are trained and left out than there are")
    for name in ("points", "trained", "dropped", "retries"):
        total = sum(b.get(name, 0) for b in rows)
        if summary and name in summary and "batches" in summary and summary["batches"] == len(rows) and summary[name] != total and \
                not any("voided" in b or "error" in b for b in rows):
            out.append(f"its summary says {summary[name]:,} {name}, its batches together {total:,}")
    return out
