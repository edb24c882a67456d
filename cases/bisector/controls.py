"""controls.py PAGE - uses every control of the bisector's page in a browser and looks at what it does; no message may
reach the console."""
import json
import os
import subprocess
import sys
import tempfile

from page import Page


def stepping(p):
    p.open()
    n = p.steps()
    p.want(p.at() == 0 and "waits for its first attempt" in p.text("#words"), "it starts before the first attempt")
    p.want(p.js("first.disabled && prev.disabled && !next.disabled"), "nothing lies before the start")
    p.c.click("#next")
    p.want(p.at() == 1 and p.text("#words").startswith("Attempt 1: the batch"), "next makes the first attempt")
    p.c.click("#prev")
    p.want(p.at() == 0, "prev takes it back")
    p.c.click("#last")
    p.want(p.at() == n and p.js("next.disabled && play.disabled"), "end is the last attempt")
    p.want("the queue is empty" in p.text("#queue"), "in the end the queue is empty")
    p.c.click("#first")
    p.want(p.at() == 0, "start goes back")
    for key, where in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", n), ("Home", 0)):
        p.c.key(key)
        p.want(p.at() == where, f"{key} leads to {where}, not {p.at()}")
    p.go(3)
    p.want(p.at() == 3, "the slider leads to attempt 3")
    p.c.click("#play")
    p.want(p.js("play.getAttribute('aria-pressed')") == "true", "it plays")
    p.until("bisector.shown().at >= 5")
    p.c.click("#play")
    p.want(p.js("play.getAttribute('aria-pressed')") == "false", "it pauses")
    p.go(n - 1)
    p.js("play.focus()")
    p.c.key("Enter")
    p.until("bisector.shown().at === bisector.shown().run.steps.length")
    p.until("play.getAttribute('aria-pressed') === 'false'")


def drawing(p):
    """Tree, queue and table against the run itself, at every attempt."""
    p.open("budget=8&seed=7")
    for at in range(p.steps() + 1):
        seen = p.js("""(() => { const {run, at} = bisector.shown(); return {
            nodes: document.querySelectorAll('#tree .node').length, born: run.nodes.filter(n => n.born <= at).length,
            queue: document.querySelectorAll('#queue li:not(.none)').length,
            queued: at < run.steps.length ? run.steps[at].queue.length : 0,
            row: [...document.querySelectorAll('#table tr')].findIndex(r => r.classList.contains('now')) }; })()""")
        p.want(seen["nodes"] == seen["born"], f"attempt {at}: {seen['born']} fragments, {seen['nodes']} drawn")
        p.want(seen["queue"] == seen["queued"], f"attempt {at}: {seen['queued']} queued, {seen['queue']} drawn")
        p.want(seen["row"] == (at or -1), f"attempt {at} is row {seen['row']} of the table")
        p.c.key("ArrowRight")
    p.c.click("#tree .node[data-node='1'] circle")
    p.want(p.text("#piece").startswith("Scene 1:"), "a click on a fragment says what it is")
    p.want("Scene 1" in p.text("#plan"), "and draws its scene")
    p.c.click("#table summary")
    p.c.click("#table tr:nth-child(5) button")
    p.want(p.at() == 4, "a row of the table leads to its attempt")
    p.c.click("#printed summary")
    p.want(p.js("printed.open"), "what the code printed can be opened")


