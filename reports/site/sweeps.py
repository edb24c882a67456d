"""sweeps.py - a sweep as a picture: a column a fault point, in the order of the step, and in it a cell for each way of
failing. A script shows the stack and the command of the one that is chosen; without it there is the table of call sites."""
import os

from page import SIDEWAYS, VERDICTS, count, data, esc, mark, number, script, table

MOST = 60  # letters of one site; more are counted
MANY = 800  # points of which each is small
MEANS = {  # what shim/sweep/sweep.h says of each finding
    "not judged": "the run ended before it could be judged",
    "wrong gradient": "only the gradient of the pieces that ran last is left, or a piece counts twice or not at all",
    "leak": "memory that the failed attempt held is never given back: every failure makes the next one likelier",
    "swallowed": "an error was taken for an out-of-memory, or not noticed: a bug goes on as if it were recovery",
    "state drift": "something else than the gradient is not what it was without the failure",
    "unbounded retries": "it is tried again and again: the pieces do not get smaller, or come back",
    "hang": "the step does not come to its end",
    "crash": "the process does not survive the failure",
    "did not fire": "the run took another way and never came to this point"}
WORDS = {"once": "fails once", "persistent": "fails, and all later ones", "budget": "a smaller card"}


def subject(sweep, step="step"):
    """What was swept, in words: a step, unless it says otherwise."""
    if sweep.get("part"):
        return f"the part {sweep['part']}"
    return "the program" if sweep.get("marked") is False else f"a {step}"


def letters(results):
    """Letters of one site in one mode, equal neighbours counted when there are many."""
    out, runs = [], []
    for r in results:
        letter, kind = mark(r.get("verdict"))
        if runs and runs[-1][0] == letter:
            runs[-1][2].append(r)
        else:
            runs.append((letter, kind, [r]))
    for letter, kind, of in runs:
        link = f'<a class={kind} href="#{esc(anchor(of[0]))}">' if kind == "bad" else f"<span class={kind}>"
        end = "</a>" if kind == "bad" else "</span>"
        if len(results) > MOST or len(of) > 12:
            out.append(f"{link}{letter}&times;{len(of)}{end} ")
        else:
            out.append(link + letter * len(of) + end)
    return "".join(out)


def of_points(sweep):
    return [r for r in sweep["results"] if "budget" not in r]


def ways(results):
    """(fault, mode) of the rows of the picture."""
    order = ["once", "persistent"]
    found = {(str(r.get("fault")), str(r.get("mode"))) for r in results}
    return sorted(found, key=lambda w: (w[0] != "oom", w[0], order.index(w[1]) if w[1] in order else 9, w[1]))


def say(way):
    fault, mode = way
    return WORDS.get(mode, mode) + ("" if fault == "oom" else f" ({fault})")


def by_site(results):
    sites, rows, kinds = {}, [], ways(results)
    for r in results:
        sites.setdefault((r.get("call"), r.get("site")), []).append(r)
    for (call, site), of in sorted(sites.items(), key=lambda s: min(number(r.get("point", 0)) for r in s[1])):
        row = [(f"{call} {site}", "m"), ", ".join(sorted({str(r.get("phase")) for r in of})),
               len({r.get("point") for r in of}), f"{max(number(r.get('bytes')) for r in of):,}"]
        for way in kinds:
            row.append(("html", letters([r for r in of if (str(r.get("fault")), str(r.get("mode"))) == way]), "m"))
        rows.append(row)
    return table(["call site", "phase", "points", "largest bytes", *map(say, kinds)], rows) if rows else ""


def cell(of, big):
    """The worst of what ended here; of a pair there are several."""
    if not of:
        return "<i class='c N'></i>"
    letter = max((mark(r.get("verdict"))[0] for r in of), key="ERDX".index)
    return f"<i class='c {letter}'>{letter if big else ''}</i>"


