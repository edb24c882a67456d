"""report.py BUDGET.jsonl LOOP.jsonl COVERAGE.html - prints the report as one self-contained HTML page.

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


def main(budget, loop, coverage):
    batches, notes = lines(budget)
    runs, more = lines(loop)
    notes += more
    summary = next((b["summary"] for b in batches if "summary" in b), {})
    batches = [b for b in batches if "batch" in b]
    verdicts = {}
    for r in runs:
        key = (r.get("mode", "?"), r.get("verdict", "?"))
        verdicts[key] = verdicts.get(key, 0) + 1
    print("<!doctype html><html lang=en><meta charset=utf-8><title>oomproof report</title><style>"
          "body{font:15px system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color-scheme:light dark}"
          "table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #8886;padding:.25em .6em;text-align:right}"
          "th{background:#8882}.note{color:#b40}</style><h1>oomproof report</h1>")
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
    print(table(["mode", "verdict", "runs"],
                [{"mode": m, "verdict": v, "runs": n} for (m, v), n in sorted(verdicts.items())]))
    print("<h2>Coverage of the recovery path</h2>")
    if os.path.exists(coverage):
        print("<p><a href=coverage/index.html>lines and branches</a></p>")
    else:
        print("<p>not measured yet: make coverage</p>")
    print("</html>")


if len(sys.argv) != 4:
    sys.exit("usage: report.py BUDGET.jsonl LOOP.jsonl COVERAGE.html")
main(*sys.argv[1:])
