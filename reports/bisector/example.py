"""example.py - the bisector's worked example in words and pictures, for readers without JavaScript: what the native
driver says about one batch, drawn when the page is built. The numbers are never written by hand."""
import html
import json
import subprocess

NODE = ("parent scene own points voxels spatial axis born ended fate x0 y0 z0 x1 y1 z1").split()
STEP = ("node gather_rows need_kib room_kib forward backward cause remedy queue_at queue_n retries wasted_forward trained "
        "dropped survives work wasted callbacks").split()
# budget KiB, scenes, heavy, seed, kept %, alternate, halo, original, everything, bug, column, chunk
BATCH = [8192, 4, 1, 7, 10, 0, 14, 0, 0, 0, 0, 1]
COMMITTED, BY_SCENE, IN_SPACE = 1, 2, 3
LOOK = {COMMITTED: ("committed", "✓"), BY_SCENE: ("scene", "S"), IN_SPACE: ("space", "")}
DROPPED = ("dropped", "✕")


def records(flat, names):
    return [dict(zip(names, flat[i:i + len(names)])) for i in range(0, len(flat), len(names))]


def run(driver, batch):
    out = subprocess.run([driver, *map(str, batch)], capture_output=True, text=True, check=True).stdout
    raw = json.loads(out)
    nodes, steps = records(raw["nodes"], NODE), records(raw["steps"], STEP)
    for i, n in enumerate(nodes):
        n["id"], n["children"] = i, [k for k, m in enumerate(nodes) if m["parent"] == i]
    return nodes, steps, raw["totals"], raw["queue"]


def mib(kib):
    return f"{kib / 1024:.1f} MiB"


def name(n):
    return "the batch" if n["scene"] < 0 else ("a piece of " if n["spatial"] else "") + f"scene {n['scene'] + 1}"


def look(nodes, n):
    css, mark = LOOK.get(n["fate"], DROPPED)
    if n["fate"] == IN_SPACE and n["children"]:
        mark = "xyz"[nodes[n["children"][0]]["axis"]]
    return css, mark


def tree(nodes):
    place, leaves, step, row, deepest = {}, 0, 62, 86, 0

    def visit(i, depth):
        nonlocal leaves, deepest
        deepest = max(deepest, depth)
        kids = nodes[i]["children"]
        for k in kids:
            visit(k, depth + 1)
        if kids:
            x = (place[kids[0]][0] + place[kids[-1]][0]) / 2
        else:
            x, leaves = step * (leaves + 0.5), leaves + 1
        place[i] = (x, 24 + row * depth)

    visit(0, 0)
    width, height = step * leaves, 24 + row * deepest + 44
    out = [f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="tree of attempts: the batch, '
           f'its scenes, and the pieces of the scene that does not fit">']
    for i, n in enumerate(nodes):
        if n["parent"] >= 0:
            (ax, ay), (bx, by) = place[n["parent"]], place[i]
            ay += 38 if n["parent"] else 46  # below its label
            out.append(f'<path class="edge" d="M{ax} {ay}C{ax} {ay + 12} {bx} {by - 30} {bx} {by}"/>')
    for i, n in enumerate(nodes):
        (x, y), (css, mark) = place[i], look(nodes, n)
        r = 9 + 10 * (n["own"] / nodes[0]["own"]) ** 0.5
        label = "batch" if n["scene"] < 0 else "piece" if n["spatial"] else f"scene {n['scene'] + 1}"
        out.append(f'<g class="node"><circle cx="{x}" cy="{y}" r="{r:.1f}" style="fill:var(--{css})"/>'
                   f'<text x="{x}" y="{y + 4}" style="fill:var(--in-{css})">{mark}</text>'
                   f'<text x="{x}" y="{y + r + 13:.1f}">{label}</text>'
                   f'<text x="{x}" y="{y + r + 26:.1f}">{n["own"]:,}</text></g>')
    return "".join(out) + "</svg>"


def told(nodes, s):
    n = nodes[s["node"]]
    halo = f" and {n['points'] - n['own']:,} of halo" if n["points"] > n["own"] else ""
    text = f"{name(n).capitalize()}, {n['own']:,} points{halo}, needs {mib(s['need_kib'])}; {mib(s['room_kib'])} are free. "
    kids = n["children"]
    axis = "xyz"[nodes[kids[0]]["axis"]] if kids else ""
    passed = "backward" if s["forward"] else "forward"
    failed = f"It fails in the {passed} pass. "
    return html.escape(text + [
        "It fits, and is committed.",
        failed + "Unused blocks go back to the driver; the same again.",
        failed + "Once more, with a smaller gather workspace.",
        failed + f"Split by scene: {len(kids)} scenes go to the back of the queue.",
        failed + f"Split in space, along {axis}: {len(kids)} pieces go to the back of the queue.",
        failed + "It cannot be made smaller: dropped, and named in the ledger.",
        "The batch ends."][s["remedy"]])


def html_of(driver):
    nodes, steps, totals, _ = run(driver, BATCH)
    _, _, original, _ = run(driver, BATCH[:7] + [1] + BATCH[8:])
    points, trained, dropped = totals[1], totals[3], totals[4]
    plan = (totals[12] + totals[13]) / totals[16] - 1
    wasted = sum(1 for s in steps if s["cause"])
    return f"""<section id="example" aria-labelledby="h_example"><h2 id="h_example">A worked example</h2>
<details open><summary>One batch of {BATCH[1]} scenes on {mib(BATCH[0])}, attempt by attempt</summary>
<p>{points:,} points wait as one fragment. What does not fit is made smaller by the mildest means that is left; what fits is
committed, once. The queue is first in, first out: pieces go to its back.</p>
<figure><div class="scroll">{tree(nodes)}</div>
<figcaption>✓ committed; S split by scene; x, y or z split in space along that axis; ✕ dropped. Below each circle, the points
it owns.</figcaption></figure>
<ol>{"".join(f"<li>{told(nodes, s)}</li>" for s in steps)}</ol>
<p>{trained:,} points were trained exactly once and {dropped:,} dropped. {wasted} of {len(steps)} attempts failed; with them the
batch costs {plan:.0%} more than for a planner that knows all bytes beforehand. The pieces add up to the gradient of the whole
batch, since the loss of each is divided by the weight of the whole, and the halo shows every point the neighbours that it
would have had.</p>
<p>The loop of the original write-up needs {original[6]} attempts for the same batch. But it zeroes the gradient at the start of
each, so only the last piece is left when the optimiser steps: {original[5] / points:.0%} of the batch.</p></details></section>"""
