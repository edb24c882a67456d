"""report.py BUDGET.jsonl SWEEP.json COVERAGE.html - prints the report as one self-contained HTML page.

A missing input is named as missing; a line that is not JSON is named with its number."""
import html
import json
import os
import sys


def lines(path):
    """(rows, notes) of a file of JSON lines."""
    if not os.path.exists(path):
        return [], [f"{path} is missing: that part was not run"]
    rows, notes = [], []
    with open(path, encoding="utf-8", errors="replace") as f:
        for number, text in enumerate(f, 1):
            try:
                rows.append(json.loads(text))
            except ValueError:
                notes.append(f"{path}, line {number} is not JSON")
    return rows, notes


def cell(x):
    return html.escape(f"{x:.4g}" if isinstance(x, float) else str(x))


def table(columns, rows):
    head = "".join(f"<th>{html.escape(c)}</th>" for c in columns)
    body = "".join("<tr>" + "".join(f"<td>{cell(r.get(c, ''))}</td>" for c in columns) + "</tr>" for r in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


COLOURS = {"recovered exactly": "#2a7", "recovered with declared loss": "#58c", "refused cleanly": "#999"}


def picture(results, modes):
    """A square for each fault point and mode; findings are red and carry a cross, for those who do not see red."""
    size, row, out = 14, 60, []
    last = max((r["point"] for r in results), default=0)
    bands = (last + row - 1) // row
    for r in results:
        band, x = divmod(r["point"] - 1, row)
        y = band * (len(modes) + 1) + modes.index(r["mode"])
        good = r["verdict"] in COLOURS
        title = f"point {r['point']}: {r['call']} {r['site']} ({r['phase']}, {r['bytes']} bytes), {r['mode']}: {r['verdict']}"
        out.append(f'<g><title>{html.escape(title)}</title><rect x="{x * size}" y="{y * size}" width="12" height="12" '
                   f'fill="{COLOURS.get(r["verdict"], "#c22")}"/>'
                   + ("" if good else f'<path d="M{x * size} {y * size}l12 12m-12 0l12 -12" stroke="#fff"/>') + "</g>")
    return (f'<svg viewBox="0 0 {row * size} {bands * (len(modes) + 1) * size}" style="max-width:60em" role="img" '
            f'aria-label="verdict of each fault point">{"".join(out)}</svg>')


def swept(path):
    """The sweep's own part of the page."""
    if not os.path.exists(path):
        return f"<p class=note>{html.escape(path)} is missing: no sweep was run</p>"
    try:
        with open(path, encoding="utf-8") as f:
            s = json.load(f)
    except ValueError:
        return f"<p class=note>{html.escape(path)} is not whole: the sweep was cut short</p>"
    proof = "the run after the last point fired nothing" if s["proof"] else "not proved complete"
    text = (f"<p>{s['fault_points']} fault points at {s['sites']} sites, {s['runs']} runs, {s['pruned']} of them ended "
            f"in a state that was judged before; {len(s['findings'])} findings; {s['seconds']:.1f} s; {proof}.</p>")
    text += table(["verdict", "runs"], [{"verdict": v, "runs": n} for v, n in s["verdicts"].items()])
    text += "<p>One column a fault point, one row a mode (" + ", ".join(map(html.escape, s["modes"])) + "):</p>"
    text += picture(s["results"], s["modes"])
    text += "".join(f"<h3>Finding: {html.escape(x['verdict'])}</h3><p>{html.escape(x['site'])}: {html.escape(x['why'])}"
                    f"</p><pre>{html.escape(x['repeat'])}</pre>" for x in s["findings"])
    return text


def main(budget, sweep, coverage):
    batches, notes = lines(budget)
    summary = next((b["summary"] for b in batches if "summary" in b), {})
    batches = [b for b in batches if "batch" in b]
    print("<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
          "<title>oomproof report</title><style>"
          "body{font:15px system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color-scheme:light dark}"
          "table{border-collapse:collapse;margin:1em 0;display:block;overflow-x:auto}"
          "td,th{border:1px solid #8886;padding:.25em .6em;text-align:right}"
          "th{background:#8882}pre{white-space:pre-wrap}.note{color:#b40}</style><h1>oomproof report</h1>")
    for n in notes:
        print(f"<p class=note>{html.escape(n)}</p>")
    print("<h2>Training on a budget</h2>")
    if summary:
        print(f"<p>{summary['trained']} of {summary['points']} points trained once, {summary['dropped']} dropped; "
              f"{summary['retries']} retries, {summary['splits_scene']} splits by scene, {summary['splits_space']} in "
              f"space; recovery took {summary['seconds_recover']:.2f} of {summary['seconds']:.2f} s.</p>")
    print(table(["batch", "points", "trained", "dropped", "attempts", "retries", "splits_scene", "splits_space",
                 "wasted_forward", "wasted_backward", "bytes_peak", "loss", "seconds", "seconds_recover"], batches))
    print("<h2>Every allocation of a step, failed</h2>")
    print(swept(sweep))
    print("<h2>Coverage of the recovery path</h2>")
    if os.path.exists(coverage):
        print("<p><a href=coverage/index.html>lines and branches</a></p>")
    else:
        print("<p>not measured yet: make coverage</p>")
    print("<h2>The memory bisector</h2>")
    if os.path.exists(os.path.join(os.path.dirname(os.path.dirname(coverage)), "bisector.html")):
        print("<p><a href=bisector.html>step through the recovery of a batch, attempt by attempt</a></p>")
    else:
        print("<p>not built yet: make bisector</p>")
    print("</html>")


if len(sys.argv) != 4:
    sys.exit("usage: report.py BUDGET.jsonl SWEEP.json COVERAGE.html")
main(*sys.argv[1:])
