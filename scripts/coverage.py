"""coverage.py FOLDER - reads gcov's counters of the recovery path, lists what did not run (file:line) and exits 1
when a line, function or branch is missing that cases/coverage/exclusions does not name. FOLDER holds the .gcno and .gcda files. With --json OUT and
--said FILE the same goes to OUT, for the report; a line of FILE is `ran N`, `failed CASE` or `lost CASE`, whose counters are
lost because only SIGKILL ended it. With --ran FUNCTION FOLDER: exit 0 when that function ran."""
import glob, json, os, subprocess, sys

MOST_EXCLUSIONS = 5
EXCLUSIONS = "cases/coverage/exclusions"


def read_exclusions():
    """{(file, text of the line): reason}; a line of the file is `FILE @ LINE @ REASON`."""
    known = {}
    for line in open(EXCLUSIONS):
        if line.strip() and not line.startswith("#"):
            parts = [p.strip() for p in line.split(" @ ")]
            if len(parts) != 3 or not all(parts):
                sys.exit(f"{EXCLUSIONS}: not `file @ line @ reason`: {line.strip()}")
            known[parts[0], parts[1]] = parts[2]
    if len(known) > MOST_EXCLUSIONS:
        sys.exit(f"{EXCLUSIONS}: {len(known)} exclusions, at most {MOST_EXCLUSIONS}")
    return known


def gcov(objects):
    """Yields (file, its gcov record); the counters of a source that never ran are all 0."""
    for note in sorted(glob.glob(f"{objects}/*.gcno")):
        out = subprocess.run([os.environ.get("GCOV", "gcov"), "--json-format", "--stdout", "--branch-probabilities", note],
                             capture_output=True, text=True, check=True).stdout
        for line in out.splitlines():
            for f in json.loads(line)["files"]:
                name = os.path.relpath(f["file"])
                if name.startswith("trainer/") and name.endswith(".c"):
                    yield name, f


def told(path):
    """What coverage.sh says of the cases that it ran."""
    out = {"runs": 0, "failed": [], "lost": []}
    for line in open(path) if path else ():
        kind, _, rest = line.strip().partition(" ")
        if kind == "ran":
            out["runs"] += int(rest)
        elif kind in out:
            out[kind].append(rest)
    return out


def nothing():
    return {"lines": [0, 0], "functions": [0, 0], "branches": [0, 0]}


def main(objects, json_path=None, said_path=None):
    known, used, missing, stale = read_exclusions(), set(), [], []
    total, by_file, cases = nothing(), {}, told(said_path)

    def count(kind, ran, where, text, what, told=1):
        if not ran and (where[0], text) in known:
            used.add((where[0], text))
            return
        for of in (total, by_file.setdefault(where[0], nothing())):
            of[kind][0] += bool(ran)
            of[kind][1] += 1
        if not ran and told:  # a line that did not run says it for its branches
            missing.append((*where, f"{what}: {text}"))

    files = 0
    for name, f in gcov(objects):
        files += 1
        text = [line.strip() for line in open(name)]
        for g in f["functions"]:
            count("functions", g["execution_count"], (name, g["start_line"]), text[g["start_line"] - 1],
                  f"the function {g['name']} did not run")
        for line in f["lines"]:
            where, src = (name, line["line_number"]), text[line["line_number"] - 1]
            count("lines", line["count"], where, src, "did not run")
            for i, b in enumerate(line["branches"]):
                count("branches", b["count"], where, src, f"branch {i + 1} of {len(line['branches'])} not taken",
                      line["count"])
    if not files:
        sys.exit(f"coverage: no counters under {objects}")
    for name, where, what in sorted(set(missing)):
        print(f"{name}:{where}: {what}")
    for key in sorted(set(known) - used):
        stale.append(key)
        print(f"{EXCLUSIONS}: excluded, and runs or is not there: {key[0]}: {key[1]}")
    print("coverage of the recovery path: " + ", ".join(
        f"{a} of {b} {kind} ({100 * a / max(b, 1):.1f} %)" for kind, (a, b) in total.items()) +
        f"; {len(known)} exclusions (at most {MOST_EXCLUSIONS}); the counters of {len(cases['lost'])} cases were lost")
    for (name, line), reason in known.items():
        print(f"  excluded: {name}: {line} ({reason})")
    if json_path:
        out = {"coverage": 1, "total": total, "files": by_file, "runs": cases["runs"], "failed": cases["failed"], "lost": cases["lost"],
               "exclusions": [{"file": name, "line": line, "reason": reason} for (name, line), reason in known.items()],
               "most_exclusions": MOST_EXCLUSIONS,
               "missing": [f"{name}:{where}: {what}" for name, where, what in sorted(set(missing))]}
        os.makedirs(os.path.dirname(json_path) or ".", exist_ok=True)
        with open(f"{json_path}.{os.getpid()}.tmp", "w") as f:
            json.dump(out, f, separators=(",", ":"))
            f.write("\n")
        os.replace(f.name, json_path)
    return 1 if missing or stale else 0


def ran(function, objects):
    return any(g["name"] == function and g["execution_count"] for _, f in gcov(objects) for g in f["functions"])


if __name__ == "__main__":
    if sys.argv[1] == "--ran":
        sys.exit(not ran(*sys.argv[2:]))
    words, options = sys.argv[1:], {}
    while len(words) > 2 and words[0] in ("--json", "--said"):
        options[words[0][2:] + "_path"] = words[1]
        words = words[2:]
    if len(words) != 1:
        sys.exit(__doc__)
    sys.exit(main(words[0], **options))
