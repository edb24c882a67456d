"""reached.py - the recovery path, beside each line the injected faults that reached it; and the lines that none reached. From
the JSON of scripts/faultlines.py."""
from page import esc


def names(runs, faults):
    """The faults as people name them: by call site, the calls there, once or for good."""
    sites, out = {}, []
    for run in runs:
        f = faults.get(run, {})
        if "budget" in f:
            sites.setdefault((f"a budget of {f['budget']:,} bytes", ""), [])
        else:
            sites.setdefault((f"{f.get('call')} {f.get('site')}", f.get("mode")), []).append(f.get("nth_at_site", 0))
    for (site, mode), nth in sites.items():
        spans = []
        for n in sorted(nth):
            if spans and spans[-1][1] == n - 1:
                spans[-1][1] = n
            else:
                spans.append([n, n])
        calls = ", ".join(f"#{a}" if a == b else f"#{a}&ndash;{b}" for a, b in spans)
        out.append(f"<li>{esc(site)} {calls} {esc(mode)}</li>")
    return f"<ul class=faults>{''.join(out)}</ul>"


def taken(line, branches):
    """Of a line with branches: how many of them some fault took."""
    of = [bool(runs) for where, runs in branches.items() if where.split(":")[0] == line]
    return f"{sum(of)}/{len(of)}" if of else ""


def listing(number, name, f, faults):
    told, rows = {}, []  # a set of faults is named where it stands first
    for n, text in enumerate(f.get("text", []), 1):
        runs, cell, kind = f["lines"].get(str(n)), "", ""
        if runs is not None and not runs:
            cell, kind = "0", " class=bad"
        elif runs:
            key = tuple(runs)
            if key in told:
                cell = f'<a href="#f{number}l{told[key]}" title="the same faults as at line {told[key]}">{len(runs)}</a>'
            else:
                told[key] = n
                cell = f"<details><summary>{len(runs)}</summary>{names(runs, faults)}</details>"
        rows.append(f'<tr id="f{number}l{n}"><td{kind}>{cell}</td><td>{taken(str(n), f["branches"])}</td><td>{n}</td>'
                    f"<td class=m><code>{esc(text)}</code></td></tr>")
    hit = len(f["lines"]) - len(f["never"])
    return (f"<details class=source><summary>{esc(name)}: {hit} of {len(f['lines'])} lines reached</summary><table><thead><tr>"
            "<th>faults</th><th>branches</th><th>line</th><th>source</th></tr></thead><tbody>" + "".join(rows) +
            "</tbody></table></details>")


def unreached(number, name, f):
    free = set(f.get("without_a_fault", []))
    rows = []
    for n in f["never"]:
        text = f["text"][n - 1].strip() if 0 < n <= len(f.get("text", [])) else ""
        rows.append(f'<li><a href="#f{number}l{n}">{esc(name)}:{n}</a> <code>{esc(text)}</code>'
                    f"{'' if n in free else ' <span class=bad>in no run at all</span>'}</li>")
    return "".join(rows)


def section(data):
    faults, files = {f.get("run"): f for f in data["faults"]}, sorted(data["files"].items())
    lines = sum(len(f["lines"]) for _, f in files)
    never = sum(len(f["never"]) for _, f in files)
    out = [f"<p class=m>{esc(data.get('command', ''))}</p><p>{len(faults)} faults reached {lines - never} of {lines} lines. A fault "
           "reached what ran after it was injected; open a number for the call sites, the calls there, and whether it came once "
           "or for good; a number without that is the same faults as at the line that it leads to.</p>"]
    if data.get("without_counters"):
        out.append(f"<p class=note>{len(data['without_counters'])} faults left no counters: their process was killed.</p>")
    out += [listing(k, name, f, faults) for k, (name, f) in enumerate(files)]
    out.append(f"<h3>Never reached by an injected fault: {never} lines</h3><p>Most of them run before a fault can come, or take "
               "care of other failures than the injected one; what ran in no run at all is marked.</p><ul>" +
               "".join(unreached(k, name, f) for k, (name, f) in enumerate(files)) + "</ul>")
    return "".join(out)
