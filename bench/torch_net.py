"""torch_net.py CHECKPOINT SCENE VOXEL STEPS - pointtrain's net in PyTorch, on the CPU: run by torch_step.py in an environment
that has torch. Prints one JSON object: the loss with the parameters of the checkpoint, and the seconds of each step, by one
thread and by all.

A step is what pointtrain's is: from points to voxels of three levels and their kernel maps, forward, loss, backward, AdamW.
A sparse convolution gathers the rows of each offset, multiplies, and adds to the rows of the output."""
import json
import sys
import time

import torch
import torch.nn.functional as F

import parameters
from parameters import BLOCKS, CLASSES, FEATURES


def tensors(path):
    return [torch.frombuffer(bytearray(values), dtype=torch.float32).view(shape).requires_grad_()
            for _, shape, values in parameters.of(path)]


BITS, BIAS = 18, 1 << 17


def key_of(c):
    return (c[:, 2] + BIAS) << 2 * BITS | (c[:, 1] + BIAS) << BITS | (c[:, 0] + BIAS)


def levels(coord, feature, label, voxel):
    """Voxels of three levels, mean features and labels of the first, and for each offset the pairs (input row, output row)."""
    at = torch.floor(coord / voxel).long()
    keys, member = torch.unique(key_of(at), return_inverse=True)
    n = torch.bincount(member, minlength=len(keys))
    x = torch.zeros(len(keys), FEATURES).index_add_(0, member, feature) / n[:, None]
    count = torch.zeros(len(keys) * CLASSES).index_add_(0, member * CLASSES + label, torch.ones(len(label)))
    same, down = [], []
    for level in range(3):
        z, y, c = keys >> 2 * BITS, keys >> BITS & (1 << BITS) - 1, keys & (1 << BITS) - 1
        pairs = []
        for o in range(27):
            d = (o // 9 - 1) * (1 << 2 * BITS) + (o // 3 % 3 - 1) * (1 << BITS) + o % 3 - 1
            p = torch.searchsorted(keys, keys + d).clamp_(max=len(keys) - 1)
            out = (keys[p] == keys + d).nonzero().view(-1)
            pairs.append((p[out], out))
        same.append(pairs)
        if level == 2:
            break
        child = (z & 1) << 2 | (y & 1) << 1 | (c & 1)
        keys, parent = torch.unique((z >> 1) + BIAS // 2 << 2 * BITS | (y >> 1) + BIAS // 2 << BITS | (c >> 1) + BIAS // 2,
                                    return_inverse=True)
        fine = [(child == k).nonzero().view(-1) for k in range(8)]
        down.append([(f, parent[f]) for f in fine])
    return x, count.view(-1, CLASSES), same, down


def convolve(x, weight, pairs, rows, skip=None):
    out = x @ weight[skip] if skip is not None else torch.zeros(rows, weight.shape[2])
    for o, (i, j) in enumerate(pairs):
        if o != skip and len(i):
            out = out.index_add(0, j, x.index_select(0, i) @ weight[o])
    return out


def loss_of(p, coord, feature, label, voxel):
    x, count, same, down = levels(coord, feature, label, voxel)
    rows = [len(s[13][0]) for s in same]
    kept = {}
    for b, (name, kind, level, _, cout) in enumerate(BLOCKS):
        weight, gamma, beta = p[3 * b:3 * b + 3]
        if name.startswith("dec"):
            x = torch.cat((x, kept["enc" + name[3:]]), 1)
        if kind == "same":
            x = convolve(x, weight, same[level], rows[level], 13)
        elif kind == "down":
            x = convolve(x, weight, down[level - 1], rows[level])
        else:
            x = convolve(x, weight, [(j, i) for i, j in down[level]], rows[level])
        x = F.relu(F.layer_norm(x, (cout,), gamma, beta, 1e-5))
        kept[name] = x
    logp = F.log_softmax(x @ p[-2] + p[-1], 1)
    return -(count * logp).sum() / count.sum(), rows[0], sum(len(i) for i, _ in same[0])


def main():
    path, scene, voxel, steps = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    with open(scene, "rb") as f:
        raw = torch.frombuffer(bytearray(f.read()), dtype=torch.float32).view(-1, 6)
    with open(scene[:-3] + "i64", "rb") as f:
        label = torch.frombuffer(bytearray(f.read()), dtype=torch.int64)
    coord = raw[:, :3] - raw[:, :3].min(0).values
    one = torch.ones(len(raw), 1)
    feature = torch.cat((raw[:, 3:] / 255, 0 * one, coord[:, 2:] / (64 * voxel), one), 1)
    seconds = {}
    for threads in {1, torch.get_num_threads()}:
        torch.set_num_threads(threads)
        p = tensors(path)
        step = torch.optim.AdamW(p, lr=1e-3, weight_decay=0.01)
        seconds[threads] = []
        for i in range(steps):
            start = time.monotonic()
            step.zero_grad()
            loss, voxels, pairs = loss_of(p, coord, feature, label, voxel)
            loss.backward()
            step.step()
            seconds[threads].append(time.monotonic() - start)
            first = loss.item() if i == 0 else first
    print(json.dumps(dict(torch=torch.__version__, loss=first, voxels=voxels, pairs=pairs, seconds=seconds)))


main()
