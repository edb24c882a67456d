"""reached.py - the recovery path, beside each line the injected faults that reached it; and the lines that none reached. From
the JSON of scripts/faultlines.py."""
from page import count, esc


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


def same(number, told, key, n):
    return f'<a href="#f{number}l{told[key]}" title="the same faults as at line {told[key]}">{n}</a>'


def taken(number, line, branches, faults, told):
    """Of a line with branches: how many of them some fault took, and which faults, branch by branch."""
    of = {where.split(":")[1]: runs for where, runs in branches.items() if where.split(":")[0] == line and ":" in where}
    if not of:
        return ""
    rows = []
    for n, runs in of.items():
        key = tuple(runs)
        if not runs:
            says = "<span class=bad>no fault</span>"
        elif key in told:
            says = same(number, told, key, count(len(runs), "fault"))
        else:
            told[key] = line
            says = f"{count(len(runs), 'fault')}{names(runs, faults)}"
        rows.append(f"<li>branch {esc(n)}: {says}</li>")
    return (f"<details><summary>{sum(map(bool, of.values()))}/{len(of)}</summary><ul class=faults>{''.join(rows)}</ul></details>")


def listing(number, name, f, faults):
    told, rows = {}, []  # a set of faults is named where it stands first
    for n, text in enumerate(f.get("text", []), 1):
        runs, cell, kind = f["lines"].get(str(n)), "", ""
        if runs is not None and not runs:
            cell, kind = "0", " class=bad"
        elif runs:
            key = tuple(runs)
            if key in told:
                cell = same(number, told, key, len(runs))
            else:
                told[key] = n
                cell = f"<details><summary>{len(runs)}</summary>{names(runs, faults)}</details>"
        rows.append(f'<tr id="f{number}l{n}"><td{kind}>{cell}</td><td>{taken(number, str(n), f["branches"], faults, told)}</td><td>{n}</td>'
                    f"<td class=m><code>{esc(text)}</code></td></tr>")
    hit = len(f["lines"]) - len(f["never"])
    return (f"<details class=source><summary>{esc(name)}: {hit} of {len(f['lines'])} lines reached</summary><div class=scroll tabindex=0><table><thead><tr>"
            "<th>faults</th><th>branches</th><th>line</th><th>source</th></tr></thead><tbody>" + "".join(rows) +
            "</tbody></table></div></details>")


def unreached(number, name, f):
    free = set(f.get("without_a_fault", []))
    rows = []
    for n in f["never"]:
        text = f["text"][n - 1].strip() if 0 < n <= len(f.get("text", [])) else ""
        rows.append(f'<li><a href="#f{number}l{n}">{esc(name)}:{n}</a> <code>{esc(text)}</code>'
                    f"{'' if n in free else ' <span class=bad>in no run at all</span>'}</li>")
    return "".join(rows)


def untaken(number, name, f):
    """Branches that no fault took, of lines that some fault reached: of the others the line is listed."""
    rows = []
    for where, runs in f["branches"].items():
        line, _, branch = where.partition(":")
        if runs or not f["lines"].get(line) or not line.isdigit():
            continue
        text = f["text"][int(line) - 1].strip() if 0 < int(line) <= len(f.get("text", [])) else ""
        rows.append(f'<li><a href="#f{number}l{line}">{esc(name)}:{line}</a>, branch {esc(branch)}: <code>{esc(text)}</code></li>')
    return rows


def section(data):
    faults, files = {f.get("run"): f for f in data["faults"]}, sorted(data["files"].items())
    lines = sum(len(f["lines"]) for _, f in files)
    never = sum(len(f["never"]) for _, f in files)
    branches = [runs for _, f in files for runs in f["branches"].values()]
    out = [f"<p class=m>{esc(data.get('command', ''))}</p><p>{len(faults)} faults reached {lines - never} of {lines} lines and "
           f"{sum(map(bool, branches))} of {len(branches)} branches. A fault reached what ran after it was injected; open a number for the "
           "call sites, the calls there, and whether it came once or for good; a number that is a link leads to the line with the same "
           "faults.</p>"]
    lost = data.get("without_counters", [])
    out.append(f"<p class=note>{len(lost)} faults left no counters: their process was killed.</p>" if lost else
               "<p class=hint>No fault's counters were lost.</p>")
    out += [listing(k, name, f, faults) for k, (name, f) in enumerate(files)]
    out.append(f"<details><summary>Never reached by an injected fault: {never} lines</summary><p>Most of them run before a fault can come, or take "
               "care of other failures than the injected one; what ran in no run at all is marked.</p><ul>" +
               "".join(unreached(k, name, f) for k, (name, f) in enumerate(files)) + "</ul></details>")
    rows = [row for k, (name, f) in enumerate(files) for row in untaken(k, name, f)]
    out.append(f"<details><summary>Never taken by an injected fault: {len(rows)} branches of lines that one reached</summary><ul>"
               f"{''.join(rows)}</ul></details>")
    return "".join(out)
