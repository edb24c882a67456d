"""outputs.py BUILD - where a report goes: links, devices and pipes stay what they are, a file is replaced as a whole, and nothing
that was read is written over."""
import os
import stat
import subprocess
import sys
import tempfile
import threading

import checking
from checking import putter, want
from samples import log, result, sweep

OOMPROOF = os.path.join(sys.argv[1], "bin/oomproof")


def contents(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


with tempfile.TemporaryDirectory() as d:
    def at(name):
        return os.path.join(d, name)

    put = putter(d)

    def report(*words):
        return subprocess.run([OOMPROOF, "report", *words], capture_output=True, text=True, check=False)

    one = put("s.json", sweep([result(k, m) for k in range(1, 4) for m in ("once", "persistent")]))
    for way in ("page", "folder"):
        name = "page.html" if way == "page" else "index.html"

        def to(path, *words):
            return report(*words, *(("--html", path) if way == "page" else ("-o", os.path.dirname(path))), one)
        for kind in ("link", "null", "pipe", "dir", "hard", "loop"):
            os.mkdir(at(f"{way}-{kind}"))
        out = at(f"{way}-link/{name}")
        os.symlink("real", out)
        put(f"{way}-link/real", "old")
        os.chmod(at(f"{way}-link/real"), 0o640)
        os.link(at(f"{way}-link/real"), at(f"{way}-hard/{name}"))
        run = to(out)
        want(run.returncode == 0 and os.path.islink(out) and "<!doctype html>" in contents(at(f"{way}-link/real")),
             f"{way}: a link stays a link, what it leads to is written: {run.stderr}")
        want(contents(at(f"{way}-hard/{name}")) == "old", f"{way}: the file is replaced as a whole")
        want(stat.S_IMODE(os.stat(out).st_mode) == 0o640, f"{way}: it keeps its mode")
        want(not [x for x in os.listdir(at(f"{way}-link")) if x.startswith(".")], f"{way}: nothing is left beside it")
        os.symlink("/dev/null", at(f"{way}-null/{name}"))
        run = to(at(f"{way}-null/{name}"))
        want(run.returncode == 0 and os.path.islink(at(f"{way}-null/{name}")) and stat.S_ISCHR(os.stat("/dev/null").st_mode),
             f"{way}: a link to a device stays: {run.stderr}")
        os.mkfifo(at(f"{way}-pipe/{name}"))
        piped = []
        reader = threading.Thread(target=lambda path=at(f"{way}-pipe/{name}"): piped.append(contents(path)), daemon=True)
        reader.start()
        run = to(at(f"{way}-pipe/{name}"))
        still = stat.S_ISFIFO(os.stat(at(f"{way}-pipe/{name}")).st_mode)
        if still:
            reader.join(30)
        want(run.returncode == 0 and still and piped and piped[0].endswith("</html>\n"), f"{way}: a pipe is written into: {run.stderr}")
        os.mkdir(at(f"{way}-dir/{name}"))
        run = to(at(f"{way}-dir/{name}"))
        want(run.returncode == 2 and f"{name} is a folder" in run.stderr, f"{way}: a folder is refused: {run.returncode} {run.stderr}")
        os.symlink(name, at(f"{way}-loop/{name}"))
        run = to(at(f"{way}-loop/{name}"))
        want(run.returncode == 7 and "Traceback" not in run.stderr and "error" in run.stderr, f"{way}: a link to itself: {run.stderr}")
    stdout = at("stdout")  # as /dev/stdout, which a mistake would do away with for everybody
    os.symlink("/proc/self/fd/1", stdout)
    run = report("--html", stdout, one)
    want(run.returncode == 0 and run.stdout.startswith("<!doctype html>"), "/dev/stdout is written into")
    with open(at("said"), "w", encoding="utf-8") as f:
        subprocess.run([OOMPROOF, "report", "--html", stdout, one], stdout=f, check=False)
        f.write("more")
    want("<!doctype html>" in contents(at("said")), "also where that is a file")
    run = report("--html", at("none/page"), one)
    want(run.returncode == 7 and "No such file" in run.stderr, f"no such folder: {run.stderr}")

    # over what is read: nothing at all is written
    was = contents(one)
    os.symlink("s.json", at("other-name"))
    os.link(one, at("hard"))
    for out in (one, at("other-name"), at("hard"), os.path.join(d, ".", "s.json")):
        run = report("--html", out, one)
        want(run.returncode == 2 and "would be written over" in run.stderr and contents(one) == was, f"over its input, as {out}: {run.stderr}")
    os.mkdir(at("e"))
    summary = put("e/summary.json", sweep([result(1)]))
    for words in ((summary,), (one, summary), (at("e"),)):
        was = contents(summary)
        run = report("-o", at("e"), *words)
        want(run.returncode == 2 and contents(summary) == was and os.listdir(at("e")) == ["summary.json"],
             f"-o of a folder that is read: {run.returncode} {run.stderr}")
    # a folder with the results, and the report beside them: its own summary is no input
    os.mkdir(at("both"))
    put("both/a.jsonl", log(1))
    put("both/s.json", was)
    for _ in range(2):
        run = report("-o", at("both"), at("both"))
        want(run.returncode == 0, f"a folder of results that the report goes to: {run.returncode} {run.stderr}")
sys.exit(checking.failed)
