"""look.py BUILD BISECTOR - the page in a browser: no message in the console, nothing wider than the screen, on a phone, at a
desk and in the dark."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, sys.argv[2])
import chrome  # noqa: E402
from samples import lines_by_fault, log, result, sweep  # noqa: E402

program = chrome.find()
if not program:
    print("skipped: chromium is not installed")
    sys.exit(77)
failed = 0
with tempfile.TemporaryDirectory() as d:
    results = [result(k, m, "leak" if k == 7 else "recovered exactly", f"net/a_long_name_of_a_call_site_{k % 9}/gather")
               for k in range(1, 60) for m in ("once", "persistent")]
    results += [result(-1, "budget", budget=1000 + 50 * k) for k in range(8)]
    for name, text in (("s.json", sweep(results)), ("l.jsonl", log(5)), ("f.json", lines_by_fault())):
        with open(os.path.join(d, name), "w", encoding="utf-8") as f:
            f.write(text)
    subprocess.run([os.path.join(sys.argv[1], "bin/oomproof"), "report", "-o", d, os.path.join(d, "s.json"),
                    os.path.join(d, "l.jsonl"), os.path.join(d, "f.json")], capture_output=True, check=False)
    browser = chrome.Chrome(program)
    for width, dark in ((360, False), (360, True), (1280, False), (1280, True)):
        browser.size(width, 900, width < 500)
        browser.media(prefers_color_scheme="dark" if dark else "light")
        browser.open("file://" + os.path.join(d, "index.html"))
        browser.js("document.querySelectorAll('details').forEach(e => e.open = true)")
        wide = browser.js("document.documentElement.scrollWidth")
        findings = browser.js("document.querySelectorAll('details[id]').length")
        targets = browser.js("[...document.querySelectorAll('a[href^=\"#\"]')].filter(a => !document.getElementById(a.hash.slice(1))).length")
        if wide > width or findings != 2 or targets:
            print(f"{width} pixels{' in the dark' if dark else ''}: {wide} wide, {findings} findings, {targets} links to nowhere")
            failed = 1
    if browser.errors:
        print("the console says:", browser.errors)
        failed = 1
    browser.close()
sys.exit(failed)