def picture(results, name):
    """Phases in the order in which the step comes to them, their points in a row that wraps."""
    kinds, points = ways(results), {}
    for r in results:
        points.setdefault(number(r.get("point")), []).append(r)
    groups = []
    for p in sorted(points):
        phase = str(points[p][0].get("phase") or "no phase")
        if not groups or groups[-1][0] != phase:
            groups.append((phase, []))
        groups[-1][1].append(p)
    big = len(points) <= MANY
    if len(groups) > 40:  # phases that take turns: each once
        merged = {}
        for phase, of in groups:
            merged.setdefault(phase, []).extend(of)
        groups = list(merged.items())
    out = [f'<div class=grid data-of="{name}">']
    for phase, of in groups:
        out.append(f"<h4>{esc(phase)} <small>{count(len(of), 'fault point')}</small></h4><div class='cells{'' if big else ' tiny'}'>")
        for p in of:
            by_way = {}
            for r in points[p]:
                by_way.setdefault((str(r.get("fault")), str(r.get("mode"))), []).append(r)
            bad = any(mark(r.get("verdict"))[0] == "X" for r in points[p])
            cells = "".join(cell(by_way.get(w, []), big or bad) for w in kinds)
            out.append(f"<b data-p={p}>{cells}</b>")
        out.append("</div>")
    out.append("</div>")
    rows = ", then ".join(f"<b>{esc(say(w))}</b>" for w in kinds)
    present = {mark(r.get("verdict"))[0] for r in results}
    legend = "".join(f"<li><i class='c {letter}'>{letter}</i> {esc(v)}: {esc(means)}</li>" for v, (letter, _, means) in
                     VERDICTS.items() if letter in present)
    legend += "<li><i class='c X'>X</i> a finding: something was not as it must be</li>" if "X" in present else ""
    return (f"<p class=hint>Each column is one call that can fail, in the order in which they come; from the top: {rows}. "
            "<span class=js>Choose one for its call stack and the command that repeats it; arrow keys move on.</span></p>"
            f"<ul class=legend>{legend}</ul>" + "".join(out))


def packed(sweep, results):
    """What the script needs of each result, in lists: names once."""
    names, number_of = [], {}

    def name(text):
        text = str(text)
        if text not in number_of:
            number_of[text] = len(names)
            names.append(text)
        return number_of[text]
    stacks = sweep.get("stacks") if isinstance(sweep.get("stacks"), list) else []
    rows = []
    for r in results:
        stack = r.get("stack")
        known = stacks[stack] if isinstance(stack, int) and 0 <= stack < len(stacks) else ""
        rows.append([number(r.get("point")), name(r.get("call")), name(r.get("site")), name(r.get("phase")), number(r.get("nth_at_site")),
                     number(r.get("bytes")), name(r.get("fault")), name(r.get("mode")), name(r.get("verdict")), number(r.get("retries")),
                     number(r.get("splits")), number(r.get("dropped")), number(r.get("inherited_from", -1)), name(known),
                     name(r.get("second_site", "")), name(r.get("why", ""))])
    return {"names": names, "rows": rows, "command": str(sweep.get("command", "")), "options": str(sweep.get("options", "")),
            "letters": {v: x[0] for v, x in VERDICTS.items()}}


def budgets(sweep):
    """Each budget a stroke from left (nothing more fits) to right (all fits)."""
    of = sorted((r for r in sweep["results"] if "budget" in r), key=lambda r: number(r["budget"]))
    if len(of) < 2:
        return ""
    low, high = number(of[0]["budget"]), number(of[-1]["budget"])
    out = []
    for r in of:
        letter, kind = mark(r.get("verdict"))
        x = 20 + 860 * (number(r["budget"]) - low) / max(1, high - low)
        out.append(f'<g class={kind}><title>{esc(r["budget"])} bytes: {esc(r.get("verdict"))}, {esc(r.get("retries"))} retries, '
                   f'{esc(r.get("splits"))} splits, {esc(r.get("dropped"))} points dropped</title><rect x="{x - 5:.1f}" y="6" '
                   f'width="10" height="26" fill="currentColor"/><text x="{x:.1f}" y="48" text-anchor="middle" style="font-size:15px;'
                   f'fill:currentColor">{letter}</text></g>')
    rows = [[f"{number(r['budget']) / 1048576:.1f} MiB", (r.get("verdict"), mark(r.get("verdict"))[1]), r.get("retries"), r.get("splits"),
             f"{number(r.get('dropped')):,}"] for r in of]
    return ("<h3>The same on smaller cards</h3><p class=what>Here no single call fails: all of it runs on less and less memory. "
            f"At the left ({low / 1048576:.1f} MiB) nothing fits beside the parameters, at the right ({high / 1048576:.1f} MiB) all of it "
            f"does.</p><div class='scroll wide'><svg viewBox='0 0 900 56' role=img aria-label='verdict by budget'>{''.join(out)}</svg></div>{SIDEWAYS}<details><summary>As a table"
            "</summary>" + table(["memory", "verdict", "retries", "splits", "points left out"], rows) + "</details>")


