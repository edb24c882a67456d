"""array.py - sweeps of the trainer over its settings: every pair of values of two settings occurs in some row (make test),
or every combination that there is (make torture). Of a row's fault points a share is tried: in make test every so manieth,
in make torture some that are drawn by SEED (1) and the row's number; with SEED=2 others.

  array.py pairs|all            one line a row: number and settings
  array.py pairs|all N BUILD    sweeps row N; exit code of the sweep
  array.py pairs|all I/N BUILD  sweeps every N-th row from the I-th; 1 when one of them has a finding
  array.py told                 what make torture tries of it
  array.py check                every pair is in the rows, and every combination in the product"""
import itertools
import json
import math
import os
import random
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
    # with room, just large enough, too small once others took of it in the step, with room in too small pieces then
    "card": ["8GiB", "full", "pressure", "pieces"],
    "fault": ["oom", "status", "sticky", "shape-nan", "budgets"],
    "part": ["step", "validate", "checkpoint"],  # what is swept
    "learning": ["plain", "sgd", "loss"],  # sgd: with onecycle, of two batches a step; loss: smoothed, weighted, under dropout
}
# a checkpoint multiplies nothing, reads no loss and allocates nothing
IMPOSSIBLE = {("fault", fault, "part", "checkpoint") for fault in ("shape-nan", "budgets")}
LEARNING = {"plain": [], "sgd": ["--optimizer", "sgd", "--schedule", "onecycle", "--lr", "0.01", "--accum", "2"],
            "loss": ["--label-smoothing", "0.1", "--class-weights", "inverse", "--dropout", "0.3"]}
NAMES = list(SETTINGS)
POINTS = 4  # of each row of the product


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
    rows = (dict(zip(NAMES, values)) for values in itertools.product(*SETTINGS.values()))
    return [row for row in rows if not pairs_of(row) & IMPOSSIBLE]


def undisturbed(oomproof, train, env, memory):
    """How often the run retries by itself, and how often since memory was fragmented; None: it fails."""
    with tempfile.TemporaryDirectory() as place:
        log = os.path.join(place, "log")
        # a checkpoint of the row's own goes where this run's log does
        train = [os.path.join(place, "file") if before == "--checkpoint" else word for before, word in zip(["", *train], train)]
        got = subprocess.run([oomproof, "run", "--device", "sim", "--sim-memory", memory, "--", *train, "--log", log],
                             env=env, check=False, capture_output=True)
        if got.returncode:
            return None
        with open(log, encoding="utf-8") as f:
            lines = list(map(json.loads, f))
        return sum(b["retries"] for b in lines if "batch" in b), sum("fragmented" in json.dumps(b) for b in lines)


def least_card(oomproof, train, env):
    """MiB of the smallest card on which the run goes as with all memory."""
    low, high = 8, 256  # too small, large enough
    while high - low > 1:
        middle = (low + high) // 2
        run = undisturbed(oomproof, train, env, f"{middle}MiB")
        low, high = (middle, high) if run is None or run[0] else (low, middle)
    return high


def pieces(allocator, oomproof, train, env):
    """The pressure that leaves pieces in which not every batch has room, but the run ends well."""
    tries = [f"{request}:0/1MiB" for request in range(12, 4, -1)] if allocator == "caching" else [
        f"60:0/{kib}KiB" for kib in (256, 192, 128, 96, 64, 48, 32)]
    for pressure in tries:
        run = undisturbed(oomproof, train, {**env, "OOMPROOF_SIM_PRESSURE": pressure}, "8GiB")
        if run and run[0]:
            print(f"undisturbed: {run[0]} retries, {run[1]} of the log's lines say that memory is fragmented")
            return pressure
    print("undisturbed: in no pieces there are retries")
    return tries[0]


