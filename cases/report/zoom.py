"""zoom.py BUILD BISECTOR - device memory over time: a picture without scripts; with them, zoomed and moved by buttons, keys, the
wheel and by dragging."""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, sys.argv[2])
import chrome  # noqa: E402
import checking  # noqa: E402
from checking import want  # noqa: E402
from samples import SCRIPTS, scripts  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])


def page(d):
    trace = os.path.join(d, "<script>alert(1)</script>".replace("/", "\u2215"))
    for words in (("run", "--device", "sim", "--trace", trace, "--faults", "cudaMalloc phase=backward nth=9 -> oom", "--",
                   os.path.join(BUILD, "bin/pointtrain"), "train", "--data", "rooms:3,max=3000", "--steps", "2", "--quiet",
                   "--allocator", "direct"), ("report", "-o", d, trace)):
        run = subprocess.run([os.path.join(BUILD, "bin/oomproof"), *words], capture_output=True, text=True, check=False)
        want(run.returncode == 0, f"{words[0]}: {run.returncode} {run.stderr}")
    with open(os.path.join(d, "index.html"), encoding="utf-8") as f:
        text = f.read()
    want(scripts(text) <= SCRIPTS and "&lt;script" in text, "the page's own scripts are its only ones")
    want("src=" not in text and "http:" not in text and "https:" not in text, "it asks the network for nothing")
    # the one failure is in the first batch's backward pass: what counted and what did not, by phase
    spent = dict(re.findall(r"<tr><td>(\w+)</td><td>([0-9.]+</td><td>[0-9.]+)</td>", text))
    for phase, good, bad in (("backward", True, True), ("forward", True, True), ("commit", True, False), ("step", True, False),
                             ("load", True, None), ("stage", False, None)):  # None: may be too short to be shown
        got = [float(x) > 0 for x in spent.get(phase, "0</td><td>0").split("</td><td>")]
        want(got[0] == good and bad in (None, got[1]), f"time of {phase}, of attempts that counted and that failed: {spent.get(phase)}")
    return "file://" + os.path.join(d, "index.html")


def view(c):
    """From where, how wide."""
    box = c.js("document.querySelector('.timeline.whole svg').getAttribute('viewBox')").split()
    return float(box[0]), float(box[2])


def without_scripts(c, url):
    c.call("Emulation.setScriptExecutionDisabled", value=True)
    c.open(url)
    c.call("Emulation.setScriptExecutionDisabled", value=False)
    want(c.js("document.querySelectorAll('button').length") == 0, "without scripts there are no dead controls")
    want(view(c) == (0, 902), "without scripts the whole run is there")
    points = c.js("document.querySelector('.timeline.whole polyline').points.numberOfItems")
    shown = c.js("(() => { const b = document.querySelector('.timeline.whole polyline').getBoundingClientRect(); return b.width * b.height })()")
    want(c.js("document.querySelectorAll('.timeline.batch path[fill*=t1]').length") == 1, "the recovered batch by what holds it")
    want(points > 100 and shown > 10000, f"without scripts there is a picture: {points} points on {shown} pixels")


def without_scripts_on_a_phone(c, size):
    """A batch is wider than the screen: that it can be swiped is said, what its lines mean stays beside it."""
    said = c.js("getComputedStyle(document.querySelector('.batch .sideways')).display") != "none"
    cut = c.js("(e => e.scrollWidth > e.clientWidth)(document.querySelector('.batch .scroll'))")
    want(said == cut == (size < 500), f"{size} pixels: cut: {cut}, said: {said}")
    c.js("document.querySelector('.batch .scroll').scrollLeft = 150")
    left = c.js("document.querySelector('.batch .axis').getBoundingClientRect().left - document.querySelector('.batch .scroll').getBoundingClientRect().left")
    want(abs(left) < 1, f"{size} pixels: the axis is {left} pixels away")


