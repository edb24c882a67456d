"""bench.py - prints one JSON line a row: name, value, unit, reach, bound.

A warm step of one generated scene, and what the first launch of the trainer's kernels costs with an empty cache of
compiled kernels and with a full one (that step less a warm one); what the shim adds to a call over the direct call, with
no rule, ten rules, a trace and a recording; a long recording through the models of allocators; a page of 10,000 fault
points in a browser; the sweep of the demo's step, by forking with and without pruning, against one run for each fault
point (a sample of them, scaled); a heavy-tailed stream of batches under a budget, with and without planning ahead (500 batches of 6),
and, 60 batches of it, against the largest number of scenes a batch that never fails."""
import argparse
import json
import math
import os
import re
import statistics
import subprocess
import tempfile
import time

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


def calls(directory, **environment):
    """Nanoseconds of cudaStreamQuery and of cudaMalloc and cudaFree, under the shim when environment says so."""
    env = dict(os.environ, LD_LIBRARY_PATH=os.path.join(ROOT, "build/sim"), **environment)
    out = subprocess.run([os.path.join(ROOT, "build/cases/bench_calls")], env=env, check=True, capture_output=True,
                         text=True).stdout
    return [float(x) for x in out.split()]


def shim_rows(directory):
    shim = os.path.join(ROOT, "build/lib/liboomproof.so")
    rules = "; ".join(f"cudaMalloc nth={10**9 + i} -> oom" for i in range(5))
    rules += "; " + "; ".join(f"cudaStreamQuery nth={10**9 + i} -> oom" for i in range(5))
    other = "; ".join(f"cudaMemcpy nth={i + 1} -> oom" for i in range(10))
    direct = calls(directory)
    for name, reach, environment in (
            ("shim_no_rule", 10, {}), ("shim_10_rules_for_other_calls", 30, {"OOMPROOF_FAULTS": other}),
            ("shim_5_rules_for_this_call", 30, {"OOMPROOF_FAULTS": rules}),
            ("shim_trace", 100, {"OOMPROOF_TRACE": os.path.join(directory, "trace")}),
            ("shim_record", 100, {"OOMPROOF_RECORD": os.path.join(directory, "ring")})):
        got = calls(directory, LD_PRELOAD=shim, **environment)
        # a recording keeps what allocates and frees; of the other calls it only counts
        kept, other_kind = (1, "other_calls") if name == "shim_record" else (0, "allocations")
        row(name, got[kept] - direct[kept], "ns a call over the direct call", reach, direct=direct[kept],
            **{other_kind: round(got[1 - kept] - direct[1 - kept], 2)})


