"""__main__.py - `oomproof report`: one page from what sweeps, runs, traces, tests and mutants left. Standard library only."""
import argparse
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare  # noqa: E402
import inputs  # noqa: E402
import output  # noqa: E402
import proofs  # noqa: E402
import reached  # noqa: E402
import surroundings  # noqa: E402
import sweeps  # noqa: E402
import timeline  # noqa: E402
import training  # noqa: E402
import words  # noqa: E402
from figures import code, figures, headline, verdict  # noqa: E402
from page import document, esc, table  # noqa: E402


def fixtures(i):
    rows = []
    for x in i.fixtures:
        result = i.tests.get(f"field.{x['name']}") or i.tests.get(x["name"], "not run here")
        rows.append([(x["name"], "m"), (result, {"passed": "good", "failed": "bad"}.get(result, "")), (x.get("note", ""), "l"), x["fails"],
                     x.get("expect", "")])
    return table(["recording", "test", "what it is", "failures", "expected"], rows)


def parts(i, links):
    """[(id, title, what it shows, its markup)]: a section each; what there is nothing for is missing."""
    out = []
    for k, (s, title) in enumerate(zip(i.sweeps, sweeps.titles(i.sweeps))):
        out.append((f"s{k}", title, f"Each call that can fail in {sweeps.subject(s, 'step of the program')} was made to fail; every such "
                    "run was compared, number by number, with the run that never failed.", sweeps.section(s, k)))
    for k, log in enumerate(i.logs):
        out.append((f"t{k}", "Training on a card that is too small", "A training run in which batches did not fit: what was tried for each, "
                    "and what that cost.", training.section(log)))
    picture = timeline.section(i.traces)
    if picture:
        out.append(("memory", "Device memory", "How full the device was at each moment, who held it, and what happened after each failure.",
                    picture))
    if i.fixtures:
        out.append(("field", "Failures recorded in the field", "Failures of real runs, kept as files; each is made to happen again, and the "
                    "trainer must do what is expected of it.", fixtures(i)))
    if i.mutants:
        out.append(("mutants", "Mutants of the recovery", "Each mutant is the recovery with one bug put in on purpose. A test suite that is "
                    "worth its name notices every one.", proofs.mutants(i.mutants)))
    for k, c in enumerate(i.coverage):
        out.append((f"coverage{k}", "Coverage of the recovery", "Which lines, functions and branches of the code that recovers ran under its "
                    "tests. Less than all of them fails the tests.", proofs.coverage(c)))
    for k, x in enumerate(i.lines):
        out.append((f"reached{k}", "Which fault reached which line of the recovery", "The code that recovers, and beside each line the injected "
                    "faults that led to it.", reached.section(x)))
    more = "".join(f'<li><a href="{esc(href)}">{esc(title)}</a>: {esc(what)}</li>' if os.path.exists(path) else
                   f"<li>{esc(title)}: {esc(what)} <em>{esc(otherwise)}</em></li>" for title, href, path, what, otherwise in links)
    if more:
        out.append(("more", "More", "Pages beside this one.", f"<ul>{more}</ul>"))
    return out


KIND = {"✓": "good", "✗": "bad", "–": "none"}


def body(i, f, links, oomproof):
    of = parts(i, links)
    of.append(("figures", "Figures", "The numbers that oomproof report --compare compares.", "<details><summary>All figures</summary>"
               + table(["figure", "value"], [[k, v[0]] for k, v in f.items()]) + "</details>"))
    of.append(("surroundings", "Made with", "The machine and the programs that this page was made with.",
               surroundings.section(i, oomproof)))
    missing = "".join(f"<p class=note>{esc(n)}</p>" for n in i.notes[:40])
    if len(i.notes) > 40:
        missing += f"<p class=note>and {len(i.notes) - 40} more notes, in summary.json</p>"
    nav = "".join(f'<li><a href="#{name}">{esc(title)}</a></li>' for name, title, _, _ in of)
    return "".join([
        "<header><h1>Does training survive running out of GPU memory?</h1>", words.intro(i),
        f'<p class="verdict {KIND[headline(i, f)[0]]}">{esc(headline(i, f))}</p>',
        f"<h3>What is missing here</h3>{missing}" if missing else "", words.facts(i),
        f"</header><nav aria-label='sections'><ul>{nav}</ul></nav><main>",
        *(f'<section><h2 id="{name}">{esc(title)}</h2><p class=what>{esc(what)}</p>{markup}</section>' for name, title, what, markup in of),
        "</main>", sweeps.code() if i.sweeps else "", timeline.code() if i.traces else ""])