def axis(c):
    """Round numbers of MiB and the peak, each beside its line."""
    for kind in ("whole", "batch"):
        said, apart = c.js(f"""(box => {{ const labels = [...box.querySelectorAll('.axis span')], middle = e => (b => (b.top + b.bottom) / 2)(e.getBoundingClientRect());
            const lines = [...box.querySelectorAll('svg > path[d*=H901]')].map(middle);
            return [labels.map(e => e.innerText.replace(/\\s+/g, ' ')), Math.max(...labels.map(l => Math.min(...lines.map(y => Math.abs(y - middle(l))))))]; }})
            (document.querySelector('.timeline.{kind}'))""")
        want(len(said) > 2 and said[0] == "0" and all(re.fullmatch(r"[0-9.]+ MiB", x) for x in said[1:-1]) and
             re.fullmatch(r"peak [0-9.]+ MiB", said[-1]) and apart < 1.5, f"the axis of the {kind}: {said}, {apart} pixels from a line")


def fingers(c):
    """Two stretch it; on the bar stands how."""
    press(c, "whole")
    want("two fingers or + to zoom" in c.js("document.querySelector('.timeline.whole > div:last-child').textContent"), "how it is zoomed by fingers")
    x, y, width = c.js("(() => { const s = document.querySelector('.timeline.whole svg'); s.scrollIntoView({block: 'center'}); "
                       "const b = s.getBoundingClientRect(); return [b.left, b.top + b.height / 2, b.width] })()")

    def touch(kind, *shares):
        c.call("Input.dispatchTouchEvent", type=kind, touchPoints=[dict(x=x + s * width, y=y, id=k) for k, s in enumerate(shares)])
    touch("touchStart", 0.4)
    touch("touchStart", 0.4, 0.6)
    touch("touchMove", 0.3, 0.7)
    touch("touchEnd")
    start, wide = view(c)
    want(abs(wide - 451) < 20 and abs(start + wide / 2 - 451) < 20, f"stretched to twice its width about the middle: {start}, {wide}")
    press(c, "whole")


def press(c, name):
    c.click(f".timeline.whole button[data-does={name}]")


def buttons(c):
    size = "(() => { const b = document.querySelector('.timeline.whole g').getBoundingClientRect(); return b.width / b.height })()"
    shape = c.js(size)
    off = c.js("[...document.querySelectorAll('.timeline.whole button:disabled')].map(b => b.dataset.does).join()")
    want(off == "out,left,right,whole", f"what can do nothing is off: {off}")
    whole = c.js("document.querySelector('.timeline.whole output').textContent")
    press(c, "in")
    want(view(c) == (225.5, 451), f"closer, about the middle: {view(c)}")
    want(abs(c.js(size) - shape) < 0.05 * shape, f"a mark keeps its shape: {shape}, {c.js(size)}")
    want(c.js("document.querySelector('.timeline.whole output').textContent") not in ("", whole), "the times that are shown are said")
    press(c, "left")
    want(view(c) == (0, 451), f"earlier, to the beginning: {view(c)}")
    press(c, "in")
    press(c, "right")
    want(view(c) == (225.5, 225.5), f"later by half of what is shown: {view(c)}")
    press(c, "out")
    want(view(c) == (112.75, 451), f"farther: {view(c)}")
    for _ in range(9):
        press(c, "in")
    want(view(c)[1] == 902 / 64 and c.js("document.querySelector('[data-does=in]').disabled"), f"no closer than that: {view(c)}")
    press(c, "whole")
    want(view(c) == (0, 902) and c.js("document.querySelector('.timeline.whole output').textContent") == whole, "the whole run again")


def mouse(c):
    x, y, width = c.js("(() => { const s = document.querySelector('.timeline.whole svg'); s.scrollIntoView({block: 'center'}); "
                       "const b = s.getBoundingClientRect(); return [b.left, b.top + b.height / 2, s.clientWidth] })()")

    def send(kind, share, **more):
        c.call("Input.dispatchMouseEvent", type=kind, x=x + share * width, y=y, **more)
    send("mouseWheel", 0.25, deltaX=0, deltaY=-100)
    c.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    want(view(c) == (0, 902), "the wheel alone is the page's")
    send("mouseWheel", 0.25, deltaX=0, deltaY=-100, modifiers=2)
    start, wide = view(c)
    want(abs(wide - 0.8 * 902) < 1 and abs(start + 0.25 * wide - 0.25 * 902) < 1, f"what is under the pointer stays: {start} {wide}")
    send("mousePressed", 0.5, button="left", clickCount=1)
    send("mouseMoved", 0.4, button="left", buttons=1)
    want(abs(view(c)[0] - (start + 0.1 * wide)) < 1 and view(c)[1] == wide, f"dragged by a tenth: {view(c)}")
    send("mouseReleased", 0.4, button="left", clickCount=1)
    held = view(c)
    send("mouseMoved", 0.8)
    want(view(c) == held, "let go, it stays")