def sweep(row, points, build):
    """points: the options that choose some of them."""
    env = dict(os.environ)
    program, *amp = row["program"].split()
    options = {"oom": [], "status": ["--status", "--calls", "*"], "sticky": ["--sticky", "--calls", "cuda*"],
               "shape-nan": ["--kinds", "shape,nan"], "budgets": ["--budgets", "8"]}[row["fault"]]
    memory = "8GiB"
    if row["streams"] == "lazy":
        env["OOMPROOF_SIM_STREAMS"] = "lazy"
    if row["fault"] != "budgets" and row["part"] != "checkpoint":  # which has few points
        options += points
    place, extra = tempfile.mkdtemp(), []
    if row["part"] == "validate":
        # more than a step takes, so that a cache has to ask for it
        extra = ["--val", "rooms:2,min=5000,max=6000" if row["allocator"] == "caching" else "rooms:2,max=2500"]
        options += ["--part", "validate"]
    if row["part"] == "checkpoint":
        extra = ["--checkpoint", os.path.join(place, "file"), "--checkpoint-every", "1"]
        options += ["--part", "checkpoint"] + ([] if "--calls" in options else ["--calls", "*"])
    oomproof = os.path.join(build, "bin/oomproof")
    train = [os.path.join(build, "bin", program), "train", *amp, "--data", "rooms:2,max=900", "--batch", "2", "--steps", "2",
             "--quiet", "--norm", row["norm"], "--allocator", row["allocator"], "--split", row["split"], "--convs",
             row["convs"], *LEARNING[row["learning"]], *extra]
    if row["card"] in ("full", "pressure"):
        memory = f"{least_card(oomproof, train, env)}MiB"
    if row["card"] == "pressure":
        env["OOMPROOF_SIM_PRESSURE"] = "8:1MiB" if row["allocator"] == "caching" else "60:1MiB,200:2MiB"
    if row["card"] == "pieces":
        env["OOMPROOF_SIM_PRESSURE"] = pieces(row["allocator"], oomproof, train, env)
    command = [oomproof, "sweep", "--device", "sim", "--sim-memory", memory, *options, "--", *train]
    print("repeat:", " ".join(f"{k}={env[k]}" for k in ("OOMPROOF_SIM_PRESSURE", "OOMPROOF_SIM_STREAMS") if k in env),
          " ".join(command), flush=True)
    code = subprocess.run(command, env=env, check=False).returncode
    shutil.rmtree(place)
    return code


def main():
    everything = sys.argv[1] == "all"
    rows = product() if everything else pairwise()
    if sys.argv[1] == "check":
        covered = set().union(*map(pairs_of, rows))
        want, full = every_pair(), product()
        most = math.prod(map(len, SETTINGS.values()))
        left_out = sum(most // len(SETTINGS[p[0]]) // len(SETTINGS[p[2]]) for p in IMPOSSIBLE)
        print(f"{len(rows)} rows, {len(want)} pairs, {len(want - covered)} of them missing; the product: {len(full)} rows, of {most} "
              f"combinations {left_out} cannot be")
        return len(want - covered) > 0 or len({tuple(row.values()) for row in full}) != most - left_out
    if sys.argv[1] == "told":
        print(f"settings.product_I_of_96: all {len(product())} combinations of the trainer's settings, a part of them each; of the fault points "
              f"of a combination {POINTS}, drawn by its number and SEED (1). One: ctest --test-dir build -R 'settings.product_1_of_96$'")
        return 0
    if len(sys.argv) == 2:
        for number, row in enumerate(rows):
            print(number, *row.values())
        return 0
    first, _, step = sys.argv[2].partition("/")
    order = list(range(len(rows)))
    if everything:
        random.Random(1).shuffle(order)  # each shard has some of all, and takes as long as any other
    numbers = order[int(first) - 1::int(step)] if step else [int(first)]
    seed, bad = int(os.environ.get("SEED", "1")), []
    if everything:
        print(f"{len(numbers)} of the {len(rows)} combinations; of the fault points of each, {POINTS} that are drawn by SEED={seed}", flush=True)
    for number in numbers:
        row = rows[number]
        if everything:
            points = ["--sample", str(POINTS), "--seed", str((seed * len(rows) + number) % 2 ** 30)]
        else:
            shards = {"oom": 6, "status": 150, "sticky": 100, "shape-nan": 8, "budgets": 1}[row["fault"]]
            points = ["--shard", f"{number % shards + 1}/{shards}"]
        code = sweep(row, points, sys.argv[3])
        if everything and code == 4 and row["allocator"] != "direct":
            print("row", number, "has nothing to fail: its blocks are kept from before the step")
            code = 0
        if code:
            bad.append((number, code))
    if bad:
        print("rows and exit codes:", bad)
    return bad[0][1] if bad else 0


sys.exit(main())