def batch_and_device(p):
    p.open()
    p.set("#scenes", 3)
    p.want(len(p.totals()["scene_points"]) == 3 and p.js("bug.options.length") == 4, "3 scenes, and a bug in none or one")
    p.set("#scenes", 99)
    p.want(len(p.totals()["scene_points"]) == 12, "more than 12 scenes are 12")
    p.set("#scenes", "")
    p.want(len(p.totals()["scene_points"]) == 6, "an empty number is the usual one")
    sizes = p.totals()["scene_points"]
    p.press("input[name=heavy][value='0']")
    p.want(p.totals()["scene_points"] != sizes, "uniform sizes are others")
    p.press("input[name=heavy][value='1']")
    p.want(p.totals()["scene_points"] == sizes, "and back again")
    p.set("#seed", 8)
    p.want(p.totals()["scene_points"] != sizes, "another seed, other sizes")
    p.press("#reseed")
    p.want(p.js("seed.value") == "9", "another batch takes the next seed")
    p.set("#seed", 7)
    few = p.steps()
    p.set("#budget", 6)
    p.want(p.steps() > few and p.text("#budget_text") == "3.00 MiB", "less memory, more attempts")
    p.set("#budget", 96)
    p.want(p.steps() == 1 and p.totals()["retries"] == 0, "with enough of it there is one attempt")
    p.set("#budget", 16)
    p.set("#kept", 50)
    many = p.totals()["retries"]
    p.set("#kept", 0)
    p.want(p.totals()["retries"] < many and p.text("#kept_text") == "0 %", "nothing kept, fewer retries")
    p.press("#column")
    p.want(p.totals()["scene_points"] != sizes and "column=1" in p.js("location.hash"), "the column is there")
    before = p.js("JSON.stringify(bisector.shown().run.totals)")
    p.open(p.js("location.hash").lstrip("#"))
    p.want(p.js("JSON.stringify(bisector.shown().run.totals)") == before, "the address repeats the run")


def recovery(p):
    p.open("budget=16&kept=10&seed=7")
    p.set("#chunk", 6)
    p.want("fails" in p.text("#counters") and p.totals()["chunk_passes"] == 1, "one pass of 6 scenes does not fit")
    p.set("#chunk", 1)
    p.want(p.totals()["chunk_passes"] == 6, "a scene a pass")
    p.c.key("End") if p.js("document.activeElement === document.body") else p.c.click("#last")
    p.want(p.text("#share") == "100 %" and "+" in p.text("#counters"), "all of the gradient survives, at a price")
    p.want("forward passes rolled back" in p.text("#counters") and "wasted" not in p.text("body > main"), "the report's words")
    base = p.js("JSON.stringify(bisector.shown().run.nodes.map(n => n.points))")
    p.set("#halo", 0)
    p.c.click("#last")
    p.want(p.js("bisector.shown().run.nodes.every(n => n.points === n.own || n.own > 0)")
           and p.js("JSON.stringify(bisector.shown().run.nodes.map(n => n.points))") != base
           and "without a halo" in p.text("#lesson"), "no halo, and what that means")
    p.set("#halo", 14)
    p.set("#budget", 6)
    p.set("#alternate", 1)
    p.want(p.js("bisector.shown().run.settings.alternate") == 1, "the alternating cut is taken")
    p.set("#alternate", 0)
    p.set("#budget", 2)
    p.c.click("#last")
    p.want(p.totals()["dropped"] > 0 and "dropped" in p.text("#lesson") and "dropped" in p.js("printed.textContent"),
           "at the floor points are dropped, loudly")
    p.set("#budget", 16)
    p.set("#bug", 2)
    p.c.click("#last")
    p.want(p.totals()["end"] == 1 and "CUBLAS_STATUS_INVALID_VALUE" in p.text("#lesson") and p.text("#share") == "0 %",
           "OOM only: the bug ends the batch with its cause")
    p.want("never tried" in p.text("#queue"), "and what was queued is never tried")
    p.press("input[name=everything][value='1']")
    p.c.click("#last")
    p.want(p.totals()["end"] == 0 and "dissolved" in p.text("#lesson")
           and p.totals()["dropped"] == p.totals()["scene_points"][1], "everything: the scene with the bug dissolves")
    p.press("input[name=everything][value='0']")
    p.set("#bug", 0)
    p.press("input[name=original][value='1']")
    p.want(p.js("halo.disabled && document.getElementById('alternate').disabled"), "the original has no halo and one cut")
    p.c.click("#last")
    t = p.totals()
    p.want(0 < t["survives"] < t["points"] / 2 and p.text("#share") != "100 %" and "last piece only" in p.text("#lesson"),
           "the original's gradient is that of the last piece")
    p.press("#column")
    p.c.click("#last")
    p.want(p.totals()["end"] == 2 and "for ever" in p.text("#words"), "the original does not end on a column")