def sweep_rows(directory):
    def sweep(*options):
        path = os.path.join(directory, "sweep.json")
        subprocess.run(["build/bin/oomproof", "sweep", "--device", "sim", "--json", path, *options, "--",
                        "build/bin/pointtrain", "train", "--data", "rooms:4,max=60000", "--seed", "21", "--batch", "4",
                        "--steps", "1", "--allocator", "direct", "--quiet"], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as f:
            return json.load(f)

    full = sweep()
    unpruned = sweep("--no-prune")
    sample = sweep("--no-fork", "--shard", "5/12")
    single = sample["seconds"] / sample["runs"] * full["runs"]
    row("sweep", full["seconds"], "s", 60, points=full["fault_points"], sites=full["sites"], runs=full["runs"],
        pruned=full["pruned"], findings=len(full["findings"]), proof=full["proof"])
    row("sweep_against_one_run_a_point", single / full["seconds"], "times", 10,
        forking_alone=round(single / unpruned["seconds"], 1), runs_measured=sample["runs"])


def replay_rows(directory):
    """A million events, of 300 blocks of all sizes that come and go, through each model of an allocator."""
    path, random, held = os.path.join(directory, "long.oomt"), 7, {}
    lines = []
    for number in range(1, 1000001):
        random = (random * 6364136223846793005 + 1442695040888963407) % 2**64
        place = (random >> 33) % 300
        if place in held:
            block, size = held.pop(place)
            lines.append(f'{{"e":"free","call":"cudaFree","size":{size},"p":{block}}}\n')
        else:
            held[place] = (number, 1 << (random >> 43) % 24)
            lines.append(f'{{"e":"alloc","call":"cudaMalloc","size":{held[place][1]},"p":{number}}}\n')
    sums = 14695981039346656037
    for byte in "".join(lines).encode():
        sums = (sums ^ byte) * 1099511628211 & 2**64 - 1
    with open(path, "w", encoding="ascii") as f:
        f.write('{"oomt":1,"expect":"any","device":{"total":8589934592}}\n' + "".join(lines))
        f.write(f'{{"end":{{"events":{len(lines)},"lost":0,"peak":0,"sum":"{sums:016x}"}}}}\n')
    start = time.monotonic()
    out = subprocess.run(["build/bin/oomproof", "replay", path], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    whole = time.monotonic() - start
    speed = {w[0]: float(w[6]) for w in map(str.split, out.splitlines()[2:])}
    row("stream_replay", min(speed.values()), "million events a second", 1, file_and_four_models=round(whole, 2), **speed)


def report_rows():
    """A page of 10,000 fault points in a browser, until it is drawn."""
    out = subprocess.run(["python3", "cases/report/points.py", "build", "cases/bisector"], cwd=ROOT, check=False, capture_output=True,
                         text=True).stdout
    found = re.search(r"drawn after ([0-9., ]+) s", out)
    if found:
        row("report_of_10000_points_opens", statistics.median(map(float, found[1].split(", "))), "s", 2)


def translated_rows():
    """Kernels on the simulated device against the same bodies built for the host, where a loop takes the threads' place."""
    subprocess.run(["cmake", "--build", "build", "--target", "bench_translated"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    for name, reach, checked in (("translated_kernels", 1.3, "0"), ("translated_kernels_checked", 3, "1")):
        env = dict(os.environ, LD_LIBRARY_PATH=os.path.join(ROOT, "build/sim"), OOMPROOF_DEVICE="sim",
                   OOMPROOF_SIM_CHECK=checked)
        out = subprocess.run([os.path.join(ROOT, "build/cases/bench_translated")], env=env, check=True,
                             capture_output=True, text=True).stdout
        ratios = {k: float(device) / float(host) for k, device, host in map(str.split, out.splitlines())}
        row(name, math.prod(ratios.values()) ** (1 / len(ratios)), "times the host's", reach,
            worst=round(max(ratios.values()), 2), **{k: round(r, 2) for k, r in ratios.items()})


def stream(batch, steps, budget=None, *options, until=None):
    """The batches of a run over rooms whose sizes are heavy-tailed, the largest 12 times the smallest; the run ends with
    the first that until says yes to, if there is one."""
    faults = ["--faults", f"cudaMalloc budget={budget} -> oom"] if budget else []
    run = subprocess.Popen(["build/bin/oomproof", "run", "--device", "sim", *faults, "--", "build/bin/pointtrain",
                            "train", "--data", "rooms:2000,min=500,max=6000", "--seed", "5", "--batch", str(batch),
                            "--steps", str(steps), "--quiet", "--allocator", "direct", "--log", "/dev/stdout", *options],
                           cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    batches, ended = [], False
    for b in map(json.loads, run.stdout):
        if "batch" in b and not ended:
            batches.append(b)
            ended = until is not None and until(b)
            if ended:
                run.terminate()  # it ends after the batch that it is in
    if run.wait() not in (0, 3):  # 3: the budget was never reached
        raise subprocess.CalledProcessError(run.returncode, run.args)
    return batches


def passed(batch, wanted=""):
    """Points, halo included, of the attempts of a batch."""
    tried = batch.get("attempt_list", [{"points": batch["points"], "outcome": "ok"}])
    return sum(a["points"] for a in tried if wanted in a["outcome"])


def plan_rows(steps=500, warm=100):
    """The planner that knows every batch's bytes tries a batch whole where it fits, and else the pieces that fitted."""
    free = stream(6, steps)
    peaks = sorted(b["bytes_peak"] for b in free)
    budget = peaks[steps * 6 // 10]
    over = {}
    for mode in ("on", "off"):
        run = stream(6, steps, budget, "--plan-ahead", mode)
        knows = sum(f["points"] if f["bytes_peak"] <= budget else passed(b, "ok") for f, b in zip(free[warm:], run[warm:]))
        over[mode] = 100 * (sum(map(passed, run[warm:])) / knows - 1)
        if mode == "on":
            ahead = run
    row("wasted_work_with_plan_ahead", over["on"], "% of the work of a planner that knows the bytes", 2,
        without=round(over["off"], 1), batches=steps - warm, retries=sum(b["retries"] for b in ahead[warm:]),
        do_not_fit=sum(f["bytes_peak"] > budget for f in free[warm:]))


def throughput_rows(steps=60, warm=20):
    """Points a second of batches of 6 scenes, where what does not fit is split ahead, and of the largest fixed number of
    scenes that never fails: the first, from 6 down, that no batch of the same scenes fails with; the others end at their
    first failure. 360 scenes, of which the first 120 only teach; the better of two runs of each counts."""
    def failed(b):
        return b["retries"] > 0

    def speed(run, first):
        return sum(b["points"] for b in run[first:]) / sum(b["seconds"] for b in run[first:])

    budget = sorted(b["bytes_peak"] for b in stream(6, steps))[steps * 6 // 10]
    ahead = stream(6, steps, budget)
    for size in range(6, 0, -1):
        fixed = stream(size, steps * 6 // size, budget, "--plan-ahead", "off", until=failed)
        if not failed(fixed[-1]):
            break
    else:
        raise SystemExit("no number of scenes fits, not even one")
    again = (stream(6, steps, budget), stream(size, steps * 6 // size, budget, "--plan-ahead", "off"))
    planned = max(speed(ahead, warm), speed(again[0], warm))
    plain = max(speed(run, warm * 6 // size) for run in (fixed, again[1]))
    row("throughput_with_plan_ahead", planned / plain, "times that of the largest fixed batch size that never fails", 1.5,
        bound="report", fixed_size=size, points_a_second=round(planned), of_fixed_size=round(plain), scenes=6 * steps,
        retries=sum(b["retries"] for b in ahead[warm:]))


def step_rows(directory):
    cache = os.path.join(directory, "cache")
    cold = steps(cache, 1, directory)[0]["seconds"]
    run = steps(cache, 6, directory)
    warm = statistics.median(b["seconds"] for b in run[1:])
    row("warm_step", warm, "s", 3, voxels=run[-1]["voxels"], pairs_per_voxel=round(run[-1]["pairs"] / run[-1]["voxels"], 1))
    row("first_launch_cold", cold - warm, "s", 3)
    row("first_launch_warm", run[0]["seconds"] - warm, "s", 0.05)


GROUPS = {"shim": shim_rows, "replay": replay_rows, "report": lambda _: report_rows(), "translated": lambda _: translated_rows(),
          "step": step_rows, "sweep": sweep_rows, "plan": lambda _: plan_rows(),
          "throughput": lambda _: throughput_rows()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("group", nargs="*", help="rows to make: " + ", ".join(GROUPS) + " (all, some 10 minutes)")
    chosen = parser.parse_args().group or list(GROUPS)
    for name in chosen:
        if name not in GROUPS:
            parser.error(f"{name}: not one of {', '.join(GROUPS)}")
    with tempfile.TemporaryDirectory() as directory:
        for name in chosen:
            GROUPS[name](directory)


main()
