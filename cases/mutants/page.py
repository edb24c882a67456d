"""page.py [--check] - MUTANTS.md from table.cmake: what each mutant breaks, and which case tells."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
INVARIANTS = """1. the step is the reference's; 2. every point is in the ledger once; 3. device bytes are the baseline's at each retry;
4. staged copies are what was on the device; 5. attempts stay within their bound, the mildest remedy first; 6. the last
error is clean; 7. no other failure than an out-of-memory is retried or split; 8. a validation and a checkpoint are as
without the failure, or as before."""


def page():
    with open(os.path.join(HERE, "table.cmake"), encoding="utf-8") as f:
        calls = re.findall(r"oomproof_mutant\((\S+) INVARIANT (\d)( LAZY)?\s+WHAT \"([^\"]*)\"\s+FILES (.*?) SUITE (\S+) "
                           r"PRECISION (\S+)\s+(?:PASS [^)]*?\s+)?FAIL ([^)]*)\)", f.read())
    patches = {p[:-6] for p in os.listdir(HERE) if p.endswith(".patch")}
    if patches != {c[0] for c in calls}:
        sys.exit(f"table.cmake and the patches differ: {sorted(patches ^ {c[0] for c in calls})}")
    lines = ["# Mutants of the recovery", "",
             f"{len(calls)} patches, each of which breaks the recovery in one way. Each builds, passes a case without faults, and is",
             "told by a named check of a case, not by a crash. `make torture` runs all of them, `make test` a third (drawn by a",
             "seed). Made from `table.cmake` by `page.py`; results are in `build/reports/mutants/`.", "",
             "What is broken (the invariants of a sweep): " + INVARIANTS.replace("\n", " "), "",
             "| mutant | what it does | invariant | told by |", "| --- | --- | --- | --- |"]
    for name, invariant, lazy, what, _, suite, _, fail in sorted(calls):
        first = fail.split()[0]
        lines.append(f"| {name} | {what} | {invariant} | `{'lazy ' if lazy else ''}{suite}.{first}` |")
    return "\n".join(lines) + "\n"


def main():
    path = os.path.join(HERE, "MUTANTS.md")
    text = page()
    if "--check" in sys.argv:
        with open(path, encoding="utf-8") as f:
            if f.read() != text:
                sys.exit("MUTANTS.md is not what page.py writes; run python3 cases/mutants/page.py")
        return
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


main()
