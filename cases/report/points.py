"""points.py BUILD BISECTOR - the picture of a sweep in a browser: a click or an arrow key says what became of a fault point, whatever
its names hold; without scripts it is there all the same; one of 10,000 points opens, and how fast is printed."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, sys.argv[2])
import chrome  # noqa: E402
from samples import HOSTILE, result, sweep  # noqa: E402

program = chrome.find()
if not program:
    print("skipped: chromium is not installed")
    sys.exit(77)
failed = 0


def want(holds, what):
    global failed
    if not holds:
        print("not so:", what.encode("ascii", "backslashreplace").decode())
        failed = 1


def page(folder, text):
    with open(os.path.join(folder, "s.json"), "w", encoding="utf-8") as f:
        f.write(text)
    subprocess.run([os.path.join(sys.argv[1], "bin/oomproof"), "report", "-o", folder, os.path.join(folder, "s.json")],
                   capture_output=True, check=False)
    return "file://" + os.path.join(folder, "index.html")


def said(c):
    return c.js("document.getElementById('point').hidden ? '' : document.getElementById('point').innerText")


def chosen(c, url):
    c.open(url)
    want(said(c) == "", "nothing is chosen at first")
    c.click(".grid b[data-p='3']")
    text = said(c)
    for words in ("Point 3: cudaMalloc of 512 bytes", "Call 1 at net/a in the phase", "Out of memory, once: E recovered exactly",
                  "this and all later ones: X leak", "pt_tensor", "main", "--point 3 --once -- train", "--point 3 --persistent -- train", "alert(1)"):
        want(words in text, f"it says \"{words}\", not {text}")
    want(c.js("document.querySelectorAll('#point script, #point img').length") == 0, "nothing in it is markup")
    c.js("document.querySelector('.grid').focus()")
    c.key("ArrowRight")
    want("Point 4:" in said(c) and HOSTILE.split("\u2028", maxsplit=1)[0] in said(c), f"an arrow leads on, to hostile names: {said(c)}")
    c.key("ArrowLeft")
    want("Point 3:" in said(c), "and back")
    c.click("#point button")
    want(said(c) == "", "it can be closed")
    c.key("ArrowRight")
    c.call("Input.dispatchKeyEvent", type="keyDown", key="Escape", windowsVirtualKeyCode=27)
    want(said(c) == "", "by a key, too")


def without_scripts(c, url):
    c.call("Emulation.setScriptExecutionDisabled", value=True)
    c.open(url)
    c.call("Emulation.setScriptExecutionDisabled", value=False)
    want(c.js("document.querySelectorAll('.grid .X').length") == 1 and c.js("document.querySelector('.grid').clientHeight") > 30,
         "without scripts the picture is there")
    text = c.js("document.body.innerText")
    want("Repeat it by" in text and "and 1 went wrong" in text, "and the finding")
    want("arrow keys" not in text, "and nothing that only scripts do is promised")


with tempfile.TemporaryDirectory() as d:
    results = [result(k, m, "leak" if (k, m) == (3, "persistent") else "recovered exactly", HOSTILE if k == 4 else "net/a", stack=0,
                      **({"why": HOSTILE} if (k, m) == (3, "persistent") else {}))
               for k in range(1, 11) for m in ("once", "persistent")]
    data = json.loads(sweep(results))
    data["stacks"] = ["pt_tensor < main < " + HOSTILE]
    data["options"] = "oomproof sweep --device sim --step 1"
    url = page(d, json.dumps(data))
    browser = chrome.Chrome(program)
    for width in (1280, 390):
        browser.size(width, 844, width < 500)
        chosen(browser, url)
        without_scripts(browser, url)
    many = [result(k, m, "recovered exactly" if m == "once" else "recovered with declared loss", f"net/layer{k % 80}/out", stack=k % 9,
                   phase=("load", "forward", "backward")[k * 3 // 10001]) for k in range(1, 10001) for m in ("once", "persistent")]
    data = json.loads(sweep(many))
    data["stacks"] = [f"pt_tensor < layer{k} < main" for k in range(9)]
    url = page(d, json.dumps(data))
    browser.size(1280, 900)
    times = []
    for _ in range(3):
        browser.open(url)
        browser.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        times.append(browser.js("performance.now()") / 1000)
    want(browser.js("document.querySelectorAll('.grid b[data-p]').length") == 10000, "10,000 points are drawn")
    browser.click(".grid b[data-p='9000']")
    want("Point 9000:" in said(browser) and "layer0 " in said(browser).replace("\n", " "), f"and each can be chosen: {said(browser)[:200]}")
    size = os.path.getsize(os.path.join(d, "index.html"))
    print(f"10,000 points, 20,000 runs, a page of {size / 1e6:.1f} MB: opened and drawn after {', '.join(f'{t:.2f}' for t in times)} s")
    want(not browser.errors, f"the console says: {browser.errors}")
    browser.close()
sys.exit(failed)
