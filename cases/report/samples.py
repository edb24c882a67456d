"""samples.py - what a report is made from, as the cases need it: whole, cut short, or meant to do harm."""
import html.parser
import json

# ends tags, attributes, scripts and lines (U+2028), turns the direction of text, calls somebody in a comment
HOSTILE = "</pre></script><script>alert(1)</script><!--\"'&`|\u2028\u202e\ud800 @everyone <img src=x onerror=alert(1)>\" onload=alert(1) ' onload=alert(1) \""

# the page's own: by the first line of their text; what is data is a text of JSON
SCRIPTS = {"/* sweep.js - the fault point that a reader chose: its stack, how it ended, the command that repeats it. Everything from",
           "/* timeline.js - a picture of memory over time, to zoom and to move. */"}


class Reader(html.parser.HTMLParser):
    """The scripts of a page, as a browser sees them."""

    def __init__(self):
        super().__init__()
        self.scripts, self.inside = set(), None

    def handle_starttag(self, tag, attrs):
        if tag == "script":
            self.inside = dict(attrs).get("type", "")
        for name, value in attrs:
            if name.startswith("on") or name == "src" or (name in ("href", "src") and value and value.lower().startswith("javascript:")):
                self.scripts.add(f"{name}={value}")
        if tag in ("img", "iframe", "object", "embed", "base", "form"):
            self.scripts.add(f"<{tag}>")

    def handle_endtag(self, tag):
        if tag == "script":
            self.inside = None

    def handle_data(self, text):
        if self.inside == "application/json":
            try:
                json.loads(text)
            except ValueError:
                self.scripts.add(f"data that is cut off: {text[-60:]}")
        elif self.inside is not None:
            self.scripts.add(text.strip().partition("\n")[0])


def scripts(page):
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader.scripts


def result(point, mode="once", verdict="recovered exactly", site="net/a", **more):
    return dict({"run": point, "point": point, "call": "cudaMalloc", "site": site, "phase": "forward", "bytes": 512,
                 "nth_at_site": 1, "mode": mode, "fault": "oom", "verdict": verdict, "retries": 1, "splits": 0, "dropped": 0},
                **more)


def sweep(results, command="train", proof=True, **more):
    """What a sweep of these results writes."""
    bad = [dict(r, why=HOSTILE, repeat="oomproof sweep " + HOSTILE) for r in results if "recovered" not in r["verdict"]]
    alone = [r for r in results if "budget" not in r and "second_site" not in r]
    counts = {v: sum(r["verdict"] == v for r in results) for v in {r["verdict"] for r in results}}
    return json.dumps({"fault_points": len({r["point"] for r in alone}), "sites": len({r["site"] for r in alone}),
                       "modes": ["once", "persistent"], "verdicts": counts, "findings": bad, "results": results, "command": command,
                       "options": "", "asked": len(alone), "runs": len(results), "seconds": 1.5, "finished": True, "proof": proof} | more)


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


def coverage():
    """One line did not run, one is excluded, and a case was killed."""
    return json.dumps({"coverage": 1, "total": {"lines": [9, 10], "functions": [2, 2], "branches": [4, 4]}, "files": {
        "trainer/recovery/" + HOSTILE: {"lines": [9, 10], "functions": [2, 2], "branches": [4, 4]}}, "exclusions": [
            {"file": "a.c", "line": HOSTILE, "reason": "because it cannot"}], "missing": ["a.c:3: did not run"], "failed": [], "lost": ["x"],
        "runs": 7, "most_exclusions": 5}, separators=(",", ":"))


def mutants():
    return "\n".join(json.dumps(m, separators=(",", ":")) for m in (
        {"mutant": "catch-all", "invariant": 7, "case": "b", "caught": True, "what": HOSTILE, "cases": {"a": "passed", HOSTILE: "noticed"}},
        {"mutant": HOSTILE, "invariant": 1, "case": "c", "caught": False})) + "\n"
