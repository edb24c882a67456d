"""training.py - a run of the trainer: what recovery did and cost, and the attempts of each batch as a tree."""
from page import count, esc, mib, number, table


def rolled_back(batch):
    """Forward passes that were made in vain: one an attempt that failed after its forward pass began."""
    tried = [a for a in batch.get("attempt_list", []) if isinstance(a, dict)] if isinstance(batch.get("attempt_list"), list) else []
    return sum(a.get("outcome") != "ok" for a in tried) if tried else number(batch.get("retries"))


def outcome(a, most):
    good = a.get("outcome") == "ok"
    how = " with smaller chunks" if a.get("gather_rows") else ""
    where = f" in {esc(a.get('phase'))} at <code>{esc(a.get('site'))}</code>" if a.get("site") else ""
    width = max(0.0, min(8.0, 8 * number(a.get("bytes")) / most))
    return (f"<li><span class='bar{'' if good else ' fail'}' style='width:{width:.2f}em'></span> {mib(a.get('bytes'))}: "
            f"<span class={'good' if good else 'bad'}>{'&#10003; trained' if good else '&#10007; ' + esc(a.get('outcome'))}</span>"
            f"{where}{how}</li>")


def tree(batch):
    listed = batch.get("attempt_list")
    attempts = [a for a in listed if isinstance(a, dict)] if isinstance(listed, list) else []
    if not attempts:
        return ""
    most = max(max(number(a.get("bytes")) for a in attempts), 1)
    planned, children, of = number(batch.get("planned")) > 0, {}, {}
    for a in attempts:
        of.setdefault(str(a.get("fragment")), []).append(a)
    for fragment, tries in of.items():
        children.setdefault(str(tries[0].get("parent")), []).append(fragment)
    drawn = set()

    def node(fragment, depth):
        drawn.add(fragment)
        tries = of[fragment]
        first = tries[0]
        scenes = number(first.get("scenes"))
        whole = f"{scenes} scenes" if scenes != 1 else "one scene"
        what = "part of a scene" if first.get("spatial") else f"the whole batch, {whole}" if depth == 0 and not planned else whole
        halo = number(first.get("points")) - number(first.get("own"))
        around = f" and {halo:,} of halo around them" if halo > 0 else ""
        inside = "".join(node(c, depth + 1) for c in children.get(fragment, []) if depth < 60 and c not in drawn)
        cut = " <small>&rarr; split</small>" if inside else ""
        return (f"<li><b>{what}</b>, {number(first.get('own')):,} points{around}{cut}<ol>{''.join(outcome(a, most) for a in tries)}</ol>"
                + (f"<ul>{inside}</ul>" if inside else "") + "</li>")
    roots = [f for f in of if str(of[f][0].get("parent")) not in of]
    left = batch.get("attempts_not_listed")
    ahead = (f"<p class=planned>Split ahead, before any attempt, into {count(len(roots), 'piece')}: the plan knew that the whole batch does not "
             "fit.</p>" if planned else "")
    return ahead + "<ul class=tree>" + "".join(node(r, 0) for r in roots) + "</ul>" + (
        f"<p class=note>{esc(left)} more attempts are not listed.</p>" if left else "")


def cost(log):
    """The price of recovery, from the batches themselves: a run that was stopped has no summary."""
    of = log["batches"]
    total = {k: sum(number(b.get(k)) for b in of) for k in
             ("points", "trained", "dropped", "attempts", "retries", "splits_scene", "splits_space", "planned", "wasted_forward",
              "wasted_backward", "seconds", "seconds_recover")}
    return total | {"rolled_back": sum(map(rolled_back, of)), "batches": len(of),
                    "recovered": sum(number(b.get("retries")) > 0 for b in of),
                    "ahead": sum(number(b.get("planned")) > 0 for b in of),
                    "only_ahead": sum(number(b.get("planned")) > 0 and not number(b.get("retries")) for b in of)}


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "&ndash;"