LOG = ('{"batch":0,"step":1,"points":100,"trained":100,"dropped":0,"attempts":1,"retries":0,"splits_scene":0,"splits_space":0,'
       '"wasted_forward":0,"wasted_backward":0,"bytes_peak":1048576,"bytes_baseline":1,"loss":1.5,"lr":0.1,"seconds":1,'
       '"seconds_recover":0}\n'
       '{"batch":1,"step":2,"points":900,"trained":800,"dropped":100,"attempts":9,"retries":4,"splits_scene":1,'
       '"splits_space":2,"wasted_forward":3,"wasted_backward":0,"bytes_peak":2097152,"bytes_baseline":1,"loss":null,"lr":0.1,'
       '"seconds":4,"seconds_recover":2,"error":"<img src=x onerror=alert(1)>"}\n')


def recorded_run(p, folder):
    p.open()
    for number, (text, wants) in enumerate(((LOG + '{"summary":{"exit":0}}\n', ("2 batches", "10 attempts", "100 of 1,000 points dropped")),
                        (LOG + '{"batch":', ("2 batches", "line 3 is not a JSON object", "cut short")),
                        ("\n[]\nnull\n7\n", ("No batch in this file", "line 2 is not")), ("", ("No batch",)))):
        path = os.path.join(folder, f"run-{number}.jsonl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        p.js("document.getElementById('run').textContent = 'waiting'")
        p.c.file("#log", path)
        p.until("document.getElementById('run').textContent !== 'waiting'")
        for w in wants:
            p.want(w in p.text("#run"), f"a log says: {w}")
        if "2 batches" in wants:
            p.want("Batch 1" in p.text("#run_words") and "<img" in p.text("#run_words"), "the worst batch comes first, as text")
            p.want(p.js("document.querySelectorAll('#run img').length") == 0, "nothing in a log becomes markup")
            p.c.click("#run_prev")
            p.want("Batch 0" in p.text("#run_words") and p.js("run_prev.disabled"), "one batch back")
            p.c.click("#run_next")
            p.want("Batch 1" in p.text("#run_words"), "and forth")
            p.c.click("#run details summary")
            p.want(p.js("document.querySelectorAll('#run table tr').length") == 3, "all numbers, a row a batch")
            p.want("3 forward passes rolled back" in p.text("#run_sum") and "wasted" not in p.text("#run"), "the report's words of a run")


ATTEMPTS = {"batch": 3, "points": 900, "trained": 700, "dropped": 200, "attempts": 6, "retries": 3, "bytes_peak": 9e6, "attempt_list": [
    {"fragment": 1, "parent": 0, "scenes": 2, "own": 900, "points": 900, "bytes": 9e6, "outcome": "out of memory", "phase": "forward",
     "site": "<img src=x onerror=alert(1)></script>"},
    {"fragment": 1, "parent": 0, "scenes": 2, "own": 900, "points": 900, "bytes": 9e6, "gather_rows": 64, "outcome": "out of memory"},
    {"fragment": 2, "parent": 1, "scenes": 1, "own": 400, "points": 400, "bytes": 4e6, "outcome": "ok"},
    {"fragment": 3, "parent": 1, "scenes": 1, "own": 500, "points": 500, "bytes": 8e6, "outcome": "out of memory"},
    {"fragment": 4, "parent": 3, "spatial": True, "own": 300, "points": 350, "bytes": 5e6, "outcome": "ok"},
    {"fragment": 5, "parent": 3, "spatial": True, "own": 200, "points": 350, "bytes": 8e6, "outcome": "out of memory"}]}


def recorded_attempts(p, folder):
    """Of a made-up batch, of one whose list is damaged, and of a run that the trainer has just made on a small card."""
    def load(name):
        p.js("document.getElementById('run').textContent = 'waiting'")
        p.c.file("#log", os.path.join(folder, name))
        p.until("document.getElementById('run').textContent !== 'waiting'")

    def drawn():
        return p.js("document.querySelectorAll('#run_attempts .node').length")
    odd = dict(ATTEMPTS, attempt_list=[None, 7, {"fragment": [], "own": "x"}, {"fragment": {}, "parent": "nowhere", "bytes": -1, "outcome": {}}])
    for name, text in (("attempts.jsonl", json.dumps(ATTEMPTS)), ("odd.jsonl", json.dumps(odd))):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text + "\n")
    load("attempts.jsonl")
    words = lambda: p.text("#run_attempts .attempt_words")  # noqa: E731
    p.want("before its first attempt" in words() and drawn() == 1, "a recorded batch begins with one fragment")
    p.c.click("#run_attempts .attempt_next")
    p.want("out of memory at 8.58 MiB in forward, at <img" in words() and "tried again" in words(), f"its first attempt: {words()}")
    p.c.click("#run_attempts .attempt_next")
    p.want(drawn() == 3 and "Split by scene, into 2" in words(), f"the second takes it apart: {drawn()}, {words()}")
    p.js("(e => { e.value = 6; e.dispatchEvent(new Event('input', {bubbles: true})); })(document.querySelector('#run_attempts input'))")
    p.want(drawn() == 5 and "not tried again" in words() and p.js("document.querySelector('.attempt_next').disabled"), f"the last: {words()}")
    marks = p.js("[...document.querySelectorAll('#run_attempts .node text:first-of-type')].map(t => t.textContent).join('')")
    p.want(marks == "S✓÷✓✕", f"what became of each: {marks}")
    p.c.click("#run_attempts .node[data-node='3'] circle")
    p.want("a piece of a scene: 300 points and 50 of halo, committed" in words(), f"a fragment that was chosen: {words()}")
    p.c.click("#run_attempts .attempt_prev")
    p.want("Attempt 5" in words(), "back by one")
    p.want(p.js("document.querySelectorAll('#run img').length") == 0, "no markup out of it")
    load("odd.jsonl")
    p.c.click("#run_attempts .attempt_next")
    p.want(drawn() == 2, f"a damaged list is drawn as far as it goes: {drawn()}")
    build = os.path.join(os.path.dirname(os.path.abspath(PAGE)), "../bin")
    run = subprocess.run([build + "/oomproof", "run", "--device", "sim", "--faults", "cudaMalloc phase=forward nth>=40 times=4 -> oom", "--",
                          build + "/pointtrain", "train", "--data", "rooms:3,max=3000", "--batch", "3", "--steps", "1", "--quiet", "--allocator",
                          "direct", "--log", os.path.join(folder, "real.jsonl")], capture_output=True, text=True, check=False)
    p.want(run.returncode == 0, f"the trainer: {run.stderr}")
    load("real.jsonl")
    n = p.js("Number(document.querySelector('#run_attempts input').max)")
    p.want(n > 3, f"a run of the trainer has {n} attempts")
    for _ in range(n):
        p.c.click("#run_attempts .attempt_next")
    p.want("committed" in words() and p.js("document.querySelectorAll('#run .note').length") == 0, f"it ends well: {words()}")


def main(path):
    p = Page(path)
    p.c.size(1280, 900)
    stepping(p)
    drawing(p)
    batch_and_device(p)
    recovery(p)
    with tempfile.TemporaryDirectory() as folder:
        recorded_run(p, folder)
        recorded_attempts(p, folder)
    p.end()


if len(sys.argv) != 2:
    sys.exit("usage: controls.py PAGE")
PAGE = sys.argv[1]
main(PAGE)