def markdown(i, f):
    """For a comment on a change: nothing from a file may become markup, or call somebody."""
    def plain(x):
        text = "".join(c if c.isprintable() else " " for c in str(x))
        text = "".join(f"\\{c}" if c in "\\`*_[]<>&|#@!~" else c for c in text[:400])
        # nor a link: what would be taken for an address has its colon or its dot escaped
        return re.sub(r"(?i)\b(https?|ftp|mailto|xmpp)(?=:)|\b(www)(?=\.)", lambda m: m[0] + "\\", text)
    lines = [f"**oomproof: {headline(i, f)}**", ""]
    lines += [f"* {mark} {plain(text)}" for mark, text in words.told(i)]
    found = [x for s in i.sweeps for x in s["findings"]]
    for x in found[:20]:
        lines += ["", f"* **{plain(x.get('verdict'))}** at {plain(x.get('site'))} ({plain(x.get('mode'))}): {plain(x.get('why'))}"]
        lines.append(f"  repeat: {plain(x.get('repeat'))}")
    if len(found) > 20:
        lines += ["", f"{len(found) - 20} more findings are in the report."]
    lines += ["", "<details><summary>figures</summary>", "", "Rolled back is a pass that was begun in vain, because memory ran out in it or after it.", "", "| figure | value |", "| --- | --- |"]
    lines += [f"| {plain(k)} | {v[0]} |" for k, v in f.items()]
    lines += ["", "</details>", "", *(f"> {plain(n)}" for n in i.notes[:20])]
    return "\n".join(lines) + "\n"


def main():
    p = argparse.ArgumentParser(
        prog="oomproof report", description="One page from what sweeps, runs, traces, tests and mutants left: sweep JSON (shards of "
        "one sweep are merged), logs of pointtrain, traces, JUnit files, results of mutants, recordings, coverage, lines by fault, or folders of these.",
        epilog="exit codes: 0 nothing was found wrong, 1 something was (or, with --compare, got worse), 2 usage, or an input is missing, "
        "cut short or contradicts itself (the page is written all the same, and says which), "
        "7 the page cannot be written")
    p.add_argument("files", nargs="*", metavar="FILE")
    p.add_argument("-o", dest="out", default="oomproof-report", metavar="FOLDER", help="index.html, summary.json, summary.md go there")
    p.add_argument("--html", metavar="PAGE", help="only the page, to this file")
    p.add_argument("--compare", nargs=2, metavar=("OLD", "NEW"), help="sweep JSONs or summary.json: what got better or worse")
    p.add_argument("--oomproof", default="oomproof", help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.compare:
        try:
            lines, worse = compare.compare(*o.compare)
        except (OSError, ValueError, RecursionError) as e:
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
    inputs.missing_shards(i)
    inputs.gather(i)
    written = [o.html] if o.html else [os.path.join(o.out, name) for name in ("index.html", "summary.json", "summary.md")]
    wrong = output.clash(written, i.read)
    if wrong:
        print(f"oomproof: error: {wrong}", file=sys.stderr)
        return 2
    f = figures(i)
    links = [("Coverage, line by line", "coverage/index.html", os.path.join(o.out, "coverage/index.html"),
              "the sources of the recovery, as lcov shows them.", "Not made yet: make coverage."),
             ("The memory bisector", "bisector.html?report", os.path.join(o.out, "bisector.html"),
              "step through the recovery of a batch, attempt by attempt; it runs the real code.", "Not built yet: make bisector.")]
    summary = {"version": 1, "verdict": verdict(f) or ("incomplete" if i.notes else "clean"), "notes": i.notes,
               "figures": {k: {"value": v[0], "better": v[1]} for k, v in f.items()},
               "sweeps": [{k: s.get(k) for k in ("fault_points", "sites", "modes", "seconds", "proof", "parts")} for s in i.sweeps],
               "results": [{k: v for k, v in r.items() if k != "stack"} for s in i.sweeps for r in s["results"]]}
    try:
        if o.html:
            output.write(o.html, document("oomproof report", body(i, f, [], o.oomproof)))
            return code(i, f)
        os.makedirs(o.out, exist_ok=True)
        output.write(os.path.join(o.out, "index.html"), document("oomproof report", body(i, f, links, o.oomproof)))
        output.write(os.path.join(o.out, "summary.json"), json.dumps(summary, indent=1) + "\n")
        output.write(os.path.join(o.out, "summary.md"), markdown(i, f))
    except OSError as e:
        print(f"oomproof: error: {o.html or o.out}: {e.strerror}", file=sys.stderr)
        return 7
    print(f"oomproof: {os.path.join(o.out, 'index.html')}: {headline(i, f)[2:]}", file=sys.stderr)
    return code(i, f)


sys.exit(main())