def finding(f, shown):
    at = f"a budget of {number(f.get('budget')):,} bytes" if "budget" in f else (
        f"point {f.get('point')}, {f.get('call')} at {f.get('site')} ({f.get('phase')}, {number(f.get('bytes')):,} bytes), "
        f"{f.get('fault')} {f.get('mode')}")
    return (f'<details{" open" if shown else ""} id="{esc(anchor(f))}"><summary>{esc(at)}</summary><p>{esc(f.get("why"))}</p>'
            f'<p>Repeat it by</p><pre>{esc(f.get("repeat"))}</pre></details>')


def anchor(f):
    return f"point{f.get('point')}{f.get('fault')}{f.get('mode')}{f.get('budget', '')}{f.get('second_site', '')}"


def found(findings):
    """By what went wrong; the first of each kind is open."""
    if not findings:
        return ""
    kinds, out = {}, ["<h3>What went wrong</h3>"]
    for f in findings:
        kinds.setdefault(str(f.get("verdict")), []).append(f)
    for verdict, of in sorted(kinds.items(), key=lambda k: -len(k[1])):
        out.append(f"<h4 class=bad>{esc(verdict)}, {count(len(of), 'time')}</h4><p>{esc(MEANS.get(verdict, ''))}</p>{finding(of[0], True)}")
        if len(of) > 1:
            out.append(f"<details><summary>{len(of) - 1:,} more of these</summary>{''.join(finding(f, False) for f in of[1:500])}"
                       + (f"<p class=note>{len(of) - 500:,} more are in the JSON.</p>" if len(of) > 500 else "") + "</details>")
    return "".join(out)


def proof(sweep):
    if not sweep["proof"]:
        return "NOT proved complete"
    points = {r.get("point") for r in of_points(sweep)}
    part = points and len(points) < number(sweep.get("fault_points"))
    return ("of the points that were asked for none was left out" if part else "no point was left out") + \
        ": the run after the last one fired nothing"


def section(sweep, index=0):
    findings, results = sweep["findings"], of_points(sweep)
    counts = {}
    for r in sweep["results"]:
        counts[r.get("verdict")] = counts.get(r.get("verdict"), 0) + 1
    parts = f", merged from {len(sweep['parts'])} parts" if len(sweep["parts"]) > 1 else ""
    out = [f"<p class=m>{esc(sweep.get('command', ''))}</p>"] if sweep.get("command") else []
    out += [f"<p>{count(sweep.get('fault_points'), 'fault point')} at {count(sweep.get('sites'), 'call site')}, "
            f"{count(len(sweep['results']), 'run')}{parts}, {count(len(findings), 'finding')}, {number(sweep['seconds']):.1f} s; "
            f"{proof(sweep)}.</p>",
            table(["verdict", "letter", "runs"], [[(v, mark(v)[1]), mark(v)[0], n] for v, n in sorted(counts.items(), key=str)])]
    if results:
        name = f"sweep{index}"
        again = f"{sweep.get('options') or 'oomproof sweep'} --point N --once -- {sweep.get('command', '')}"
        out += ["<h3>Every fault point</h3>", picture(results, name), data(name, packed(sweep, results)),
                "<details><summary>By call site, as a table, and how to repeat any point</summary>",
                f"<p>Point N alone, for good with <code>--persistent</code>:</p><pre>{esc(again)}</pre>", by_site(results), "</details>"]
    out += [found(findings), budgets(sweep)]
    return "".join(out)


def titles(sweeps):
    """One title, or where there are several sweeps one each, by program and faults."""
    if len(sweeps) == 1:
        return [f"Every fault point of {subject(sweeps[0])}, failed"]
    out = []
    for s in sweeps:
        program = next((os.path.basename(w) for w in str(s.get("command", "")).split() if "=" not in w), "")
        kinds = ", ".join(sorted({str(r.get("fault")) for r in s["results"]}))
        out.append(f"Every fault point of {subject(s)}, failed: {program}" + (f" ({kinds})" if kinds else ""))
    return out


def code():
    """Once a page."""
    return ("<div id=point role=region aria-label='the chosen fault point' aria-live=polite hidden></div>" + script("sweep.js"))
