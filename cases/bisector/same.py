"""same.py PAGE DRIVER [SEED] - random settings, run by the native program and by the module inside the page (in Chromium,
else in node): every number of every step must be the same."""
import json
import os
import random
import re
import shutil
import subprocess
import sys

import chrome

RUNS = 24


def settings(seed):
    r = random.Random(seed)
    scenes = r.randint(1, 12)
    return [r.choice([256, 2048, 4096, 8192, 16384, 49152]) + r.randint(0, 512), scenes, r.randint(0, 1),
            r.randint(0, 999999), r.choice([0, 10, 30, 50]), r.randint(0, 1), r.choice([0, 14, 24]), r.randint(0, 1),
            r.randint(0, 1), r.choice([0, 0, r.randint(1, scenes)]), r.randint(0, 1), r.randint(1, 4)]


def in_browser(page, program, runs):
    c = chrome.Chrome(program)
    try:
        c.open("file://" + page)
        c.js("new Promise(done => { const t = setInterval(() => window.bisector && (clearInterval(t), done()), 10); })")
        out = [c.js(f"bisector.dump({json.dumps(run)})") for run in runs]
        if c.errors:
            sys.exit("\n".join(c.errors))
        return out
    finally:
        c.close()


def in_node(page, program, runs):
    with open(page, encoding="utf-8") as f:
        text = f.read()
    wasm = re.search(r'const WASM = "([^"]*)"', text)[0]
    # the page's own reader of the module, up to its next part
    engine = text[text.index('"use strict";', text.index("1_engine.js")):text.index("/* 2_words.js")]
    script = (engine + wasm + ";loadEngine(WASM).then(e => { for (const c of " + json.dumps(runs)
              + ") console.log(JSON.stringify(e.dump(c))); });")
    out = subprocess.run([program, "-"], input=script, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def difference(native, page):
    for part in ("totals", "steps", "nodes", "queue", "message"):
        a, b = native[part], page[part]
        if a != b:
            at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            return f"{part}: native has {len(a)} numbers, the page {len(b)}; the first difference is number {at}: " \
                   f"{a[at:at + 1]} and {b[at:at + 1]}"
    return None


def main(page, driver, first):
    if not os.path.exists(page):
        print(f"skipped: {page} was not built (clang, wasm-ld, wasi-libc, libclang-rt-dev-wasm32)")
        sys.exit(77)
    browser, node = chrome.find(), shutil.which("node")
    if not browser and not node:
        print("skipped: neither chromium nor node is installed")
        sys.exit(77)
    runs = [settings(first + i) for i in range(RUNS)]
    text = "".join(" ".join(map(str, r)) + "\n" for r in runs)
    native = subprocess.run([driver], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
    native = [json.loads(line) for line in native]
    for name, program, take in (("chromium", browser, in_browser), ("node", node, in_node)):
        if not program:
            continue
        other = take(os.path.abspath(page), program, runs)
        if len(native) != RUNS or len(other) != RUNS:
            sys.exit(f"{len(native)} native runs, {len(other)} in {name}, {RUNS} wanted")
        for i, (a, b) in enumerate(zip(native, other)):
            why = difference(a, b)
            if why:
                sys.exit(f"{name}, {why}\nrepeat: {driver} {' '.join(map(str, runs[i]))}")
        steps = sum(d["totals"][6] for d in native)
        print(f"{RUNS} random batches, {steps} attempts: the same natively and in {name}")
        return


if len(sys.argv) not in (3, 4):
    sys.exit("usage: same.py PAGE DRIVER [SEED]")
main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) == 4 else 1)
