"""__main__.py - `oomproof report`: one page from what sweeps, runs, traces, tests and mutants left. Standard library only."""
import argparse
import json
import os
import platform
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare  # noqa: E402
import inputs  # noqa: E402
import reached  # noqa: E402
import sweeps  # noqa: E402
import timeline  # noqa: E402
import training  # noqa: E402
from page import VERDICTS, document, esc, table  # noqa: E402


def figures(i):
    """name -> (value, 1: more is better, -1: less is, 0: neither)."""
    results = [r for s in i.sweeps for r in s["results"]]
    out = {"fault points": (sum(s.get("fault_points", 0) for s in i.sweeps), 0),
           "sweep runs": (len(results), 0),
           "findings": (sum(len(s["findings"]) for s in i.sweeps), -1),
           "sweeps not proved complete": (sum(not s["proof"] for s in i.sweeps), -1),
           "mutants": (len(i.mutants), 0), "mutants not caught": (sum(not m.get("caught") for m in i.mutants), -1),
           "tests failed": (sum(t == "failed" for t in i.tests.values()), -1),
           "tests skipped": (sum(t == "skipped" for t in i.tests.values()), -1)}
    for log in i.logs:
        s = log["summary"] or {}
        name = os.path.basename(log["path"])
        out[f"{name}: points dropped"] = (s.get("dropped", 0), -1)
        out[f"{name}: wasted forward passes"] = (s.get("wasted_forward", 0), -1)
        out[f"{name}: seconds of recovery"] = (round(s.get("seconds_recover", 0), 3), 0)
    return out


def verdict(f):
    wrong = [n for n in ("findings", "sweeps not proved complete", "mutants not caught", "tests failed") if f[n][0]]
    return ", ".join(f"{f[n][0]} {n}" for n in wrong)


def body(i, f, links):
    bad = verdict(f)
    out = ["<h1>oomproof</h1>", f'<p class={"bad" if bad else "good"}>{"&#10007; " + esc(bad) if bad else "&#10003; nothing was found wrong"}'
           f"</p>", *(f"<p class=note>{esc(n)}</p>" for n in i.notes)]
    for s in i.sweeps:
        out += ["<h2>Every fault point of a step, failed</h2>", sweeps.section(s)]
    for log in i.logs:
        out += ["<h2>Training</h2>", training.section(log)]
    out.append(timeline.section(i.traces))
    if i.mutants:
        out += ["<h2>Mutants of the recovery</h2>", table(
            ["mutant", "breaks invariant", "told by", "caught"],
            [[m.get("mutant"), m.get("invariant"), (m.get("case"), "m"),
              ("yes", "good") if m.get("caught") else ("NO", "bad")] for m in i.mutants])]
    if i.fixtures:
        rows = []
        for x in i.fixtures:
            result = i.tests.get(f"field.{x['name']}") or i.tests.get(x["name"], "not run here")
            rows.append([(x["name"], "m"), (x.get("note", ""), "l"), x["fails"], x.get("expect", ""),
                         (result, {"passed": "good", "failed": "bad"}.get(result, ""))])
        out += ["<h2>Field failures</h2>", table(["recording", "what it is", "failures", "expected", "test"], rows)]
    for x in i.lines:
        out += ["<h2>Which fault reached which line of the recovery</h2>", reached.section(x)]
    for title, path, otherwise in links:
        there = os.path.exists(path)
        out.append(f"<h2>{esc(title)}</h2><p>" + (f'<a href="{esc(os.path.basename(os.path.dirname(path)) + "/" if "coverage" in path else "")}'
                   f'{esc(os.path.basename(path))}">open it</a>' if there else esc(otherwise)) + "</p>")
    out += ["<h2>Figures</h2>", table(["figure", "value"], [[k, v[0]] for k, v in f.items()]),
            f"<p>Made on {esc(platform.system())} {esc(platform.machine())}, {esc(os.cpu_count())} processors.</p>"]
    return "".join(out)


def markdown(i, f):
    bad = verdict(f)
    lines = [f"**oomproof: {'✗ ' + bad if bad else '✓ nothing was found wrong'}**", "", "| figure | value |", "| --- | --- |"]
    lines += [f"| {k} | {v[0]} |".replace("\n", " ") for k, v in f.items()]
    for s in i.sweeps:
        for x in s["findings"][:20]:
            lines += ["", f"* **{x.get('verdict')}** at `{str(x.get('site')).replace('`', '')}`: {x.get('why')}"]
    lines += ["", *(f"> {n}" for n in i.notes)]
    return "\n".join(lines) + "\n"


def write(path, text):
    aside = f"{path}.{os.getpid()}.tmp"
    with open(aside, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(aside, path)


def main():
    p = argparse.ArgumentParser(
        prog="oomproof report", description="One page from what sweeps, runs, traces, tests and mutants left: sweep JSON (shards of "
        "one sweep are merged), logs of pointtrain, traces, JUnit files, results of mutants, recordings, lines by fault, or folders of these.",
        epilog="exit codes: 0 nothing was found wrong, 1 something was (or, with --compare, got worse), 2 usage or bad input, "
        "7 the page cannot be written")
    p.add_argument("files", nargs="*", metavar="FILE")
    p.add_argument("-o", dest="out", default="oomproof-report", metavar="FOLDER", help="index.html, summary.json, summary.md go there")
    p.add_argument("--html", metavar="PAGE", help="only the page, to this file")
    p.add_argument("--compare", nargs=2, metavar=("OLD", "NEW"), help="two sweep JSONs, or two summary.json: what got better or worse")
    p.add_argument("--oomproof", default="oomproof", help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.compare:
        try:
            lines, worse = compare.compare(*o.compare, VERDICTS)
        except (OSError, ValueError) as e:
            print(f"oomproof: error: --compare: {e}", file=sys.stderr)
            return 2
        print("\n".join(lines))
        return int(worse)
    if not o.files:
        print("oomproof: error: nothing to report; give files, as oomproof sweep --json, pointtrain --log, oomproof run --trace "
              "or ctest --output-junit wrote them", file=sys.stderr)
        return 2
    i = inputs.Inputs()
    for path in o.files:
        inputs.add(path, i, o.oomproof)
    f = figures(i)
    links = [("Coverage of the recovery path", os.path.join(o.out, "coverage/index.html"), "not measured yet: make coverage"),
             ("The memory bisector", os.path.join(o.out, "bisector.html"), "not built yet: make bisector")]
    summary = {"version": 1, "verdict": verdict(f) or "clean", "notes": i.notes,
               "figures": {k: {"value": v[0], "better": v[1]} for k, v in f.items()},
               "sweeps": [{k: s.get(k) for k in ("fault_points", "sites", "modes", "seconds", "proof", "parts")} for s in i.sweeps],
               "results": [r for s in i.sweeps for r in s["results"]]}
    try:
        if o.html:
            write(o.html, document("oomproof report", body(i, f, [])))
            return int(bool(verdict(f)))
        os.makedirs(o.out, exist_ok=True)
        write(os.path.join(o.out, "index.html"), document("oomproof report", body(i, f, links)))
        write(os.path.join(o.out, "summary.json"), json.dumps(summary, indent=1) + "\n")
        write(os.path.join(o.out, "summary.md"), markdown(i, f))
    except OSError as e:
        print(f"oomproof: error: {o.html or o.out}: {e.strerror}", file=sys.stderr)
        return 7
    print(f"oomproof: {os.path.join(o.out, 'index.html')}: {verdict(f) or 'nothing was found wrong'}", file=sys.stderr)
    return int(bool(verdict(f)))


sys.exit(main())
