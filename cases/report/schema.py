"""schema.py BUILD fits|strict - what the commands write for programs, held against reports/schema/*.json. fits: real outputs,
of every kind of sweep; strict: a field more or less, at any depth, does not fit, nor does one that no schema describes."""
import copy
import json
import os
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed (scripts/bootstrap.sh installs it)")
    sys.exit(77)

BUILD, ROOT = os.path.abspath(sys.argv[1]), os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
OOMPROOF, CASES = os.path.join(BUILD, "bin/oomproof"), os.path.join(BUILD, "cases")
TRAIN = [os.path.join(BUILD, "bin/pointtrain"), "train", "--data", "rooms:2,max=900", "--batch", "2", "--steps", "1", "--quiet",
         "--allocator", "direct"]
failed = 0


def want(holds, what):
    global failed
    if not holds:
        print("not so:", what)
        failed = 1


def schemas():
    found = {}
    for name in ("sweep", "run", "summary", "faults", "coverage"):
        with open(os.path.join(ROOT, f"reports/schema/{name}.schema.json"), encoding="utf-8") as f:
            found[name] = json.load(f)
        jsonschema.Draft202012Validator.check_schema(found[name])
    return found


def validators(found):
    """Each by itself: a schema refers to no other file, so that any validator can use it. What a sweep and a summary share is the same."""
    want(all(found["summary"]["$defs"][n] == found["sweep"]["$defs"][n] for n in ("verdict", "result")), "the summary's results are a sweep's")
    for name, s in found.items():
        refs = [x["$ref"] for _, x in places(s) if isinstance(x.get("$ref"), str)]
        want(all(r.startswith("#/$defs/") for r in refs), f"{name} refers to another file: {refs}")
    return {n: jsonschema.Draft202012Validator(s) for n, s in found.items()}


def no_constant(word):
    raise ValueError(f"{word} is not JSON")


def outputs(d):
    """[(schema, what it is, the value)], as the commands wrote them."""
    made, sweeps = [], []

    def take(schema, path, what):
        try:
            with open(path, encoding="utf-8") as f:
                made.append((schema, what, json.load(f, parse_constant=no_constant)))
        except (OSError, ValueError) as e:
            want(False, f"{what}: {e}")

    def command(codes, *words, **more):
        run = subprocess.run(words, capture_output=True, text=True, check=False, env=dict(os.environ, **more))
        want(run.returncode in codes, f"{' '.join(words)} ended with {run.returncode}: {run.stderr}")

    def sweep(what, codes, options, program, **more):
        path = os.path.join(d, f"sweep{len(sweeps)}.json")
        command(codes, OOMPROOF, "sweep", "--device", "sim", "--json", path, *options, "--", *program, **more)
        take("sweep", path, what)
        sweeps.append(path)
    broken, infinite = [os.path.join(CASES, "sweep_broken")], [os.path.join(CASES, "sweep_infinite")]
    sweep("clean, once and for good", (0,), ("--sample", "4"), TRAIN)
    sweep("budgets", (0,), ("--budgets", "3"), TRAIN)
    sweep("pairs", (0,), ("--pairs", "--once", "--sample", "1"), TRAIN)
    sweep("another error", (0,), ("--status", "--calls", "cuda*", "--once"), broken)
    sweep("700", (0,), ("--sticky", "--sample", "2"), TRAIN)
    for bug in ("leak", "crash", "swallow"):
        sweep(bug, (1,), ("--once",), broken, BUG=bug)
    sweep("every point a run", (1,), ("--once", "--no-fork", "--shard", "1/2"), broken, BUG="loses-half")
    sweep("infinite", (1,), ("--once",), infinite)
    sweep("not a number", (1,), ("--once",), infinite, NAN="1")
    measures = [r.get("measure") for s, what, x in made if what in ("infinite", "not a number") for r in x["results"]]
    want(measures == [None, None], f"a distance that is no number is null: {measures}")

    path = os.path.join(d, "run.json")
    for what, codes, rules in (("no rule", (0,), ()), ("rules", (0,), ("--faults", "cudaMalloc phase=forward nth=2 -> oom")), ("a rule that never fired", (3,), ("--faults", "cudaMalloc nth=9999 -> oom"))):
        command(codes, OOMPROOF, "run", "--device", "sim", *rules, "--json", path, "--", *TRAIN)
        take("run", path, what)
    for what, files in (("of clean sweeps", sweeps[:3]), ("of all", sweeps + [os.path.join(d, "none")])):
        command((0, 1), OOMPROOF, "report", "-o", os.path.join(d, "out"), *files)
        take("summary", os.path.join(d, "out/summary.json"), what)
    if os.path.exists(os.path.join(CASES, "covered_pointtrain")):
        path = os.path.join(d, "faults.json")
        command((0,), "sh", os.path.join(ROOT, "scripts/faultlines.sh"), BUILD, path, "--sample", "2", "--", "--data",
                "rooms:2,max=900", "--batch", "2")
        take("faults", path, "lines by fault")
    runs, path = os.path.join(BUILD, "cases/coverage/runs"), os.path.join(d, "coverage.json")
    if os.path.exists(runs):
        few = os.path.join(d, "runs")
        with open(runs, encoding="utf-8") as f, open(few, "w", encoding="utf-8") as g:
            g.writelines(f.readlines()[:3])
        command((1,), "sh", os.path.join(ROOT, "scripts/coverage.sh"), BUILD, OOMPROOF_COVERAGE_RUNS=few, OOMPROOF_COVERAGE_OUT=path)
        take("coverage", path, "coverage of three cases")
    return made


def places(value, path=()):
    """Every object inside the value, by its path."""
    if isinstance(value, dict):
        yield path, value
    for key, inside in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inside, path + (key,))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def fits(check, made):
    for schema, what, value in made:
        for e in list(check[schema].iter_errors(value))[:3]:
            want(False, f"{schema}, {what}: {'/'.join(map(str, e.absolute_path))}: {e.message[:300]}")


# maps, whose keys are data, and what may be left out
MAPS = {"verdicts", "by_call", "figures", "files", "lines", "branches"}
MAY_GO = {"measure", "worst", "budget", "second_site", "stack", "why"}


def strict(check, found, made):
    tried, seen = 0, set()
    for schema, what, value in made:
        for path, inside in places(value):
            if path and path[-1] in MAPS:
                continue
            # one of each kind of object is enough: its place without indices, and its keys
            kind = (schema, tuple(k for k in path if not isinstance(k, int)), tuple(sorted(inside)))
            if kind in seen:
                continue
            seen.add(kind)
            for key in [None, *inside]:
                changed = copy.deepcopy(value)
                if key is None:
                    at(changed, path)["surprise"] = 1
                elif key in MAY_GO and not (key == "why" and "findings" in path):
                    continue
                else:
                    del at(changed, path)[key]
                tried += 1
                want(not check[schema].is_valid(changed), f"{schema}, {what}: {'/'.join(map(str, path))} "
                     f"{'with a field more' if key is None else 'without ' + key} still fits")
    want(tried > 60, f"{tried} changes tried")
    print(f"{tried} changes of {len(seen)} kinds of object")
    for name, s in found.items():  # documented: each field says what it is
        for path, inside in places(s):
            if path and path[-1] == "properties":
                for field, says in inside.items():
                    want(any(k in says for k in ("description", "$ref")) or field in ("value", "modes"),
                         f"{name}: {field} is not described")


known = schemas()
with tempfile.TemporaryDirectory() as folder:
    got = outputs(folder)
if sys.argv[2] == "fits":
    fits(validators(known), got)
else:
    strict(validators(known), known, got)
sys.exit(failed)
