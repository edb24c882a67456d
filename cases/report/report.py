"""report.py BUILD - what the page says of what it was given; files that are cut short, missing or hostile."""
import json
import os
import re
import subprocess
import sys
import tempfile

import checking
from checking import putter, want
from samples import HOSTILE, SCRIPTS, coverage, lines_by_fault, log, mutants, result, scripts, sweep

OOMPROOF = os.path.join(sys.argv[1], "bin/oomproof")
failed_verdicts = 0

with tempfile.TemporaryDirectory() as d:
    put = putter(d)

    def report(*words):
        run = subprocess.run([OOMPROOF, "report", "-o", os.path.join(d, "out"), *words], capture_output=True, text=True, check=False)
        texts = []
        for name in ("index.html", "summary.md"):
            try:
                with open(os.path.join(d, "out", name), encoding="utf-8") as f:
                    texts.append(f.read())
            except OSError:
                texts.append("")
        return run, *texts

    good = [result(k, m) for k in range(1, 11) for m in ("once", "persistent")]
    run, page, md = report(put("s.json", sweep(good)), put("l.jsonl", log(2)))
    want(run.returncode == 0 and "nothing was found wrong" in page, f"a clean page: {run.returncode} {run.stderr}")
    want("20 runs" in page and "3 attempts" in page and "part of a scene" in page, "sweep and attempts are on the page")
    want(scripts(page) <= SCRIPTS, f"what the page is given does not become a script: {scripts(page) - SCRIPTS}")
    want("http://" not in page and "https://" not in page, "the page asks the network for nothing")
    for text in ("10 calls of a training step that can fail were made to fail, in 2 ways: 20 runs. 20 ended as if nothing had failed, none "
                 "went wrong.", "2 batches were trained", "(make torture)", "(make coverage)", "compares what the loop then does"):
        want(text in page, f"the top of the page says \"{text}\"")
    want(page.count("<b data-p=") == 10 and page.count("<i class='c E'>E</i>") == 20 + 1, "a column a fault point, a cell a way, and the legend")
    want("E</i> recovered exactly: the step ended as the run that never failed" in page, "the letters are explained")
    want("Made with" in page and "C compiler" in page and "Made from 2 files" in page, "the surroundings")

    # what was swept has its name
    run, page, md = report(put("p.json", sweep(good + [result(0, "budget", budget=512)], part="validate <b>", marked=True)))
    for text in ("10 calls of the part validate &lt;b&gt; that can fail", "Every fault point of the part validate &lt;b&gt;, failed</h2>",
                 "The part validate &lt;b&gt; ran on 1 smaller card"):
        want(text in page and "training step" not in text, f"the page of a part says \"{text}\"")
    run, page, md = report(put("p.json", sweep(good, part="", marked=False)))
    want("10 calls of the program that can fail" in page, "the page of a program that marks no step")

    # shards of one sweep are one; another sweep is another
    run, page, md = report(put("1.json", sweep(good[:10])), put("2.json", sweep(good[10:])), put("3.json", sweep(good, "else")))
    want("merged from 2 parts" in page and page.count(">Every fault point of a step, failed: train (oom)</h2>") == 1 and
         page.count(">Every fault point of a step, failed: else (oom)</h2>") == 1, "two shards and another sweep")
    def shard(i):
        return put(f"shard{i}.json", sweep(good[i * 6 - 6:i * 6], shard=[i, 3]))
    run, page, md = report(shard(1), shard(3))
    want(run.returncode == 1 and "of its 3 shards the 2 is not here" in page and "nothing was found wrong" not in page,
         f"a shard that is missing is told: {run.returncode} {run.stderr}")

    # split ahead: no recovery, and no attempt of the whole
    ahead = put("ahead.jsonl", log(1).replace('"attempts": 3', '"attempts": 2, "retries": 0, "planned": 1').replace(
        log(1)[log(1).index('{"fragment": 1'):log(1).index('{"fragment": 2')], "").replace('"parent": 1', '"parent": 0'))
    run, page, md = report(ahead)
    for text in ("0 of which did not fit at first, 1 more were split ahead", "Split ahead, before any attempt, into 2 pieces", "2 attempts, split ahead, no failure",
                 "1 more were split ahead, before they could fail"):
        want(run.returncode == 0 and text in page, f"the page says \"{text}\": {run.stderr}")
    want("the whole batch" not in page.partition("ul class=tree")[2], "pieces are not the whole batch")
    bad = good[:19] + [result(10, "persistent", "wrong gradient", HOSTILE)]
    run, page, md = report(put("bad.json", sweep(bad, proof=False)))
    want(run.returncode == 1 and "1 finding," in page and "NOT proved complete" in page, "a finding is the first thing on the page")
    want(scripts(page) <= SCRIPTS and "wrong gradient" in page, f"hostile names are escaped: {scripts(page) - SCRIPTS}")
    want("wrong gradient" in md and "| findings | 1 |" in md, "the markdown has the finding")
    linked = result(10, "persistent", "leak", "https://evil.example/x www.evil.example ftp://h/ mailto:a@b")
    _, _, links = report(put("links.json", sweep([linked])))
    want("evil.example" in links and not re.search(r"(?i)(https?|ftp|mailto|xmpp):|www\.|(?<!\\)@", links), f"no address becomes a link: {links[:800]}")
    want(not re.search(r"(?<!\\)<(?!/?details>|/?summary>)|(?<!\\)@|\u2028", md), "and nothing in it is markup, or calls somebody")

    for verdict, means in re.findall(r'X\([A-Z]+, "([a-z ]+)", 1,\s+((?:"[^"]*"\s*)+)\)', open(os.path.join(
            os.path.dirname(os.path.abspath(__file__)), "../../shim/sweep/sweep.h"), encoding="utf-8").read().replace("\\\n", "\n")):
        run, page, md = report(put("one.json", sweep(good[:3] + [result(9, "once", verdict)])))
        says = "".join(re.findall('"([^"]*)"', means))
        want(f"<p>{says}</p>" in page and page.count("<h4 class=bad>") == 1, f"what \"{verdict}\" means is what the sweep says: {says}")
        failed_verdicts += 1
    want(failed_verdicts == 9, f"{failed_verdicts} kinds of findings")
    run, page, md = report(put("all.json", sweep([result(k, "once", "leak") for k in range(1, 30)])))
    want("leak, 29 times" in page and "28 more of these" in page and page.count("<details open id=") == 1, "findings of one kind are one heading")

    # cut short and missing
    run, page, md = report(put("cut.json", sweep(good)[:400]), put("killed.jsonl", log(3, False) + '{"batch":3,"poi'),
                           os.path.join(d, "none.json"), put("other.txt", "neither"))
    for text in ("the sweep was cut short", "no summary", "after 3 batches", "line 4 is not whole", "No such file", "left out"):
        want(text in page, f"the page says \"{text}\"")
    want(run.returncode == 2, f"what is missing is no finding, and not well either: {run.returncode}")
    want("✗ not complete: nothing was found wrong in what is here, but 5 parts are missing" in page and "but 5 parts" in md, "but it is said at once")

    # lines by fault: how many at each, named where a set of faults comes first, and those that none reached
    run, page, md = report(put("faults.json", lines_by_fault()))
    for text in ("3 faults reached 3 of 5 lines", "<details><summary>2</summary><ul class=faults><li>cudaMalloc net/a #1 once</li>",
                 '<a href="#f0l1" title="the same faults as at line 1">2</a>', '<summary>1/2</summary><ul class=faults><li>branch 1: <a href="#f0l2" title="the same faults as at line 2">1 fault</a></li>'
                 '<li>branch 2: <span class=bad>no fault</span></li>', "1 faults left no counters",
                 "Never reached by an injected fault: 2 lines", "trainer/recovery/a.c:3</a> <code>before();</code></li>",
                 "1 of 2 branches", "Never taken by an injected fault: 1 branches of lines that one reached", "a.c:2</a>, branch 2: <code>"):
        want(text in page, f"the page says \"{text}\"")
    want(page.count("in no run at all</span>") == 1 and scripts(page) <= SCRIPTS, "what no run reached is marked, and escaped")
    run, page, md = report(put("faults.json", lines_by_fault()[:300]), put("more.json", '{"lines_by_fault":1,"faults":[],"files":[1]}'))
    want(page.count("make coverage was stopped") == 2 and "Which fault" not in page, "lines by fault that are cut short")

    # a sweep of 10,000 points stays small
    many = [result(k, site=f"net/{k % 80}") for k in range(1, 10001)]
    run, page, md = report(put("many.json", sweep(many)))
    want(len(page) < 1000000, f"a page of {len(page)} bytes for 10,000 points")

    # coverage, and mutants
    run, page, md = report(put("coverage.json", coverage()), put("m.json", mutants()))
    for text in ("Of the code that recovers, 9 of 10 lines", "9 of 10 (90.0 %)", "1 place did not run", "1 exclusion (at most 5)",
                 "because it cannot", "of 1 the counters were lost", "1 of 2 bugs put into the recovery on purpose were noticed",
                 "breaks 7: no other failure than an out-of-memory is retried or split", "is not caught"):
        want(text in page, f"the page says \"{text}\"")
    want(run.returncode == 1 and "1 mutant not caught, 1 coverage: line not run" in page, "both are found wrong")
    want(scripts(page) <= SCRIPTS, f"and no script: {scripts(page) - SCRIPTS}")
    report(put("coverage.json", coverage()[:200]))
    old = os.path.join(d, "out/summary.json")
    whole = put("whole.json", coverage().replace('"lines":[9,10]', '"lines":[10,10]').replace('"missing":["a.c:3: did not run"]', '"missing":[]'))
    report(whole)
    os.replace(old, os.path.join(d, "before.json"))
    run, page, md = report(put("coverage.json", coverage()))
    run = subprocess.run([OOMPROOF, "report", "--compare", os.path.join(d, "before.json"), old], capture_output=True, text=True, check=False)
    want(run.returncode == 1 and "coverage: lines not run: 0 -> 1  WORSE" in run.stdout, f"coverage is compared: {run.stdout}")
    report(put("a.jsonl", log(3)))
    os.replace(old, os.path.join(d, "before.json"))
    report(put("a.jsonl", log(4)))
    run = subprocess.run([OOMPROOF, "report", "--compare", os.path.join(d, "before.json"), old], capture_output=True, text=True, check=False)
    want(run.returncode == 1 and "a.jsonl: forward passes rolled back: 3 -> 4  WORSE" in run.stdout, f"cost is compared: {run.stdout}")

    # what is no number, no list, no object where one is wanted: said, never a traceback
    odd = json.loads(sweep(good))
    odd["results"] += [1, None, {"point": "x", "bytes": [], "verdict": {}, "nth_at_site": None, "site": {"a": 1}, "stack": "no"}]
    odd["stacks"] = 7
    for k, text in enumerate((json.dumps(odd), json.dumps(dict(odd, modes=3)), '{"fault_points":{},"sites":[],"results":{},"findings":7}',
                              '{"batch":0,"attempt_list":7}\n{"batch":{},"points":"x","attempts":[],"attempt_list":[{"fragment":[],"parent":{},'
                              '"own":null,"bytes":"x"}]}\n{"summary":{"exit":[]}}', '{"coverage":1,"total":{"lines":3}}', '{"mutant":[],"cases":7}',
                              '{"oomt":1,"note":[]}', "[" * 100000, '{"fault_points":' + "[" * 100000, '{"lines_by_fault":1,"faults":[]}')):
        run, page, md = report(put(f"odd{k}.json", text))
        want("Traceback" not in run.stderr and run.returncode in (0, 1, 2) and page, f"odd file {k}: {run.returncode} {run.stderr[-600:]}")

    def compare(a, b):
        return subprocess.run([OOMPROOF, "report", "--compare", a, b], capture_output=True, text=True, check=False)
    one, two = put("old.json", sweep(good)), put("new.json", sweep(bad))
    run = compare(one, two)
    want(run.returncode == 1 and "findings: 0 -> 1  WORSE" in run.stdout, f"worse: {run.stdout}")
    run = compare(two, one)
    want(run.returncode == 0 and "findings: 1 -> 0  better" in run.stdout, f"better: {run.stdout}")
    want(compare(one, one).stdout.strip() == "nothing differs", "the same")
    few = [result(k, site=f"net/{k}") for k in range(1, 6)]
    run = compare(put("few.json", sweep(few)), put("others.json", sweep(few[2:] + [result(11, site="net/11"), result(
        12, "once", "leak", "net/\x1b[2J")])))
    for text in ("2 runs of fault points that are new:", "2 runs of fault points that are gone:", "  cudaMalloc net/1 call 1 once oom: recovered "
                 "exactly\n", "leak  WORSE"):
        want(run.returncode == 1 and text in run.stdout, f"\"{text}\" of: {run.stdout}")
    want("\x1b" not in run.stdout and "\\u001b[2J" in run.stdout, "what a terminal would obey is shown")
    report(one)
    summary = os.path.join(d, "out/summary.json")
    want(json.load(open(summary, encoding="utf-8"))["verdict"] == "clean" and compare(summary, summary).returncode == 0, "summary.json")
    want(compare(one, os.path.join(d, "none")).returncode == 2 and compare(one, put("x", "[]")).returncode == 2, "no sweep")
    want(subprocess.run([OOMPROOF, "report"], capture_output=True, check=False).returncode == 2, "nothing to report")
    run = subprocess.run([OOMPROOF, "report", "-o", "/proc/nowhere", one], capture_output=True, text=True, check=False)
    want(run.returncode == 7 and "error" in run.stderr, f"cannot be written: {run.returncode} {run.stderr}")
    said = subprocess.run([OOMPROOF, "report", "--help"], capture_output=True, text=True, check=False).stdout.partition("exit codes:")[2]
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../shim/oomproof.1"), encoding="utf-8") as f:
        manual = f.read().partition(".Pp\nOf\n.Cm report :\n")[2].partition("\n.El")[0]
    codes = re.findall(r"(?:^|[ ,])([0-9])\s", said)
    want(codes == ["0", "1", "2", "7"] and re.findall(r"(?m)^\.It ([0-9])$", manual) == codes, f"the exit codes of the manual: {codes}, {manual}")
sys.exit(checking.failed)
