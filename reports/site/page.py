"""page.py - HTML that needs nothing else: no network, no script to be read, everything escaped."""
import html

# verdict: letter, class; the letter tells those who do not see the colour
VERDICTS = {"recovered exactly": ("E", "good"), "recovered with declared loss": ("D", "loss"),
            "refused cleanly": ("R", "refused")}
STYLE = """
:root{color-scheme:light dark;--line:#8886;--good:#0072b2;--loss:#8a6d00;--bad:#c8321f;--refused:#777}
@media (prefers-color-scheme:dark){:root{--good:#56b4e9;--loss:#f0c84b;--bad:#ff7a66;--refused:#aaa}}
body{font:16px/1.45 system-ui,sans-serif;max-width:72em;margin:1.5em auto;padding:0 1em;overflow-wrap:anywhere}
h1,h2,h3{line-height:1.2}table{border-collapse:collapse;margin:1em 0;display:block;overflow-x:auto;max-width:100%}
td,th{border:1px solid var(--line);padding:.2em .55em;text-align:right;vertical-align:top;overflow-wrap:normal}
td:first-child,th:first-child,td.l{text-align:left}th{background:#8882}pre{white-space:pre-wrap;background:#8882;padding:.6em}
.good{color:var(--good)}.loss{color:var(--loss)}.bad{color:var(--bad);font-weight:bold}.refused{color:var(--refused)}
.note{border-left:.3em solid var(--loss);padding-left:.7em}.m{font-family:ui-monospace,monospace;text-align:left}
svg{max-width:100%;height:auto;color:inherit}ul.tree{list-style:none;padding-left:1.2em;border-left:2px solid var(--line)}
.source table{font-size:.85em}.source td{border-width:0 1px}.source td.m{white-space:pre}.faults{text-align:left;margin:.3em 0}
.bar{display:inline-block;height:.6em;background:var(--good);vertical-align:middle}
"""


def esc(x):
    return html.escape(f"{x:.4g}" if isinstance(x, float) else str(x), quote=True)


def table(columns, rows):
    """rows of cells; a cell is text, or (text, class), or ("html", markup, class)."""
    out = ["<table><thead><tr>", *(f"<th>{esc(c)}</th>" for c in columns), "</tr></thead><tbody>"]
    for row in rows:
        out.append("<tr>")
        for c in row:
            if isinstance(c, tuple) and c[0] == "html":
                out.append(f'<td class="{esc(c[2])}">{c[1]}</td>')
            elif isinstance(c, tuple):
                out.append(f'<td class="{esc(c[1])}">{esc(c[0])}</td>')
            else:
                out.append(f"<td>{esc(c)}</td>")
        out.append("</tr>")
    return "".join(out) + "</tbody></table>"


def mark(verdict):
    letter, kind = VERDICTS.get(verdict, ("X", "bad"))
    return letter, kind


def document(title, body):
    return ("<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport "
            f"content='width=device-width,initial-scale=1'><title>{esc(title)}</title><style>{STYLE}</style></head>"
            f"<body>{body}</body></html>\n")
