"""training.py - a run of the trainer: what recovery did and cost, and the attempts of each batch as a tree."""
from page import esc, table


def tree(batch):
    attempts = [a for a in batch.get("attempt_list", []) if isinstance(a, dict)]
    if not attempts:
        return ""
    most = max(max(a.get("bytes", 0) for a in attempts), 1)
    children, of = {}, {}
    for a in attempts:
        of.setdefault(a.get("fragment"), []).append(a)
    for fragment, tries in of.items():
        children.setdefault(tries[0].get("parent"), []).append(fragment)

    def one(a):
        kind = "good" if a.get("outcome") == "ok" else "bad"
        how = " with smaller chunks" if a.get("gather_rows") else ""
        where = f" in {esc(a.get('phase'))} at {esc(a.get('site'))}" if a.get("site") else ""
        return (f"<li><span class={kind}>{'&#10003; trained' if kind == 'good' else '&#10007; ' + esc(a.get('outcome'))}</span>"
                f"{where}{how} <span class=bar style='width:{8 * a.get('bytes', 0) / most:.2f}em'></span> "
                f"{a.get('bytes', 0) / 1048576:.1f} MiB</li>")

    def node(fragment, depth):
        tries = of[fragment]
        first = tries[0]
        what = "part of a scene" if first.get("spatial") else f"{esc(first.get('scenes'))} scenes"
        inside = "".join(node(c, depth + 1) for c in children.get(fragment, []) if depth < 60 and c != fragment)
        return (f"<li>{what}, {esc(first.get('own'))} points<ul>{''.join(map(one, tries))}</ul>"
                + (f"<ul class=tree>{inside}</ul>" if inside else "") + "</li>")

    roots = [f for f in of if of[f][0].get("parent") not in of]
    left = batch.get("attempts_not_listed")
    return "<ul class=tree>" + "".join(node(r, 0) for r in roots) + "</ul>" + (
        f"<p class=note>{esc(left)} more attempts are not listed.</p>" if left else "")


def section(log):
    s, batches = log["summary"], log["batches"]
    out = [f"<p class=m>{esc(log['path'])}</p>"]
    if s:
        out.append(f"<p>{esc(s.get('trained'))} of {esc(s.get('points'))} points trained once, {esc(s.get('dropped'))} dropped; "
                   f"{esc(s.get('retries'))} retries, {esc(s.get('splits_scene'))} splits by scene, {esc(s.get('splits_space'))} in "
                   f"space; {esc(s.get('wasted_forward'))} forward and {esc(s.get('wasted_backward'))} backward passes wasted; "
                   f"recovery took {esc(s.get('seconds_recover'))} of {esc(s.get('seconds'))} s. Exit code {esc(s.get('exit'))}.</p>")
    else:
        out.append(f"<p class=note>The run was stopped: {len(batches)} batches are here, no summary.</p>")
    for v in log["validations"]:
        out.append(f"<p>Validation after batch {esc(v.get('step'))}: mIoU {esc(v.get('miou'))}, accuracy {esc(v.get('accuracy'))}, "
                   f"{esc(v.get('splits'))} splits.</p>")
    columns = ["batch", "points", "trained", "dropped", "attempts", "retries", "splits_scene", "splits_space", "bytes_peak",
               "loss", "seconds", "seconds_recover"]
    out.append(table(columns, [[b.get(c, "") for c in columns] for b in batches[:400]]))
    if len(batches) > 400:
        out.append(f"<p class=note>{len(batches) - 400} more batches are in the log.</p>")
    for b in [b for b in batches if b.get("attempt_list")][:40]:
        out.append(f"<details><summary>Batch {esc(b.get('batch'))}: {esc(b.get('attempts'))} attempts</summary>{tree(b)}</details>")
    return "".join(out)
