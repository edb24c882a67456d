"""bench.py - prints one JSON line a row: name, value, unit, reach, bound.

First rows: a warm step of one generated scene, and what the first launch of the trainer's kernels costs with an
empty cache of compiled kernels and with a full one (that step less a warm one)."""
import json
import os
import statistics
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def steps(cache, n, directory):
    """The batches of a run of n steps of one room of 100,000 points."""
    log = os.path.join(directory, "log.jsonl")
    subprocess.run(
        ["build/bin/oomproof", "run", "--device", "sim", "--", "build/bin/pointtrain", "train", "--data",
         "rooms:1,max=300000", "--seed", "702", "--batch", "1", "--steps", str(n), "--quiet", "--log", log],
        cwd=ROOT, check=True, env=dict(os.environ, OOMPROOF_SIM_CACHE=cache),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(log, encoding="utf-8") as f:
        return [b for b in map(json.loads, f) if "batch" in b]


def row(name, value, unit, reach, **more):
    print(json.dumps(dict(name=name, value=round(value, 4), unit=unit, reach=reach, **more)), flush=True)


with tempfile.TemporaryDirectory() as directory:
    cache = os.path.join(directory, "cache")
    cold = steps(cache, 1, directory)[0]["seconds"]
    run = steps(cache, 6, directory)
    warm = statistics.median(b["seconds"] for b in run[1:])
    row("warm_step", warm, "s", 3, voxels=run[-1]["voxels"], pairs_per_voxel=round(run[-1]["pairs"] / run[-1]["voxels"], 1))
    row("first_launch_cold", cold - warm, "s", 3)
    row("first_launch_warm", run[0]["seconds"] - warm, "s", 0.05)
