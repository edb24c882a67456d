"""torch_step.py - a warm step of the same net on the same scene, by PyTorch on the CPU and by pointtrain on the simulated
device, each by one thread or by all processors (OOMPROOF_SIM_THREADS), whichever is faster:
one JSON line with the ratio (reach 1.0: no slower). Ends with 77 where PyTorch cannot be had.

PyTorch comes from a virtual environment that is made here, in build/torch, with the ordinary wheels of pip (some GB); or from
the Python that OOMPROOF_TORCH_PYTHON names. Both start from one checkpoint; a first loss that differs means that the nets do,
and is an error."""
import array
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SKIP, STEPS, VOXEL = 77, 4, 0.06


def python():
    """A Python that has torch."""
    own = os.path.join(ROOT, "build/torch/bin/python")
    given = os.environ.get("OOMPROOF_TORCH_PYTHON")
    if not given and not os.path.exists(os.path.join(ROOT, "build/torch/done")):
        print("installing torch into build/torch", file=sys.stderr)
        for command in ([sys.executable, "-m", "venv", os.path.join(ROOT, "build/torch")],
                        [own, "-m", "pip", "install", "--quiet", "torch", "numpy"]):
            got = subprocess.run(command, stdout=sys.stderr)
            if got.returncode:
                print(f"skipped: PyTorch cannot be had here ({' '.join(command)} ended with {got.returncode}); name a Python "
                      "that has it in OOMPROOF_TORCH_PYTHON", file=sys.stderr)
                sys.exit(SKIP)
        open(os.path.join(ROOT, "build/torch/done"), "w", encoding="ascii").close()
    use = given or own
    got = subprocess.run([use, "-c", "import torch"], capture_output=True, text=True)
    if got.returncode:
        print(f"skipped: {use} cannot import torch: {got.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        sys.exit(SKIP)
    return use


def scene(path):
    """A room of 8 m x 6 m x 3 m with furniture, its surfaces sampled: float32 x y z r g b, and the classes beside it."""
    draw = random.Random(702)
    boxes = [(0, 0, 0, 8, 6, 0, 0), (0, 0, 0, 0, 6, 3, 1), (0, 0, 0, 8, 0, 3, 1), (8, 0, 0, 8, 6, 3, 1),
             (2, 2, .75, 4, 3, .75, 2),
             (5, 1, .45, 5.5, 1.5, .45, 3), (5, 1, .45, 5, 1.5, 1, 3), (6, 4, 0, 7.5, 4, 2, 4), (6, 4, 0, 6, 5, 2, 4),
             (0, 3, 1, 0, 4.5, 2, 5)]
    sides = [[b[3 + a] - b[a] for a in range(3)] for b in boxes]
    areas = [s[0] * s[1] + s[1] * s[2] + s[0] * s[2] for s in sides]
    points, labels = array.array("f"), array.array("q")
    for b in draw.choices(range(len(boxes)), areas, k=50000):
        at = [boxes[b][a] + sides[b][a] * draw.random() + draw.gauss(0, .01) for a in range(3)]
        points.extend(at + [float(draw.randrange(256)) for _ in range(3)])
        labels.append(boxes[b][6])
    points[3] = 255.0
    with open(path, "wb") as f:
        points.tofile(f)
    with open(path[:-3] + "i64", "wb") as f:
        labels.tofile(f)


def pointtrain(directory, steps, *options, threads=1):
    log = os.path.join(directory, "log")
    got = subprocess.run(
        ["build/bin/oomproof", "run", "--device", "sim", "--", "build/bin/pointtrain", "train", "--data",
         os.path.join(directory, "room.f32"), "--class-map", os.path.join(directory, "map"), "--voxel", str(VOXEL),
         "--batch", "1", "--augment", "0", "--schedule", "constant", "--steps", str(steps), "--quiet", "--log", log, *options], cwd=ROOT,
        capture_output=True, text=True, env=dict(os.environ, OOMPROOF_SIM_THREADS=str(threads)))
    if got.returncode:
        sys.exit(f"pointtrain ended with {got.returncode}:\n{got.stderr}")
    with open(log, encoding="utf-8") as f:
        return [b for b in map(json.loads, f) if "batch" in b]


def main():
    use = python()
    with tempfile.TemporaryDirectory() as directory:
        path, start = os.path.join(directory, "room.f32"), os.path.join(directory, "start")
        scene(path)
        with open(os.path.join(directory, "map"), "w", encoding="ascii") as f:
            f.write("".join(f"{k} {k}\n" for k in range(6)))
        first = pointtrain(directory, 1, "--lr", "0", "--checkpoint", start)[0]  # parameters as they were made
        ours = {n: statistics.median(b["seconds"] for b in pointtrain(directory, STEPS, threads=n)[1:])
                for n in {1, len(os.sched_getaffinity(0))}}
        got = subprocess.run([use, os.path.join(ROOT, "bench/torch_net.py"), start, path, str(VOXEL), str(STEPS)],
                             capture_output=True, text=True)
        if got.returncode:
            sys.exit(f"torch_net.py ended with {got.returncode}:\n{got.stderr}")
        theirs = json.loads(got.stdout)
    if (first["voxels"], first["pairs"]) != (theirs["voxels"], theirs["pairs"]) or \
            abs(first["loss"] - theirs["loss"]) > 1e-4 * first["loss"]:
        sys.exit(f"not the same net: loss {first['loss']}, {first['voxels']} voxels, {first['pairs']} pairs; in PyTorch {theirs}")
    own = min(ours, key=ours.get)
    mine = ours[own]
    seconds = {n: statistics.median(s[1:]) for n, s in theirs["seconds"].items()}
    threads = min(seconds, key=seconds.get)
    torch = seconds[threads]
    print(json.dumps(dict(name="warm_step_against_pytorch", value=round(mine / torch, 4), unit="times PyTorch's", reach=1.0,
                          seconds=round(mine, 3), pytorch=round(torch, 3), voxels=first["voxels"],
                          pairs_per_voxel=round(first["pairs"] / first["voxels"], 1), torch=theirs["torch"],
                          own_threads=own, threads=int(threads), loss=first["loss"], loss_pytorch=theirs["loss"])))


main()
