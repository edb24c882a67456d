"""timeline.py - device memory over time, from a trace: the whole run as a line, each recovered batch by what holds the memory,
with its phases, failures and releases. Pictures for everybody, which a script makes ones to zoom and to move."""
from page import SIDEWAYS, count, esc, mib, number, script, table

WIDE, HIGH = 902, 204
COLUMNS = 7200  # 8 for each of the picture's own: what is there to be seen when it is zoomed
BATCH_COLUMNS, TAGS, MOST_BATCHES = 1800, 5, 12
BASE = "held before the batch"
SHORT = {"voxelise": "vox", "forward": "fwd", "backward": "bwd", "augment": "aug"}


def calls(events):
    """The events that are calls, with live bytes after each and by whom they are held."""
    held, live, out = {}, 0, []
    for e in events:
        if "call" not in e:
            out.append((number(e.get("seconds")), live, None, 0, e))
            continue
        pointer, size, tag = number(e.get("pointer")), -(-number(e.get("bytes")) // 512) * 512, None
        change = 0
        if e.get("result"):
            pass
        elif pointer and "Free" not in str(e["call"]):
            tag, change = str(e.get("site", "")).split("/")[0].split(":")[0], size
            held[pointer] = (size, tag)
        elif pointer:
            size, tag = held.pop(pointer, (0, ""))
            change = -size
        live += change
        out.append((number(e.get("seconds")), live, tag, change, e))
    return out


def place(second, begin, end):
    return 1 + 900 * (second - begin) / max(end - begin, 1e-9)


def failed(rows):
    return [(t, e) for t, _, _, _, e in rows if "call" in e and e.get("result")]


def at(x, y):
    """What keeps its shape when the picture is zoomed: drawn about its own 0, 0."""
    return f'data-x="{x:.2f}" data-y="{y}" transform="translate({x:.2f} {y})"'


def marks(fails, begin, end):
    return "".join(
        f'<g class=bad {at(place(t, begin, end), 4)}><title>'
        f'{esc(e.get("call"))} of {number(e.get("bytes")):,} bytes failed with {esc(e.get("result"))} in {esc(e.get("phase"))} at '
        f'{esc(e.get("site"))}</title><path d="M-5 0l5 10l5 -10z" fill="currentColor"/></g>' for t, e in fails[:400])


def ticks(top):
    """Round numbers of MiB below the peak, at most six, and none that its own label would hide."""
    step = next(m * 10.0 ** k for k in range(-6, 12) for m in (1, 2, 5) if top / 1048576 <= 6 * m * 10.0 ** k)
    return [k * step * 1048576 for k in range(1, 7) if k * step * 1048576 < 0.8 * top]


def frame(y, top, *dotted):
    """Lines at the bottom and at the ticks; dotted ones at the peak, and where else is said."""
    lines = [(0, ""), *((n, " opacity=.5") for n in ticks(top)), *((n, " stroke-dasharray='2 4'") for n in (top, *dotted))]
    return "".join(f"<path d='M1 {y(n):.1f}H901' stroke='var(--line)'{how} />" for n, how in lines)


def axis(y, top, high):
    """Beside the picture, not in it: it stays when that is zoomed or moved."""
    labels = [(0, "0"), *((n, f"{n / 1048576:,.6g} MiB") for n in ticks(top)), (top, f"<b>peak<br>{mib(top)}</b>")]
    return "".join(f"<span style='top:{100 * y(n) / high:.2f}%'>{text}</span>" for n, text in labels)


def figure(kind, begin, end, high, beside, inside, label):
    return (f"<div class='timeline {kind}' data-begin=\"{begin:.6f}\" data-end=\"{end:.6f}\"><div class=scroll><div class=plot><div class=axis>{beside}"
            f"</div><svg viewBox='0 0 {WIDE} {high}' style='aspect-ratio:{WIDE}/{high}' role=img aria-label=\"{esc(label)}\">{inside}</svg></div></div>"
            f"{SIDEWAYS}</div>")


def picture(trace, rows):
    end, top = max(rows[-1][0], 1e-9), max(max(r[1] for r in rows), 1)
    columns, fails = {}, failed(rows)
    for t, n, *_ in rows:  # the most in each column
        x = min(int(COLUMNS * t / end), COLUMNS - 1)
        columns[x] = max(columns.get(x, 0), n)
    path = " ".join(f"{place(x, 0, COLUMNS):g},{HIGH - 4 - 180 * n / top:.1f}" for x, n in sorted(columns.items()))
    y = lambda n: HIGH - 4 - 180 * n / top  # noqa: E731
    return (f"<h3>Device memory over time</h3><p class=m>{esc(trace['path'])}</p><p>The dotted line is the peak, {mib(top)}: the most that was "
            f"live at once, not what the card had. {count(len(fails), 'failure')} (<b class=bad>&#9660;</b>), {end:.2f} s.</p>" + figure(
                "whole", 0, end, HIGH, axis(y, top, HIGH), f"{frame(y, top)}<polyline points='{path}' fill=none stroke=currentColor stroke-width=1.5 />"
                f"{marks(fails, 0, end)}", "live device bytes over time"))


def batches(rows):
    """[(number, begin, end, the end's event)]: rows from the first of a batch to the one that ends its step."""
    first, out = 0, []
    for i, (_, _, _, _, e) in enumerate(rows):
        if "attempts" in e and "call" not in e:
            out.append((len(out), first, i, e))
            first = i + 1
    return out, first


def spans(rows, begin, end):
    """Phases as strips: neighbours of one phase are one; what is too narrow to be seen is its neighbour's."""
    out = []
    for t, _, _, _, e in rows:
        phase = str(e.get("phase") or "") if "call" in e else ""
        if phase and (not out or out[-1][0] != phase):
            out.append([phase, t, t])
        elif out:
            out[-1][2] = t
    for a, b in zip(out, out[1:]):
        a[2] = b[1]
    return [s for s in out if s[2] - s[1] > (end - begin) / 4000]


def stacks(rows, base, begin, end):
    """Per tag the bytes it holds in each column, the greatest tags by themselves and the rest together."""
    now, most = {}, {}
    for _, _, tag, change, _ in rows:
        if tag is not None:
            now[tag] = now.get(tag, 0) + change
            most[tag] = max(most.get(tag, 0), now[tag])
    named = [t for t, n in sorted(most.items(), key=lambda x: (-x[1], x[0])) if t and n > 0][:TAGS]
    layers = [BASE, *named] + (["other"] if len([n for n in most.values() if n > 0]) > len(named) else [])
    now, columns, last = dict.fromkeys(layers, 0), {}, -1
    now[BASE] = base
    for t, _, tag, change, _ in rows:
        x = min(int(BATCH_COLUMNS * (t - begin) / max(end - begin, 1e-9)), BATCH_COLUMNS - 1)
        if tag is not None:
            now[tag if tag in now else layers[-1]] += change
        total = sum(now.values())
        if x != last or total >= columns[x][0]:  # the fullest moment of each column
            columns[x] = (total, [max(0, now[k]) for k in layers])
        last = x
    return layers, columns


def releases(rows, base):
    """After each failure, when the device was first at what it held before the batch again."""
    out, waiting = [], False
    for t, live, _, _, e in rows:
        if "call" in e and e.get("result"):
            waiting = True
        elif waiting and live <= base:
            out.append(t)
            waiting = False
    return out


def attempts(rows):
    """When each attempt of a batch began: at its beginning, and when what came before was staged or committed."""
    out, ended = [rows[0][0]], False
    for t, _, _, _, e in rows:
        phase = e.get("phase") if "call" in e else None
        if phase in ("stage", "split", "commit"):
            ended = True
        elif phase and ended:
            if phase not in ("step", "none"):
                out.append(t)
            ended = False
    return out


def batch(rows, base, index, ended):
    begin, end, top, high = rows[0][0], rows[-1][0], max(max(r[1] for r in rows), 1), 262
    layers, columns = stacks(rows, base, begin, end)
    y = lambda n: 200 - 178 * n / top  # noqa: E731
    out, xs = [frame(y, top, base)], sorted(columns)
    below = {x: 0 for x in xs}
    for k in range(len(layers)):
        upper = {x: below[x] + columns[x][1][k] for x in xs}
        edge = [(x, n) for i, (x, n) in enumerate(sorted(upper.items())) if
                not (0 < i < len(xs) - 1 and upper[xs[i - 1]] == n == upper[xs[i + 1]])]
        low = [(x, n) for i, (x, n) in enumerate(sorted(below.items())) if
               not (0 < i < len(xs) - 1 and below[xs[i - 1]] == n == below[xs[i + 1]])]
        points = "".join(f"L{place(x, 0, BATCH_COLUMNS):.1f} {y(n):.1f}" for x, n in edge) + "".join(
            f"L{place(x, 0, BATCH_COLUMNS):.1f} {y(n):.1f}" for x, n in reversed(low))
        out.append(f"<path d='M{points[1:]}Z' fill='var(--t{k % 7})' stroke='var(--bg)' stroke-width=.6><title>{esc(layers[k])}</title></path>")
        below = upper
    fails, free = failed(rows), releases(rows, base)
    out.append(marks(fails, begin, end))
    for t in free:
        x = place(t, begin, end)
        out.append(f'<g class=good {at(x, 204)}><title>all of the batch released: back at {mib(base)}'
                   '</title><path d="M-5 10l5 -10l5 10z" fill="currentColor"/></g>')
    for phase, a, b in spans(rows, begin, end):
        x, w = place(a, begin, end), max(place(b, begin, end) - place(a, begin, end), 0.4)
        staged = phase in ("stage", "split")
        out.append(f"<rect x={x:.2f} y=220 width={w:.2f} height=18 fill='var(--{'dim' if staged else 'panel'})' stroke='var(--line)' "
                   f"stroke-width=.4><title>{esc(phase)}, {b - a:.3f} s</title></rect>")
        if w > 1:
            out.append(f'<g class="{"" if w > 26 else "close"}" {at(x + w / 2, 229)} data-room="{w:.1f}"><text y=4 text-anchor=middle '
                       f"style='font-size:11px{';fill:var(--bg)' if staged else ''}'>{esc(SHORT.get(phase, phase)[:10])}</text></g>")
    labels = []  # neighbours that are too close are one label
    for k, t in enumerate(attempts(rows), 1):
        x = place(t, begin, end)
        if labels and x - labels[-1][0] < 9 * len(str(k)) + 16:
            labels[-1][2] = k
        else:
            labels.append([x, k, k])
    for (x, first, last), following in zip(labels, [*labels[1:], (WIDE,)]):
        out.append(f'<g {at(x, 252)} data-room="{following[0] - x:.1f}"><text x=3 y=4 style="font-size:11px">{first}'
                   f'{f"&ndash;{last}" if last > first else ""}</text></g>')
    key = "".join(f"<li><i class=key style='background:var(--t{k % 7})'></i> {esc(name)}</li>" for k, name in enumerate(layers))
    how = ("the run was stopped within it" if ended.get("stopped") else f"{number(ended.get('points')):,} points in "
           f"{count(ended.get('attempts'), 'attempt')}, {number(ended.get('trained')):,} trained")
    words = (f"{how}; {mib(top)} at most, {mib(base)} before it; {count(len(fails), 'failed call')}, {end - begin:.2f} s")
    return (f"<details{' open' if not index else ''}><summary>Batch {index_of(ended)}: {words}</summary><ul class=legend>{key}"
            "<li><b class=bad>&#9660;</b> a call failed</li><li><b class=good>&#9650;</b> all of the batch given back</li>"
            f"<li>dotted: the peak, {mib(top)}, and what was held before, {mib(base)}</li><li>numbers: where each attempt begins</li>"
            "<li><i class=key style='background:var(--dim)'></i> strip: staged to the host, or split</li></ul>" + figure(
                "batch", begin, end, high, axis(y, top, high), "".join(out), "live device bytes of one batch, by what holds them") + "</details>")


def index_of(ended):
    return ended.get("number", "")


def recovered(rows):
    found, open_from = batches(rows)
    if rows[open_from:] and failed(rows[open_from:]):  # the run was stopped within it
        found.append((len(found), open_from, len(rows) - 1, {"stopped": True}))
    of = [(n, a, b, dict(e, number=n)) for n, a, b, e in found if failed(rows[a:b + 1]) and b - a > 2]
    if not of:
        return ""
    out = ["<h3>The memory of each recovered batch</h3><p class=hint>What holds the memory, stacked by the first word of its tag. Below it the "
           "phases of the step, and below them the number of the attempt. After each failure everything of the batch is copied to the host and "
           "given back, down to what was held before it; then a milder way is tried.</p>"]
    out += [batch(rows[a:b + 1], rows[a - 1][1] if a else 0, k, e) for k, (_, a, b, e) in enumerate(of[:MOST_BATCHES])]
    if len(of) > MOST_BATCHES:
        out.append(f"<p class=note>{len(of) - MOST_BATCHES} more recovered batches are in the trace.</p>")
    return "".join(out)


def spent(rows):
    """phase -> [seconds of attempts that counted, of attempts that failed]; the way back after a failure is the failure's."""
    out, mine, wrong, ended, before = {}, {}, False, False, None

    def close():
        for phase, seconds in mine.items():
            out.setdefault(phase, [0.0, 0.0])[wrong] += seconds
        mine.clear()

    for t, _, _, _, e in rows:
        phase = str(e.get("phase") or "none") if "call" in e else None
        if before is not None:
            mine[before[1]] = mine.get(before[1], 0) + max(0.0, t - before[0])
        if ended and phase not in ("stage", "split", "commit", None):
            close()
            wrong = ended = False
        if phase is None:
            close()
            wrong, ended, before = False, False, (t, "none")
            continue
        wrong |= bool(e.get("result"))
        ended |= phase in ("stage", "split", "commit")
        before = (t, phase)
    close()
    return out


def times(rows):
    of = {k: v for k, v in spent(rows).items() if sum(v) > 0}
    total = sum(map(sum, of.values()))
    if not total:
        return ""
    most, cells = max(map(sum, of.values())), []
    for phase, (good, bad) in sorted(of.items(), key=lambda x: -sum(x[1])):
        bars = (f"<span class=bar style='width:{8 * good / most:.2f}em'></span>" if good else "") + (
            f"<span class='bar fail' style='width:{8 * bad / most:.2f}em'></span>" if bad else "")
        cells.append([phase, f"{good:.4f}", f"{bad:.4f}", f"{100 * (good + bad) / total:.1f}\u00a0%", ("html", bars, "bars")])
    lost = sum(bad for _, bad in of.values())
    return (f"<h3>Where the time went</h3><p class=hint>Seconds of each phase, by the program's own names; striped: of attempts that failed and of "
            f"the way back from them, {100 * lost / total:.1f} % of {total:.2f} s together.</p>" +
            table(["phase", "attempts that counted", "attempts that failed", "share", ""], cells))


def section(traces):
    out = []
    for trace in traces:
        rows = calls(trace["events"])
        if rows:
            out += [picture(trace, rows), times(rows), recovered(rows)]
    return "".join(out)


def code():
    return script("timeline.js")
