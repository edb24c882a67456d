"""faultlines.py COUNTERS NOTES SWEEP.json OUT.json - which fault reached which line of the recovery path. Joins the
counters of a sweep's runs (OOMPROOF_COUNTERS=COUNTERS) with its JSON. NOTES holds the .gcno files;
COUNTERS/plain what ran without a fault. Reached: run after the fault was injected, in the run of that fault."""
import glob
import json
import multiprocessing
import os
import subprocess
import sys

ROOMS = ("trainer/recovery/", "trainer/device/")  # of the latter, what is compiled with counters: the allocators


def counts(folder, notes):
    """{(file, line): n} and {(file, "line:branch"): n} in one dictionary, of the counters in that folder."""
    out = {}
    for note in notes:
        link = os.path.join(folder, os.path.basename(note))
        if not os.path.exists(link):
            os.symlink(note, link)
    names = [os.path.join(folder, os.path.basename(n)) for n in notes]
    text = subprocess.run([os.environ.get("GCOV", "gcov"), "--json-format", "--stdout", "--branch-probabilities", *names],
                          capture_output=True, text=True, check=True).stdout
    for row in text.splitlines():
        for f in json.loads(row)["files"]:
            name = os.path.relpath(f["file"])
            if not name.startswith(ROOMS) or not name.endswith(".c"):
                continue
            for line in f["lines"]:
                out[name, str(line["line_number"])] = line["count"]
                for i, b in enumerate(line["branches"]):
                    out[name, f"{line['line_number']}:{i + 1}"] = b["count"]
    return out


def one(job):
    """(run, what it reached up to its first retry, and after it); None without counters."""
    run, inherits, folder, notes = job
    failed, retried = (os.path.join(folder, str(run), part) for part in ("failed", "retried"))
    if not glob.glob(os.path.join(failed, "*.gcda")):
        return run, None, None
    first = {k for k, n in counts(failed, notes).items() if n}
    # one that inherits ended there, or ran on only as a check of the other
    more = not inherits and glob.glob(os.path.join(retried, "*.gcda"))
    return run, first, {k for k, n in counts(retried, notes).items() if n} if more else set()


def main(folder, objects, sweep_path, out_path):
    with open(sweep_path, encoding="utf-8") as f:
        sweep = json.load(f)
    results = sweep["results"]
    if any("second_site" in r for r in results):
        sys.exit(f"faultlines: {sweep_path}: a sweep of pairs; the lines of a second fault are not told from those of the first")
    notes = sorted(os.path.abspath(n) for n in glob.glob(os.path.join(objects, "*.gcno")) if
                   any(os.path.exists(os.path.join(room, os.path.basename(n).split(".")[0] + ".c")) for room in ROOMS))
    if not notes:
        sys.exit(f"faultlines: no .gcno of the recovery under {objects}: build the target covered_pointtrain")
    plain = counts(os.path.join(folder, "plain"), notes)
    with multiprocessing.Pool() as pool:
        parts = {run: (a, b) for run, a, b in pool.imap_unordered(one, [(r["run"], r["inherited_from"] >= 0, folder, notes)
                                                                      for r in results], 4)}
    lost = [r["run"] for r in results if parts[r["run"]][0] is None]
    if len(lost) == len(results):
        sys.exit(f"faultlines: no run left counters under {folder}: is the program built with --coverage, and exports "
                 "__gcov_dump and __gcov_reset?")
    reached = {key: [] for key in plain}
    for r in results:
        first, rest = parts[r["run"]]
        if first is None:
            continue
        hit = first | rest
        if r["inherited_from"] >= 0:  # judged by an equal state: it goes on as that run did after its first retry
            hit |= parts[r["inherited_from"]][1] or set()
        for key in hit:
            reached.setdefault(key, []).append(r["run"])
    files = {}
    for (name, where), runs in sorted(reached.items(), key=lambda k: (k[0][0], [int(n) for n in k[0][1].split(":")])):
        kind = "branches" if ":" in where else "lines"
        f = files.setdefault(name, {"lines": {}, "branches": {}, "without_a_fault": [], "never": []})
        f[kind][where] = runs
        if kind == "lines" and not runs:
            f["never"].append(int(where))
            if plain.get((name, where)):
                f["without_a_fault"].append(int(where))
    for name, f in files.items():
        with open(name, encoding="utf-8") as source:
            f["text"] = source.read().splitlines()
    keep = ("run", "point", "call", "site", "nth_at_site", "phase", "mode", "fault", "verdict")
    out = {"lines_by_fault": 1, "command": sweep.get("command", ""), "without_counters": lost,
           "faults": [{k: r[k] for k in keep} | ({"budget": r["budget"]} if "budget" in r else {}) for r in results],
           "files": files}
    with open(out_path, "w", encoding="utf-8") as f:
        json.dump(out, f, separators=(",", ":"))
        f.write("\n")
    lines = sum(len(f["lines"]) for f in files.values())
    never = sum(len(f["never"]) for f in files.values())
    branches = [runs for f in files.values() for runs in f["branches"].values()]
    print(f"{len(results)} faults reached {lines - never} of {lines} lines and {sum(map(bool, branches))} of {len(branches)} "
          f"branches of the recovery; {never} lines were reached by none, {sum(len(f['without_a_fault']) for f in files.values())} "
          f"of which run without a fault; {len(lost)} faults left no counters: {out_path}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
