"""wrong.py BUILD - inputs that are missing, no files, endless, too large, or contradict themselves: the page is written, says so at
its top, and the exit code is none that means that all is well."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../reports/site"))
import checking  # noqa: E402
import inputs  # noqa: E402
from checking import putter, want  # noqa: E402
from samples import lines_by_fault, log, result, sweep  # noqa: E402

OOMPROOF = os.path.join(sys.argv[1], "bin/oomproof")

with tempfile.TemporaryDirectory() as d:
    put = putter(d)

    def report(*words):
        run = subprocess.run([OOMPROOF, "report", "-o", os.path.join(d, "out"), *words], capture_output=True, text=True, check=False,
                             timeout=120)
        with open(os.path.join(d, "out/index.html"), encoding="utf-8") as f:
            page = f.read()
        with open(os.path.join(d, "out/summary.json"), encoding="utf-8") as f:
            return run.returncode, page, json.load(f)

    def top(page):
        return page.partition("<nav")[0]

    results = [result(k, m) for k in range(1, 6) for m in ("once", "persistent")]
    whole = put("whole.json", sweep(results))
    got, page, summary = report(whole)
    want(got == 0 and "✓ nothing was found wrong" in page and summary["verdict"] == "clean", "whole, it is well")

    # missing, no file, endless, too large
    os.mkfifo(os.path.join(d, "pipe"))
    os.mkdir(os.path.join(d, "empty"))
    with open(os.path.join(d, "large.json"), "wb") as f:
        f.write(b'{"fault_points"')
        f.truncate((256 << 20) + 1)
    for path, says in ((os.path.join(d, "none.json"), "No such file"), (os.path.join(d, "pipe"), "neither a file nor a folder"),
                       ("/dev/zero", "neither a file nor a folder"), (os.path.join(d, "large.json"), "larger than 256 MiB"),
                       (os.path.join(d, "empty"), "nothing in this folder"), (put("cut.json", sweep(results)[:300]), "not whole"),
                       (put("x.xml", '<?xml version="1.0"?><testsuite/>'), "no test in it"), (put("odd.txt", "?"), "left out")):
        got, page, summary = report(whole, path)
        want(got == 2 and says in top(page) and "✗ not complete" in top(page) and "✓ nothing" not in page and
             summary["verdict"] == "incomplete" and summary["notes"], f"{path}: {got}, {summary['notes']}")

    # a sweep that contradicts itself
    leak = [*results[:9], result(5, "persistent", "leak")]
    for what, text, code, says in (
            ("a leak that is no finding", sweep(leak, findings=[]), 1, "1 runs went wrong that are not among its findings"),
            ("a verdict that is none", sweep([*results[:9], result(5, "persistent", "recovered exactly!")], findings=[]), 1, "gives no verdict as"),
            ("a finding that is no run", sweep(results, findings=[dict(result(9, "once", "leak"), why="", repeat="")]), 1, "1 of its findings are not"),
            ("fewer runs than were asked for", sweep(results[:8], fault_points=5, asked=10), 2, "8 of 10 runs are here"),
            ("fewer than it says", sweep(results, runs=11), 2, "says 11 runs, and 10 are here"),
            ("no runs", sweep([], fault_points=5, asked=10), 2, "holds no run"), ("nothing at all", sweep([]), 2, "holds no run"),
            ("counts of verdicts", sweep(results, verdicts={"recovered exactly": 11}), 2, "counts of verdicts"),
            ("more points than it says", sweep(results, fault_points=2), 2, "5 fault points, and says 2"),
            ("an older file with fewer points", json.dumps({k: v for k, v in json.loads(sweep(results, fault_points=9)).items() if k != "asked"}),
             2, "5 of 9 fault points are here")):
        got, page, summary = report(put("odd.json", text))
        want(got == code and says in top(page) and "✗" in top(page) and "✓ nothing" not in page, f"{what}: {got}, {summary['notes']}")
        want(summary["verdict"] != "clean", f"{what}: {summary['verdict']}")

    # what is no number where one must be
    for k, change in enumerate((dict(proof="false"), dict(fault_points=True), dict(seconds=float("nan")), dict(sites=-1), dict(runs=10 ** 400),
                                dict(finished=1), dict(verdicts=[]))):
        got, page, summary = report(put("odd.json", sweep(results, **change)))
        want(got == 2 and "damaged, and left out" in top(page), f"{list(change)}: {got}, {summary['notes']}")
    got, page, summary = report(put("odd.json", sweep([dict(result(1), bytes=10 ** 30), result(2)])))
    want(got == 2 and "is left out" in top(page), f"a huge number: {got}, {summary['notes']}")
    for what, text, says in (("a word", log(2).replace('"points": 100', '"points": "x"', 1), "points: not always a number"),
                             ("a huge one", log(2).replace('"trained": 100', '"trained": 1' + "0" * 40, 1), "trained: not always a number"),
                             ("more than there are", log(2).replace('"dropped": 0', '"dropped": 7', 1), "more points are trained"),
                             ("another total", log(2, False) + '{"summary": {"exit": 0, "batches": 2, "points": 500}}\n', "says 500 points, its batches together 200")):
        got, page, summary = report(put("odd.jsonl", text))
        want(got == 2 and says in top(page), f"{what}: {got}, {summary['notes']}")

    # told to stop: how many runs are missing, and no claim that each point was failed in each way
    got, page, summary = report(put("stopped.json", sweep(results[:7], proof=False, finished=False, fault_points=5, asked=10)))
    want(got == 1 and "1 sweep not finished; 3 runs that were asked for were not made" in top(page), "how many runs are missing")
    want("4 of 5 calls of a training step that can fail were made to fail, not each in all ways: 7 runs; 3 runs that were asked for are missing."
         in page and "in 2 ways" not in page, "and not \"in 2 ways\"")

    # JUnit of a sweep that is here as JSON is the same runs; without it, it counts; of two results the worse one does
    cases = "".join(f'<testcase classname="cudaMalloc" name="point {r["point"]} {r["site"]} oom {r["mode"]}"></testcase>' for r in results)
    junit = put("s.xml", f'<?xml version="1.0"?>\n<testsuite name="oomproof sweep">{cases}</testsuite>')
    for words in ((whole, junit), (junit, whole)):
        got, page, summary = report(*words)
        want(got == 0 and "10 tests" not in page and "10 runs" in page, "runs that are here twice are told once")
    got, page, summary = report(junit)
    want(got == 0 and "10 tests: 10 passed" in page, "JUnit alone")
    twice = put("twice.xml", '<?xml version="1.0"?><testsuite name="t"><testcase name="a"><failure/></testcase><testcase name="a"/></testsuite>')
    got, page, summary = report(twice)
    want(got == 1 and "1 test failed" in page, "of two results of one test the worse one")

    # nothing that was judged, nothing that was replayed
    got, page, summary = report(put("faults.json", lines_by_fault()))
    want(got == 0 and "– nothing here was judged" in top(page) and "✓" not in top(page), "lines by fault know no verdicts")
    for k in range(3):
        put(f"f{k}.oomt", '{"oomt":1,"note":"x"}\n')
    got, page, summary = report(*(os.path.join(d, f"f{k}.oomt") for k in range(3)))
    want("3 failures recorded in the field: not replayed here" in page and "made to happen again, none" not in page, "recordings that were not replayed")

    # a trace whose events never end: read as far as is allowed, and the reader is ended
    def endless(line):
        program = put("reader", f"#!/bin/sh\n[ \"$1\" = trace ] || exit 0\nexec yes '{line}'\n")
        os.chmod(program, 0o755)
        i = inputs.Inputs()
        inputs.add_trace(os.path.join(d, "t"), i, program)
        return len(i.traces[0]["events"]), i.notes
    event = '{"call":"cudaMalloc","seconds":0,"bytes":1}'
    inputs.EVENTS, inputs.MOST = 1000, 1 << 20
    got, notes = endless(event)
    want(got == 1000 and len(notes) == 1 and "those after the first 1,000 are missing" in notes[0], f"as many events as are read: {got}, {notes}")
    inputs.MOST = 100 * (len(event) + 1)
    got, notes = endless(event)
    want(got == 100 and len(notes) == 1 and "after the first 100 are missing" in notes[0], f"as many bytes as are read: {got}, {notes}")
sys.exit(checking.failed)