def cost_section(log):
    c = cost(log)
    useful = c["seconds"] - c["seconds_recover"]
    cards = [("batches recovered", f"{c['recovered']} of {c['batches']}",
              f"{c['only_ahead']} more were split ahead, before they could fail" if c["only_ahead"] else "the others fitted at once"),
             ("attempts", f"{c['attempts']:,}", f"{c['retries']:,} of them failed and were retried"),
             ("forward passes rolled back", f"{c['rolled_back']:,}", f"begun in vain; {c['wasted_forward']:,} of them had ended, the rest failed half-way"),
             ("backward passes rolled back", f"{c['wasted_backward']:,}", "of those that had ended"),
             ("splits", f"{c['splits_scene'] + c['splits_space']:,}", f"{c['splits_scene']} by scene, {c['splits_space']} in space"
              + (f"; {c['planned']} of them ahead" if c["planned"] else "")),
             ("points left out", f"{c['dropped']:,}", f"of {c['points']:,}"),
             ("time in recovery", share(c["seconds_recover"], c["seconds"]), f"{c['seconds_recover']:.2f} of {c['seconds']:.2f} s"),
             ("overhead by the clock", share(c["seconds_recover"], useful), "over the time of the attempts that counted")]
    return "<dl class=cost>" + "".join(f"<div><dt>{a}</dt><dd>{b}<small>{d}</small></dd></div>" for a, b, d in cards) + "</dl>"


COLUMNS = [("batch", "batch"), ("points", "points"), ("trained", "trained"), ("dropped", "left out"), ("attempts", "attempts"),
           ("retries", "retries"), ("splits_scene", "split by scene"), ("splits_space", "split in space"), ("planned", "of them ahead"), ("bytes_peak", "peak"),
           ("loss", "loss"), ("seconds", "seconds"), ("seconds_recover", "in recovery")]


def shown(batch, key):
    v = batch.get(key, "")
    if key == "bytes_peak":
        return mib(v)
    return f"{v:,}" if isinstance(v, int) and not isinstance(v, bool) and key != "batch" else v


def section(log):
    s, batches = log["summary"], log["batches"]
    out = [f"<p class=m>{esc(log['path'])}</p>"]
    if s:
        out.append(f"<p>{number(s.get('trained')):,} of {number(s.get('points')):,} points trained once, {number(s.get('dropped')):,} "
                   f"dropped; it ended with exit code {esc(s.get('exit'))}.</p>")
    else:
        out.append(f"<p class=note>The run was stopped: {len(batches)} batches are here, no summary.</p>")
    out.append(cost_section(log))
    for v in log["validations"]:
        out.append(f"<p>Validation after batch {esc(v.get('step'))}: mIoU {esc(v.get('miou'))}, accuracy {esc(v.get('accuracy'))}, "
                   f"{esc(v.get('splits'))} splits.</p>")
    out.append("<details><summary>Every batch as a table</summary>" + table(
        [title for _, title in COLUMNS], [[shown(b, c) for c, _ in COLUMNS] for b in batches[:400]]) + "</details>")
    if len(batches) > 400:
        out.append(f"<p class=note>{len(batches) - 400} more batches are in the log.</p>")
    split = [b for b in batches if b.get("attempt_list")]
    if split:
        out.append("<h3>The attempts of each batch that was recovered, or split ahead</h3><p class=hint>From top to bottom, what was tried: a batch that does not fit "
                   "is tried again, then in smaller chunks, then taken apart; its parts hang below it. A bar is the device memory of an "
                   "attempt: filled, it fitted and counts; striped, it failed and left no trace.</p>")
    for k, b in enumerate(split[:40]):
        out.append(f"<details{' open' if not k else ''}><summary>Batch {esc(b.get('batch'))}: {count(b.get('attempts'), 'attempt')}, "
                   f"{'split ahead, no failure, ' if number(b.get('planned')) and not number(b.get('retries')) else ''}"
                   f"{number(b.get('trained')):,} of {number(b.get('points')):,} points trained</summary>{tree(b)}</details>")
    if len(split) > 40:
        out.append(f"<p class=note>{len(split) - 40} more batches with attempts are in the log.</p>")
    return "".join(out)
