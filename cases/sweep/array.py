"""array.py - sweeps of the trainer over its settings: every pair of values of two settings occurs in some row (make test),
or every combination (make torture; there, what is swept and what is learnt take turns instead of multiplying the rest).

  array.py pairs|all            one line a row: number and settings
  array.py pairs|all N BUILD    sweeps row N; exit code of the sweep
  array.py pairs|all I/N BUILD  sweeps every N-th row from the I-th; 1 when one of them has a finding
  array.py check                every pair is in the rows"""
import itertools
import os
import shutil
import subprocess
import sys
import tempfile

SETTINGS = {
    "program": ["pointtrain", "pointtrain-double", "pointtrain --amp fp16", "pointtrain --amp bf16"],
    "norm": ["layer", "frozen", "batch"],
    "allocator": ["direct", "caching", "async"],
    "split": ["auto", "alternate"],
    "streams": ["eager", "lazy"],
    "convs": ["1", "2"],
    "card": ["8GiB", "60MiB", "pressure"],  # with room, nearly full, filled by others while the step runs
    "fault": ["oom", "status", "sticky", "shape-nan", "budgets"],
    "part": ["step", "validate", "checkpoint"],  # what is swept
    "learning": ["plain", "sgd", "loss"],  # sgd: with onecycle; loss: smoothed, weighted, under dropout
}
# a checkpoint multiplies nothing, reads no loss and allocates nothing
IMPOSSIBLE = {("fault", fault, "part", "checkpoint") for fault in ("shape-nan", "budgets")}
LEARNING = {"plain": [], "sgd": ["--optimizer", "sgd", "--schedule", "onecycle", "--lr", "0.01"],
            "loss": ["--label-smoothing", "0.1", "--class-weights", "inverse", "--dropout", "0.3"]}
NAMES = list(SETTINGS)


def pairs_of(row):
    """Of the settings that the row has."""
    return {(a, row[a], b, row[b]) for a, b in itertools.combinations(NAMES, 2) if a in row and b in row}


def every_pair():
    return {(a, x, b, y) for a, b in itertools.combinations(NAMES, 2) for x in SETTINGS[a] for y in SETTINGS[b]} - IMPOSSIBLE


def pairwise():
    """Greedy: each row covers as many pairs that no row before has as can be had one setting at a time."""
    missing, rows = every_pair(), []
    while missing:
        first = min(missing)
        row = {first[0]: first[1], first[2]: first[3]}
        for name in NAMES:
            if name in row:
                continue

            def gain(value):
                return sum((p[0] == name and p[1] == value and row.get(p[2]) == p[3]) or
                           (p[2] == name and p[3] == value and row.get(p[0]) == p[1]) for p in missing)

            row[name] = max((v for v in SETTINGS[name] if not pairs_of({**row, name: v}) & IMPOSSIBLE), key=gain)
        rows.append({name: row[name] for name in NAMES})
        missing -= pairs_of(row)
    return rows


def product():
    *others, parts, turns = SETTINGS.values()
    rows = [dict(zip(NAMES, (*values, parts[i % len(parts)], turns[i // len(parts) % len(turns)])))
            for i, values in enumerate(itertools.product(*others))]
    return [{**row, "part": "step"} if pairs_of(row) & IMPOSSIBLE else row for row in rows]


def sweep(row, number, shards, build):
    env = dict(os.environ)
    program, *amp = row["program"].split()
    options = {"oom": [], "status": ["--status", "--calls", "*"], "sticky": ["--sticky", "--calls", "cuda*"],
               "shape-nan": ["--kinds", "shape,nan"], "budgets": ["--budgets", "8"]}[row["fault"]]
    memory = "8GiB"
    if row["card"] == "60MiB":
        memory = "100MiB" if row["program"] == "pointtrain-double" else "60MiB"
    if row["card"] == "pressure":
        env["OOMPROOF_SIM_PRESSURE"] = "20:1GiB,60:3GiB"
    if row["streams"] == "lazy":
        env["OOMPROOF_SIM_STREAMS"] = "lazy"
    if row["fault"] != "budgets":
        options += ["--shard", f"{number % shards + 1}/{shards}"]
    place, extra = tempfile.mkdtemp(), []
    if row["part"] == "validate":
        extra = ["--val", "rooms:2,max=2500"]
        options += ["--part", "validate"]
    if row["part"] == "checkpoint":
        extra = ["--checkpoint", os.path.join(place, "file"), "--checkpoint-every", "1"]
        options += ["--part", "checkpoint"] + ([] if "--calls" in options else ["--calls", "*"])
        options = options[:options.index("--shard")] + options[options.index("--shard") + 2:]  # it has few points
    command = [os.path.join(build, "bin/oomproof"), "sweep", "--device", "sim", "--sim-memory", memory, *options, "--",
               os.path.join(build, "bin", program), "train", *amp, "--data", "rooms:2,max=900", "--batch", "2", "--steps", "2",
               "--quiet", "--norm", row["norm"], "--allocator", row["allocator"], "--split", row["split"], "--convs",
               row["convs"], *LEARNING[row["learning"]], *extra]
    print("repeat:", " ".join(f"{k}={env[k]}" for k in ("OOMPROOF_SIM_PRESSURE", "OOMPROOF_SIM_STREAMS") if k in env),
          " ".join(command), flush=True)
    code = subprocess.run(command, env=env, check=False).returncode
    shutil.rmtree(place)
    return code


def main():
    rows = pairwise() if sys.argv[1] != "all" else product()
    if sys.argv[1] == "check":
        covered = set().union(*map(pairs_of, rows))
        want = every_pair()
        print(f"{len(rows)} rows, {len(want)} pairs, {len(want - covered)} of them missing")
        return len(want - covered) > 0
    if len(sys.argv) == 2:
        for number, row in enumerate(rows):
            print(number, *row.values())
        return 0
    first, _, step = sys.argv[2].partition("/")
    numbers = range(int(first) - 1, len(rows), int(step)) if step else [int(first)]
    bad = []
    for number in numbers:
        # the pairs are quick: a part of the points each
        shards = {"oom": 6, "status": 150, "sticky": 100, "shape-nan": 8, "budgets": 1}[rows[number]["fault"]]
        code = sweep(rows[number], number, shards, sys.argv[3])
        if code == 4 and rows[number]["allocator"] != "direct":
            print("row", number, "has nothing to fail: its blocks are kept from before the step")
            code = 0
        if code:
            bad.append((number, code))
    if bad:
        print("rows and exit codes:", bad)
    return bad[0][1] if bad else 0


sys.exit(main())