def keys(c):
    c.js("document.querySelector('.timeline.whole svg').focus()")
    c.call("Input.dispatchKeyEvent", type="keyDown", key="0", text="0")
    c.call("Input.dispatchKeyEvent", type="keyDown", key="+", text="+")
    want(view(c) == (225.5, 451), f"plus is closer: {view(c)}")
    c.key("ArrowRight")
    want(view(c) == (451, 451), f"an arrow moves it: {view(c)}")
    c.call("Input.dispatchKeyEvent", type="keyDown", key="0", text="0")
    want(view(c) == (0, 902), f"nought is the whole: {view(c)}")


def cut_short(d):
    """A trace that ends a little after the failure, as that of a killed run: the page says so, and has what is there."""
    whole, program = next(os.path.join(d, n) for n in os.listdir(d) if n.startswith("<script")), os.path.join(BUILD, "bin/oomproof")
    events = subprocess.run([program, "trace", whole, "--json"], capture_output=True, text=True, check=True).stdout.splitlines()
    failure = next(i for i, e in enumerate(events) if json.loads(e).get("result"))
    reader = os.path.join(d, "reader")  # in the place of `oomproof trace`
    with open(reader, "w", encoding="utf-8") as f:
        f.write(f"#!/bin/sh\nexec head -n {failure + 100} '{d}/events'\n")
    with open(os.path.join(d, "events"), "w", encoding="utf-8") as f:
        f.write("\n".join(events) + "\n")
    os.chmod(reader, 0o755)
    run = subprocess.run([program, "report", "-o", os.path.join(d, "of-killed"), "--oomproof", reader, whole],
                         capture_output=True, text=True, check=False)
    with open(os.path.join(d, "of-killed/index.html"), encoding="utf-8") as f:
        text = f.read()
    want(run.returncode == 0 and "Batch 0: the run was stopped within it" in text and "1 failed call" in text,
         f"the page of a run that was killed: {run.returncode} {run.stderr}")
    # killed in its second step, in which nothing failed; of the whole run it is not said
    mark = next(i for i, e in enumerate(events) if "attempts" in json.loads(e))
    second = next(i for i, e in enumerate(events) if i > mark and json.loads(e).get("phase") == "backward")
    for end, code in ((second + 5, 2), (len(events), 0)):
        with open(reader, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\nexec head -n {end} '{d}/events'\n")
        run = subprocess.run([program, "report", "-o", os.path.join(d, "of-killed"), "--oomproof", reader, whole],
                             capture_output=True, text=True, check=False)
        with open(os.path.join(d, "of-killed/index.html"), encoding="utf-8") as f:
            said = "ends within a step, after 1 whole one: the run was stopped there" in f.read()
        want(run.returncode == code and said == (code == 2), f"{end} of {len(events)} events: {run.returncode}, said: {said}")


with tempfile.TemporaryDirectory() as folder:
    where = page(folder)
    cut_short(folder)
    program = chrome.find()
    if checking.failed or not program:
        print("" if program else "skipped: chromium is not installed")
        sys.exit(checking.failed or 77)
    browser = chrome.Chrome(program)
    for size in (1280, 360):
        browser.size(size, 900, size < 500)
        browser.call("Emulation.setTouchEmulationEnabled", enabled=size < 500, maxTouchPoints=2)
        without_scripts(browser, where)
        without_scripts_on_a_phone(browser, size)
        browser.open(where)
        want(browser.js("document.documentElement.scrollWidth") <= size, f"nothing is wider than {size} pixels")
        axis(browser)
        buttons(browser)
        if size > 500:
            mouse(browser)
        else:
            fingers(browser)
        keys(browser)
    want(not browser.errors, f"the console says: {browser.errors}")
    browser.close()
sys.exit(checking.failed)
