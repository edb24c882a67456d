#!/usr/bin/env python3
"""injected.py BUILD few|all - codes in every intercepted call that pointtrain makes, one run each: which calls these are is
counted in runs with every value of every option that chooses between ways, so no call can be left out here. An out-of-memory
is recovered from with the same loss, or it came before or after all batches and the run ends with 10; anything else ends it
with 11, its call and its code told."""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

BUILD, HOW_MANY = sys.argv[1:]
OOMPROOF, POINTTRAIN = (os.path.join(BUILD, "bin", name) for name in ("oomproof", "pointtrain"))
OOM = {"cuda": 2, "cublas": 3, "cudnn": 4004}
HOST = {("cudnn", 4003)}
RUN = ["train", "--data", "rooms:2,max=700", "--batch", "2", "--steps", "1", "--val", "rooms:1,max=600", "--quiet"]
REACTIONS = {"--on-error", "--on-nan", "--on-floor", "--norm-on-split", "--plan-ahead"}  # what is done about a failure
folder = tempfile.TemporaryDirectory()


def api(call):
    return re.match("_*(cuda|cublas|cudnn)", call).group(1)


def ambiguous(call, code):
    """Codes behind which an out-of-memory may be; facts that cases/recovery/classify.c holds the trainer against."""
    if api(call) == "cuda":
        return code == 46
    if api(call) == "cublas":
        return code in (13, 14) or (code == 1 and call.startswith("cublasCreate"))
    return code == 4000 or 5000 <= code < 6000 or (code == 1001 and call == "cudnnCreate")


def settings():
    """One row of options for each value of the option with the most; each value of each option is in some row."""
    text = subprocess.run([POINTTRAIN, "train", "--help"], capture_output=True, text=True, check=True).stdout
    options = {}
    for option in re.findall("^  (--[a-z-]+) [A-Z]", text, re.M):
        asked = subprocess.run([POINTTRAIN, "train", option, "?"], capture_output=True, text=True)
        values = re.search("expected one of (.*)", asked.stderr)
        if values and option not in REACTIONS:
            options[option] = values.group(1).split()
    wanted = {"--allocator", "--norm", "--amp", "--optimizer", "--device-fields", "--split"}
    if not wanted <= set(options):
        sys.exit("pointtrain: the values of %s are no longer told" % (wanted - set(options)))
    for row in range(max(len(v) for v in options.values())):
        yield [word for option, v in options.items() for word in (option, v[row % len(v)])]


def codes():
    """{api: its error codes}, from the toolkit's headers by way of the shim's table."""
    out = {"cuda": [], "cublas": [], "cudnn": []}
    with open(os.path.join(BUILD, "shim", "codes.inc")) as f:
        for lib, code in re.findall(r"OP_(CUDA|CUBLAS|CUDNN), (\d+)", f.read()):
            if int(code):
                out[lib.lower()].append(int(code))
    return out


def run(number, options, rule):
    log, report = (os.path.join(folder.name, "%d.%s" % (number, end)) for end in ("log", "json"))
    command = [OOMPROOF, "run", "--device", "sim", "--timeout", "300", "--json", report]
    command += ["--faults", rule] if rule else []
    command += ["--", POINTTRAIN] + RUN + ["--log", log] + options
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    batches = []
    if os.path.exists(log):
        with open(log) as f:
            batches = [line for line in map(json.loads, f) if "summary" not in line]
    kept = [{k: b.get(k) for k in ("batch", "loss", "trained", "dropped", "miou", "accuracy")} for b in batches]
    summary = {}
    if os.path.exists(report):
        with open(report) as f:
            summary = json.load(f)
    return done.returncode, kept, summary, done.stderr, command


def judge(call, code, got, reference):
    rc, batches, summary, text, _ = got
    if not summary or summary["rules"][0]["fired"] != 1:
        return "the rule did not fire once"
    if rc == 0:
        if code != OOM[api(call)] and not ambiguous(call, code):
            return "swallowed"
        return None if batches == reference else "recovered, but otherwise: %s" % batches
    if code == OOM[api(call)] and "Free" in call and rc in (10, 11):
        return None  # what it did not free is noticed when memory is next compared, whatever the call has said
    told = call.replace("_v2", "") in text and "code %d)" % code in text
    if not told:
        return "the message names not the call and its code"
    if code == OOM[api(call)]:
        outside = re.search("in phase (setup|none|validate)", text) or "Free" in call or "Destroy" in call or "Trim" in call
        return None if rc == 10 and outside else "an out-of-memory within a batch was not recovered from"
    return None if rc == (10 if (api(call), code) in HOST else 11) else "exit code %d" % rc


def main():
    made = {}  # call: options, how often, reference
    for row, options in enumerate(settings()):
        rc, batches, summary, text, command = got = run(row, options, None)
        if rc:
            sys.exit("%s\nwithout a fault: %d from %s" % (text, rc, " ".join(command)))
        for call, n in summary["by_call"].items():
            if call not in made:
                made[call] = options, n, batches
    plan, known = [], codes()
    for i, (call, (options, n, reference)) in enumerate(sorted(made.items())):
        all_codes = known[api(call)]
        if HOW_MANY == "few":
            chosen = [(OOM[api(call)], (n + 1) // 2), (all_codes[(7 * i) % len(all_codes)], 1 if i % 2 else n)]
        else:
            chosen = [(code, nth) for k, code in enumerate(all_codes) for nth in sorted({1, (n + 1) // 2, n})
                      if nth == (n + 1) // 2 or code == OOM[api(call)] or (i + k) % 8 == 0]
        plan += [(call, code, nth, options, reference) for code, nth in chosen]
    bad = ran = 0
    with concurrent.futures.ThreadPoolExecutor(1 if HOW_MANY == "few" else os.cpu_count()) as pool:
        jobs = [pool.submit(run, 100 + k, options, "%s nth=%d -> error(%d)" % (call, nth, code))
                for k, (call, code, nth, options, reference) in enumerate(plan)]
        for (call, code, nth, options, reference), job in zip(plan, jobs):
            got = job.result()
            if got[0] == 2 and "cannot say" in got[3]:
                continue
            ran += 1
            wrong = judge(call, code, got, reference)
            if wrong:
                bad += 1
                print("%s nth=%d code %d: %s\n  rc %d: %s\n  repeat: %s" % (call, nth, code, wrong, got[0], got[3].strip(),
                                                                        " ".join("'%s'" % w for w in got[4])))
    print("%d calls, %d runs, %d wrong: %s" % (len(made), ran, bad, " ".join(sorted(made))))
    return bad != 0 or len(made) < 30


sys.exit(main())
