#!/usr/bin/env python3
"""conformance.py - the table of sim/README.md that says what is checked on a card, against the label gpu in the suites' .def files: a row that
says `gpu` names cases that have it, one that says less names some that have not, and no name is without a case."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
labels = {}
for path in root.glob("cases/*/*.def"):
    for name, words in re.findall(r"^CASE\((\w+), *\d+, *([a-z_ ]+)\)", path.read_text(encoding="ascii"), re.M):
        labels[f"{path.stem}.{name}"] = words.split()
text = (root / "sim/README.md").read_text(encoding="utf-8")
rows = re.findall(r"^\| (.*) \|$", text.partition("| on the simulated device | on a card |")[2], re.M)
wrong, looked_at = [], 0
for row in rows:
    cells = row.split(" | ")
    if len(cells) < 3 or "`" not in cells[-2]:
        continue
    suite, found = "", []
    for name in re.findall(r"`([a-z0-9_.*]+)`", cells[-2]):
        if "." in name.rstrip("."):
            suite, name = name.split(".", 1)
        if suite == "threads":
            continue  # those of other suites, on two host threads
        pattern = re.escape(f"{suite}.{name}").replace(r"\.\.", ".*").replace(r"\*", ".*")
        cases = [words for case, words in labels.items() if re.fullmatch(pattern, case)]
        if not cases:
            wrong.append(f"{cells[0]}: no case {suite}.{name}")
        found += ["gpu" in words for words in cases]
    looked_at += 1
    whole, part = cells[-1] == "`gpu`", cells[-1].startswith("`gpu`")
    if whole and not all(found):
        wrong.append(f"{cells[0]}: said to be checked on a card, and a case has no label gpu")
    if part and not whole and (all(found) or not any(found)):
        wrong.append(f"{cells[0]}: said to be checked on a card in part, and it is {'all' if all(found) else 'nothing'}")
    if not part and any(found):
        wrong.append(f"{cells[0]}: a case has the label gpu, and the table does not say so")
if looked_at < 20:
    wrong.append(f"{looked_at} rows were found in sim/README.md: the table has another form")
print("\n".join(wrong) or f"{looked_at} rows")
sys.exit(bool(wrong))
