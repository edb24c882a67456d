"""compare.py - what a change made better or worse: two sweeps, two summaries of reports, or one of each."""
import json

import checks
import figures as numbers
import inputs

ORDER = {"recovered exactly": 0, "recovered with declared loss": 1, "refused cleanly": 1}  # what else there is, is a finding
WORK = ("retries", "dropped")  # of a run: more of it is worse


class Side:
    """One of the two: its figures, its runs, and whether those are all that there can be."""

    def __init__(self, path):
        self.read = inputs.Inputs()
        text = inputs.contents(path, self.read)
        if text is None:
            raise ValueError("; ".join(self.read.notes))
        data = json.loads(text.decode("utf-8", "replace"))
        if not isinstance(data, dict) or not ("results" in data or "sweeps" in data):
            raise ValueError(f"{path} is neither a sweep (oomproof sweep --json) nor a report's summary.json")
        self.summary = "sweeps" in data
        if self.summary:
            self.of_summary(path, data)
        else:
            inputs.add_sweep(path, text.decode("utf-8", "replace"), self.read)
            if not self.read.sweeps:
                raise ValueError("; ".join(self.read.notes))
            self.figures, self.sweeps = numbers.figures(self.read), self.read.sweeps
            self.results, self.notes = [r for s in self.sweeps for r in s["results"]], self.read.notes
            self.figures["seconds"] = (round(sum(s["seconds"] for s in self.sweeps), 1), 0)

    def of_summary(self, path, data):
        try:
            self.figures = {str(k): (v["value"], v["better"]) for k, v in data["figures"].items()}
            self.sweeps, self.notes = [dict(s) for s in data["sweeps"]], [str(n) for n in data["notes"]]
            self.results = [r for r in data["results"] if inputs.sound(r)]
            sound = len(self.results) == len(data["results"]) and all(
                isinstance(x, (int, float)) and not isinstance(x, bool) and abs(x) < checks.MOST and b in (-1, 0, 1) for x, b in self.figures.values())
        except (KeyError, TypeError, AttributeError, ValueError):
            sound = False
        if not sound:
            raise ValueError(f"{path}: its figures or results are not what a report writes: the file is damaged")

    def runs(self):
        return {(r.get("call"), r.get("site"), r.get("nth_at_site"), r.get("mode"), r.get("fault"), r.get("budget"), r.get("second_site")): r
                for r in self.results}

    def all_points(self):
        """Every point of the step was tried: a run that is not here is of a point that the program has no more."""
        one = len(self.sweeps) == 1  # numbers of points are a sweep's own
        points = {r.get("point") if one else (r.get("call"), r.get("site"), r.get("nth_at_site")) for r in self.results if checks.alone(r)}
        return bool(self.sweeps) and not self.notes and all(s.get("proof") is True for s in self.sweeps) and \
            len(points) >= sum(s.get("fault_points", 0) for s in self.sweeps)


def of_figures(old, new):
    lines, worse, both = [], False, old.summary == new.summary
    if not both:
        lines.append("one of the two is a sweep and the other a report's summary: only what both hold is compared, the sweeps")
    for name in sorted(old.figures.keys() | new.figures.keys()):
        (x, _), (y, _) = (side.figures.get(name, (None, 0)) for side in (old, new))
        better = (new.figures.get(name) or old.figures.get(name))[1]
        if x == y or (not both and (x is None or y is None)):
            continue
        word = ""
        if y is None and better:
            word = "  WORSE: not known any more"
        elif better and x is not None:
            word = "  better" if (y - x) * better > 0 else "  WORSE"
        worse |= "WORSE" in word
        lines.append(f"{name}: {'not there' if x is None else x} -> {'not there' if y is None else y}{word}")
    for note in new.notes:
        if note not in old.notes:
            lines.append(f"NEW is not whole: {note}  WORSE")
            worse = True
    return lines, worse


def rank(verdict):
    return ORDER.get(verdict, 2)


def of_runs(old, new):
    lines, worse, more = [], False, []
    a, b = old.runs(), new.runs()
    for k in sorted(a.keys() & b.keys(), key=str):
        x, y = a[k].get("verdict"), b[k].get("verdict")
        if x != y:
            word = "  WORSE" if rank(y) > rank(x) else "  better" if rank(y) < rank(x) else "  WORSE" if rank(y) == 2 else ""
            worse |= "WORSE" in word
            lines.append(f"{said(k)}: {x} -> {y}{word}")
        # a run that took over its verdict was stopped at its first retry: its figures are those of the other
        if (a[k].get("inherited_from", -1) < 0) == (b[k].get("inherited_from", -1) < 0):
            more += [(w, k, a[k].get(w, 0), b[k].get(w, 0)) for w in WORK if a[k].get(w, 0) != b[k].get(w, 0)]
    for w in WORK:
        of = [m for m in more if m[0] == w]
        up = [m for m in of if m[3] > m[2]]
        if of:
            lines.append(f"{w}: more in {len(up)} runs, fewer in {len(of) - len(up)}, {sum(m[3] - m[2] for m in of):+,} together" + (
                "  WORSE" if up else "  better"))
            lines += [f"  {said(k)}: {x} -> {y}" for _, k, x, y in up[:20]] + ([f"  and {len(up) - 20} more"] if len(up) > 20 else [])
            worse |= bool(up)
    lost = a.keys() - b.keys()
    ways = {(k[3], k[4]) for k in b}
    free = {k for k in lost if new.all_points() and (k[3], k[4]) in ways}
    for word, names, there, bad in (("new", b.keys() - a.keys(), b, lambda k: rank(b[k].get("verdict")) == 2),
                                    ("gone", lost, a, lambda k: k not in free)):
        names = sorted(names, key=lambda k: (not bad(k), str(k)))
        if names:
            count = sum(map(bad, names))
            lines.append(f"{len(names)} runs of fault points that are {word}:" + (
                "" if word == "new" or not count else f"  WORSE: {count} of them were not made, though NEW does not show that their points are gone"))
            worse |= bool(count)
        lines += [f"  {said(k)}: {there[k].get('verdict')}" + ("  WORSE" if bad(k) else "") for k in names[:20]]
        if len(names) > 20:
            lines.append(f"  and {len(names) - 20} more")
    return lines, worse


def compare(old_path, new_path):
    """Lines for people, and whether something got worse."""
    old, new = Side(old_path), Side(new_path)
    (one, bad), (two, worse) = of_figures(old, new), of_runs(old, new)
    return [plain(line) for line in one + two] or ["nothing differs"], bad or worse


def said(k):
    call, site, nth, mode, fault, budget, second = k
    if budget is not None:
        return f"{fault} on a budget of {budget} bytes"
    return f"{call} {site} call {nth} {mode} {fault}" + (f", then {second}" if second else "")


def plain(line):
    """For a terminal: what it would take for a command is shown as what it is."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in line)
