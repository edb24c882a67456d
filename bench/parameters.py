"""parameters.py CHECKPOINT - the parameters in a checkpoint of the default net with 6 classes and 6 features, for the same net
elsewhere (torch_net.py). Run by itself: exit 0 when they are those of a net that has learnt nothing, whose scales are 1 and
whose offsets are 0, so that what is read at each place is what lies there."""
import array
import math
import struct
import sys

WIDTH, CLASSES, FEATURES = (32, 64, 128), 6, 6
BLOCKS = (  # name, kind, level of the output, input channels, output channels
    ("stem", "same", 0, FEATURES, 32), ("enc0", "same", 0, 32, 32), ("down0", "down", 1, 32, 64), ("enc1", "same", 1, 64, 64),
    ("down1", "down", 2, 64, 128), ("enc2", "same", 2, 128, 128), ("up1", "up", 1, 128, 64), ("dec1", "same", 1, 128, 64),
    ("up0", "up", 0, 64, 32), ("dec0", "same", 0, 64, 32))
TAIL = 16  # of checkpoint version 5: checksum and the mark of the end (trainer/loop/checkpoint.h)


def shapes():
    for name, kind, _, cin, cout in BLOCKS:
        yield name + ".weight", (27 if kind == "same" else 8, cin, cout)
        yield name + ".scale", (cout,)
        yield name + ".offset", (cout,)
    yield "head.weight", (WIDTH[0], CLASSES)
    yield "head.offset", (CLASSES,)


def of(path):
    """(name, shape, floats) of each tensor, in the order of a checkpoint."""
    with open(path, "rb") as f:
        image = f.read()
    version, size, count, running = struct.unpack_from("<4q", image, 8)
    if version != 5 or size != 4:
        sys.exit(f"{path}: checkpoint version {version} of {size}-byte numbers; this reads version 5 of 4: read its new form in "
                 "trainer/loop/checkpoint.h")
    # from the end: parameters, two moments and running statistics; no step is in progress
    at = len(image) - TAIL - 4 * (3 * count + running)
    out = []
    for name, shape in shapes():
        n = math.prod(shape)
        out.append((name, shape, array.array("f", image[at:at + 4 * n])))
        at += 4 * n
    if sum(math.prod(shape) for _, shape in shapes()) != count:
        sys.exit(f"{path}: {count} parameters, which are not those of this net")
    return out


def main():
    off = [name for name, _, values in of(sys.argv[1])
           if name.endswith(".scale") and set(values) != {1.0} or name.endswith(".offset") and set(values) != {0.0}
           or name.endswith(".weight") and not 0 < max(map(abs, values)) < 10]
    if off:
        print("not where they are looked for:", *off)
    return len(off) > 0


if __name__ == "__main__":
    sys.exit(main())
