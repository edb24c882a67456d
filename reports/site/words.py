"""words.py - what was tried and what came of it, in sentences: the top of the page and the comment on a change."""
from checks import alone
from page import count, esc, number
from proofs import whole
from sweeps import subject
from training import cost

GOOD, BAD, NONE = "✓", "✗", "–"


def of_sweep(s):
    results = [r for r in s["results"] if "budget" not in r]
    out = []
    if results:
        points = len({r.get("point") for r in results})
        exact = sum(r.get("verdict") == "recovered exactly" for r in results)
        loss = sum(r.get("verdict") == "recovered with declared loss" for r in results)
        refused = sum(r.get("verdict") == "refused cleanly" for r in results)
        ways = len({(r.get("fault"), r.get("mode")) for r in results})
        how = f"in {ways} way{'s' if ways != 1 else ''}" if len(results) == points * ways else "not each in all ways"
        of, owed = number(s.get("fault_points")), max(0, number(s.get("asked")) - sum(map(alone, results)))
        text = (f"{points:,}{f' of {of:,}' if of > points else ''} calls of {subject(s, 'training step')} that can fail were made to fail, {how}: "
                f"{len(results):,} runs{f'; {owed:,} runs that were asked for are missing' if owed else ''}. {exact:,} ended as if nothing had failed")
        text += f", {loss:,} left out points that could not fit, by name" if loss else ""
        text += f", {refused:,} stopped with the cause" if refused else ""
        bad = len([f for f in s["findings"] if "budget" not in f])
        text += f", and {bad:,} went wrong" if bad else ", none went wrong"
        text += "." if s["proof"] else "; and it is not proved that no point was left out."
        out.append((BAD if bad or not s["proof"] else GOOD, text))
    budgets = [r for r in s["results"] if "budget" in r]
    if budgets:
        bad = len([f for f in s["findings"] if "budget" in f])
        what = subject(s, "training step")
        out.append((BAD if bad else GOOD, f"{what[0].upper() + what[1:]} ran on {len(budgets)} smaller cards, down to one on which nothing "
                    f"fits: {bad or 'none'} went wrong."))
    return out


def told(i):
    """[(mark, sentence)], the most telling first."""
    out = [x for s in i.sweeps for x in of_sweep(s)]
    ours = bool(i.logs)  # of this project's trainer: then what was not done can be named
    if not i.sweeps and ours:
        out.append((NONE, "No sweep was run: whether every call may fail is not known (make demo)."))
    for log in i.logs:
        c = cost(log)
        s = log["summary"] or {}
        bad, planned = number(s.get("exit")) != 0, c["only_ahead"]
        text = (f"{c['batches']:,} batches were trained, {c['recovered']:,} of which did not fit at first"
                f"{f', {planned:,} more were split ahead by what was learned before' if planned else ''}: {c['trained']:,} of {c['points']:,} "
                f"points were trained, {c['dropped']:,} left out")
        text += f"; recovery took {100 * c['seconds_recover'] / c['seconds']:.0f} % of the time" if c["seconds"] else ""
        text += "." if log["summary"] else ", when the run was stopped."
        out.append((BAD if bad else GOOD if log["summary"] else NONE, text + (f" It ended with exit code {s.get('exit')}." if bad else "")))
    if i.fixtures:
        states = [i.tests.get(f"field.{x['name']}") or i.tests.get(x["name"]) for x in i.fixtures]
        bad, ran = states.count("failed"), states.count("passed") + states.count("failed")
        out.append((BAD if bad else GOOD if ran else NONE, f"{len(i.fixtures)} failures recorded in the field: " + (
            f"{ran} were made to happen again, {bad or 'none'} of which ended otherwise than expected." if ran else
            "not replayed here, so whether they are recovered from is not known.")))
    others = [t for name, t in i.tests.items() if not name.startswith("field.")]
    if others:
        bad = others.count("failed")
        out.append((BAD if bad else GOOD, f"{count(len(others), 'test')}: {others.count('passed')} passed, {bad} failed, {others.count('skipped')} "
                    "skipped."))
    if i.mutants:
        caught = sum(bool(m.get("caught")) for m in i.mutants)
        out.append((GOOD if caught == len(i.mutants) else BAD, f"{caught} of {len(i.mutants)} bugs put into the recovery on purpose were noticed "
                    "by the tests."))
    elif ours:
        out.append((NONE, "Bugs put in on purpose (mutants) were not tried (make torture)."))
    for c in i.coverage:
        t = c["total"]
        out.append((GOOD if whole(c) else BAD, "Of the code that recovers, " + ", ".join(
            f"{t[k][0]} of {t[k][1]} {k}" for k in ("lines", "functions", "branches")) + f" run under its tests; {len(c['exclusions'])} exclusions."))
    if not i.coverage and ours:
        out.append((NONE, "Coverage of the recovery was not measured (make coverage)."))
    return out


def facts(i):
    kind = {GOOD: "good", BAD: "bad", NONE: "none"}
    return "<ul class=facts>" + "".join(f'<li class={kind[m]} data-mark="{m}">{esc(text)}</li>' for m, text in told(i)) + "</ul>"


def intro(_):
    return ("<p>When a batch does not fit into the memory of a GPU, a training loop can die, or go on and be silently wrong. <b>oomproof</b> makes "
            "memory run out on purpose, at every place where it can, and compares what the loop then does with a run that never "
            "failed: gradients, parameters, memory, and every point of the data. This page says what was tried and what came of it.</p>")
