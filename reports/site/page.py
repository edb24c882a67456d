"""page.py - HTML that needs nothing else: no network, no script to be read, everything escaped."""
import html
import json
import os

# verdict: letter, class, what it means; the letter tells those who do not see the colour
VERDICTS = {"recovered exactly": ("E", "good", "the step ended as the run that never failed"),
            "recovered with declared loss": ("D", "loss", "points that could not be made to fit were left out, and named; "
                                             "the rest is right"),
            "refused cleanly": ("R", "refused", "the failure reached the user with its cause, and nothing had changed")}


# shown where a picture is wider than a phone
SIDEWAYS = "<p class='hint sideways'>Wider than this screen: swipe the picture sideways.</p>"


def file_beside(name):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), encoding="utf-8") as f:
        return f.read()


def esc(x):
    text = f"{x:.4g}" if isinstance(x, float) else str(x)
    # what is no character of HTML, and what turns the direction of the text around it, is shown as what it is
    odd = (c for c in set(text) if (ord(c) < 32 and c not in "\n\t") or 0x7f <= ord(c) < 0xa0 or 0x202a <= ord(c) <= 0x202e
           or 0x2066 <= ord(c) <= 0x2069 or 0xd800 <= ord(c) <= 0xdfff)
    return html.escape(text.translate({ord(c): f"\\u{ord(c):04x}" for c in odd}), quote=True)


def data(name, value):
    """JSON for a script, which no text in it can end: in a string of JSON every character may be written by its number."""
    text = json.dumps(value, separators=(",", ":"))  # ASCII only, so neither U+2028 nor U+2029
    for c in "<>&":
        text = text.replace(c, f"\\u{ord(c):04x}")
    return f'<script type="application/json" id="{esc(name)}">{text}</script>'


def script(name):
    return f"<script>\n{file_beside(name)}</script>"


def number(x):
    """A number from a file, for arithmetic: what is none counts as nothing."""
    return x if isinstance(x, (int, float)) and not isinstance(x, bool) and x == x and abs(x) < 1e18 else 0


def count(n, what, plural=None):
    return f"{number(n):,} {what if n == 1 else plural or what + 's'}"


def mib(n):
    return f"{number(n) / 1048576:,.1f} MiB"


def table(columns, rows):
    """rows of cells; a cell is text, or (text, class), or ("html", markup, class)."""
    out = ['<div class=scroll tabindex=0 role=region aria-label="table"><table><thead><tr>',
           *(f"<th scope=col>{esc(c)}</th>" for c in columns), "</tr></thead><tbody>"]
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
    return "".join(out) + "</tbody></table></div>"


def mark(verdict):
    letter, kind, _ = VERDICTS.get(verdict, ("X", "bad", ""))
    return letter, kind


def document(title, body):
    return ("<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport "
            "content='width=device-width,initial-scale=1'><meta http-equiv=Content-Security-Policy content=\"default-src 'none'; "
            "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\"><link rel=icon href='data:,'>"
            f"<title>{esc(title)}</title><style>\n{file_beside('page.css')}</style></head><body>{body}</body></html>\n")
