"""map.py [--check] - writes MAP.md: one line a file, from the first sentence of its head comment. --check only says
whether MAP.md is what it would write; a source without a head comment fails both."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEAD = re.compile(r'^(?:#![^\n]*\n)?(?:/\*|#|""")\s*([\w.-]+)(?: .*?)?? - (.*?)(?:\*/|"""|\n\n|\n[^ #*])', re.S)


def sentence(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        text = f.read(3000)
    found = HEAD.match(text + "\n\n")
    if not found or found[1] != os.path.basename(path):
        return None
    words = re.sub(r"\n\s*[*#]? ?", " ", found[2])
    return re.split(r"(?<=[\w)\]])\.(?:\s+(?=[A-Z`])|$)", re.sub(r"\s+", " ", words).strip())[0]


def main():
    if not os.path.exists(os.path.join(ROOT, ".git")):
        print("not a git checkout: which files are sources is not known, and the map is not checked")
        sys.exit(77)
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    lines, folder, missing = ["# Every source file, one line each", ""], None, []
    lines += ["Written by `python3 scripts/map.py` from the files' head comments; a case holds it against them."]
    for path in sorted(files, key=lambda p: (os.path.dirname(p), p)):
        if not re.search(r"\.(c|h|cu|cuh|sh|py)$", path):
            continue
        if os.path.dirname(path) != folder:
            folder = os.path.dirname(path)
            lines += ["", f"## {folder}/", ""]
        says = sentence(path)
        if not says:
            missing.append(path)
        lines.append(f"- `{os.path.basename(path)}` {says}")
    text = "\n".join(lines) + "\n"
    target = os.path.join(ROOT, "MAP.md")
    if missing:
        sys.exit("no head comment of the form 'NAME - purpose': " + " ".join(missing))
    if "--check" in sys.argv[1:]:
        with open(target, encoding="utf-8") as f:
            if f.read() != text:
                sys.exit("MAP.md is not what the head comments say; run: python3 scripts/map.py")
        return
    with open(target, "w", encoding="utf-8") as f:
        f.write(text)


main()
