"""sweeps.py - a sweep as a picture: one row a call site, one letter a fault point and mode."""
from page import VERDICTS, esc, mark, table

MOST = 60  # letters of one site; more are counted


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
        title = esc(f"point {of[0].get('point')}: {of[0].get('verdict')}")
        link = f'<a class={kind} href="#point{esc(of[0].get("point"))}">' if kind == "bad" else f"<span class={kind} title=\"{title}\">"
        end = "</a>" if kind == "bad" else "</span>"
        if len(results) > MOST or len(of) > 12:
            out.append(f"{link}{letter}&times;{len(of)}{end} ")
        else:
            out.append(link + letter * len(of) + end)
    return "".join(out)


def by_site(sweep):
    sites = {}
    for r in sweep["results"]:
        if "budget" not in r and "second_site" not in r:
            sites.setdefault((r.get("call"), r.get("site")), []).append(r)
    rows = []
    for (call, site), of in sorted(sites.items(), key=lambda s: min(r.get("point", 0) for r in s[1])):
        sizes = [r.get("bytes", 0) for r in of]
        row = [(f"{call} {site}", "m"), ", ".join(sorted({str(r.get("phase")) for r in of})),
               len({r.get("point") for r in of}), f"{max(sizes):,}"]
        for mode in sweep["modes"]:
            row.append(("html", letters([r for r in of if r.get("mode") == mode]), "m"))
        rows.append(row)
    return table(["call site", "phase", "points", "largest bytes", *sweep["modes"]], rows) if rows else ""


def budgets(sweep):
    """Each budget a stroke from left (nothing more fits) to right (all fits)."""
    of = sorted((r for r in sweep["results"] if "budget" in r), key=lambda r: r["budget"])
    if len(of) < 2:
        return ""
    low, high = of[0]["budget"], of[-1]["budget"]
    out = []
    for r in of:
        letter, kind = mark(r.get("verdict"))
        x = 20 + 860 * (r["budget"] - low) / max(1, high - low)
        out.append(f'<g class={kind}><title>{esc(r["budget"])} bytes: {esc(r.get("verdict"))}, {esc(r.get("retries"))} retries, '
                   f'{esc(r.get("splits"))} splits, {esc(r.get("dropped"))} points dropped</title><rect x="{x:.1f}" y="10" '
                   f'width="8" height="26" fill="currentColor"/><text x="{x:.1f}" y="52" font-size="13" '
                   f'fill="currentColor">{letter}</text></g>')
    return (f"<h3>Budgets of device memory</h3><svg viewBox='0 0 900 60' role=img aria-label='verdict by budget'>{''.join(out)}"
            f"</svg><p>{low:,} bytes, at which nothing more fits, to {high:,} bytes, at which all fits.</p>")


def section(sweep):
    findings = sweep["findings"]
    counts = {}
    for r in sweep["results"]:
        counts[r.get("verdict")] = counts.get(r.get("verdict"), 0) + 1
    proof = "the run after the last point fired nothing" if sweep["proof"] else "NOT proved complete"
    parts = f", merged from {len(sweep['parts'])} parts" if len(sweep["parts"]) > 1 else ""
    out = [f"<p class=m>{esc(sweep.get('command', ''))}</p>"] if sweep.get("command") else []
    out += [f"<p>{esc(sweep.get('fault_points'))} fault points at {esc(sweep.get('sites'))} call sites, "
           f"{len(sweep['results'])} runs{parts}, {len(findings)} findings, {sweep['seconds']:.1f} s; {proof}.</p>",
           table(["verdict", "letter", "runs"], [[(v, mark(v)[1]), mark(v)[0], n] for v, n in sorted(counts.items(), key=str)])]
    for f in findings[:500]:
        out.append(f'<details open id="point{esc(f.get("point"))}"><summary class=bad>{esc(f.get("verdict"))}: point '
                   f'{esc(f.get("point"))}, {esc(f.get("call"))} at {esc(f.get("site"))} ({esc(f.get("phase"))}, '
                   f'{esc(f.get("bytes"))} bytes), {esc(f.get("fault"))} {esc(f.get("mode"))}</summary><p>{esc(f.get("why"))}</p>'
                   f'<p>Repeat it by</p><pre>{esc(f.get("repeat"))}</pre></details>')
    if len(findings) > 500:
        out.append(f"<p class=note>{len(findings) - 500} more findings are in the JSON.</p>")
    out.append("<p>" + ", ".join(f"<span class={k}>{letter} {esc(v)}</span>" for v, (letter, k) in VERDICTS.items()) +
               ", <span class=bad>X a finding</span>.</p>")
    out.append(by_site(sweep))
    out.append(budgets(sweep))
    return "".join(out)
