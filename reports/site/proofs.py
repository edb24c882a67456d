"""proofs.py - what vouches for the tests themselves: coverage of the recovery path, and mutants, which are bugs put in on
purpose."""
from page import count, esc, table

INVARIANTS = {1: "the step is the reference's", 2: "every point is in the ledger once", 3: "device bytes are the baseline's at each retry",
              4: "staged copies are what was on the device", 5: "attempts stay within their bound, the mildest remedy first",
              6: "the last error is clean", 7: "no other failure than an out-of-memory is retried or split"}


def percent(pair):
    ran, of = pair
    return f"{ran} of {of} ({100 * ran / max(of, 1):.1f} %)"


def whole(data):
    return all(ran == of for ran, of in data["total"].values()) and not data["missing"] and not data["failed"]


def coverage(data):
    kinds = ("lines", "functions", "branches")
    rows = [[(name, "m"), *((percent(f[k]), "good" if f[k][0] == f[k][1] else "bad") for k in kinds)] for name, f in
            sorted(data["files"].items())]
    rows.append([("together", ""), *((percent(data["total"][k]), "good" if data["total"][k][0] == data["total"][k][1] else "bad")
                                     for k in kinds)])
    out = [table(["file", *kinds], rows)]
    known = data["exclusions"]
    out.append(f"<p>{count(len(known), 'exclusion')} (at most {esc(data['most_exclusions'])}), each with its reason"
               + (":</p><ul>" + "".join(f"<li><code>{esc(x['file'])}: {esc(x['line'])}</code> {esc(x['reason'])}</li>" for x in known) + "</ul>"
                  if known else ".</p>"))
    if data["missing"]:
        out.append(f"<p class=bad>{count(len(data['missing']), 'place')} did not run:</p><ul>" +
                   "".join(f"<li>{esc(m)}</li>" for m in data["missing"][:200]) + "</ul>")
    if data["failed"]:
        out.append(f"<p class=bad>{count(len(data['failed']), 'case')} failed while counting:</p><ul>" +
                   "".join(f"<li>{esc(m)}</li>" for m in data["failed"][:200]) + "</ul>")
    out.append(f"<p class=hint>{count(data['runs'], 'case')} ran; of {len(data['lost'])} the counters were lost, because nothing but "
               "SIGKILL ended them.</p>")
    return "".join(out)


def mutants(of):
    """What each breaks and which cases noticed, in words; then a row a mutant and a column a case."""
    order = sorted(of, key=lambda m: (str(m.get("invariant")), str(m.get("mutant"))))
    cases = {}  # in the order in which the mutants come to them, so that neighbours have to do with each other
    for m in order:
        for c in told(m):
            cases.setdefault(c, len(cases) + 1)
    missed = [m for m in of if not m.get("caught")]
    out = ["<ul>" + "".join(f"<li><span class=bad>{esc(m.get('mutant'))} is not caught</span>, by {esc(m.get('case'))}</li>" for m in missed) +
           "</ul>" if missed else "", "<details><summary>Each bug, what it breaks, and which cases noticed</summary>"]
    groups = {}
    for m in order:
        groups.setdefault(str(m.get("invariant")), []).append(m)
    for invariant, inside in groups.items():
        rule = INVARIANTS.get(int(invariant) if invariant.isdigit() else 0, "another rule")
        out += [f"<h4>breaks {esc(invariant)}: {esc(rule)}</h4>", table(["bug", "caught", "what it is", "noticed by"], [
            [(m.get("mutant"), "m"), ("yes", "good") if m.get("caught") else ("NO", "bad"), (m.get("what", ""), "l"),
             (", ".join(c for c, said in told(m).items() if said == "noticed").replace("_", " "), "l")] for m in inside])]
    rows = []
    for invariant, inside in groups.items():
        rows.append(f"<tr><th colspan={len(cases) + 1} scope=rowgroup class=l>breaks {esc(invariant)}</th></tr>")
        for m in inside:
            said = told(m)
            cells = "".join(f'<td title="{esc(c)}">{MARKS[said[c]]}</td>' if c in said else "<td></td>" for c in cases)
            rows.append(f'<tr><th scope=row class=m>{esc(m.get("mutant"))}</th>{cells}</tr>')
    head = "".join(f'<th scope=col title="{esc(c)}">{n}</th>' for c, n in cases.items())
    return "".join(out) + (
        "</details><details><summary>Mutants and cases, as a matrix</summary><ul class=legend><li><span class=good>&#9679;</span> the case failed by "
        "a check: it noticed</li><li>&#9675; injects no fault, and passed as it must</li><li><span class=bad>&#10007;</span> the case was wrong about "
        'it</li></ul><div class="scroll matrix" tabindex=0 role=region aria-label="mutants and cases"><table>'
        f"<thead><tr><th>mutant</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div><p class=hint>The cases, by the numbers above:</p>"
        "<ol class=columns>" + "".join(f"<li>{esc(c.replace('_', ' '))}</li>" for c in cases) + "</ol></details>")


MARKS = {"noticed": "<span class=good>&#9679;</span>", "passed": "&#9675;", "wrong": "<span class=bad>&#10007;</span>"}


def told(m):
    """case -> noticed, passed or wrong; of a result of an older kind only the last case."""
    said = m.get("cases")
    if isinstance(said, dict):
        return {str(c): v for c, v in said.items() if v in MARKS}
    return {str(m.get("case")): "noticed" if m.get("caught") else "wrong"}
