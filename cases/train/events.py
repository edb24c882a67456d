"""events.py CASE WRITER - event files through a reader that is their own, and TensorBoard's where it is installed."""
import math
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

OK, INPUT, HOST, INTERNAL = 0, 1, 3, 5
PREFIX = "events.out.tfevents."


def crc32c(data):
    r = 0xFFFFFFFF
    for byte in data:
        r ^= byte
        for _ in range(8):
            r = r >> 1 ^ (0x82F63B78 if r & 1 else 0)
    return r ^ 0xFFFFFFFF


def masked(data):
    r = crc32c(data)
    return ((r >> 15 | r << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    with open(path, "rb") as f:
        data = f.read()
    at = 0
    while at < len(data):
        assert at + 12 <= len(data), f"{path}: half of a length at {at}"
        n, of_length = struct.unpack_from("<QI", data, at)
        assert of_length == masked(data[at:at + 8]), f"{path}: checksum of the length at {at}"
        assert at + 16 + n <= len(data), f"{path}: half of a record at {at}"
        body = data[at + 12:at + 12 + n]
        assert struct.unpack_from("<I", data, at + 12 + n)[0] == masked(body), f"{path}: checksum at {at}"
        yield body
        at += 16 + n


def varint(data, at):
    x = shift = 0
    while True:
        x |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if not data[at - 1] & 0x80:
            return x, at


def fields(data, known):
    """{name: value} of a message whose fields are {(number, wire type): name}; one that is not known, or comes twice, is
    an error."""
    out, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        name, wire = known[key >> 3, key & 7], key & 7
        assert name not in out, name
        if wire == 0:
            out[name], at = varint(data, at)
        elif wire == 2:
            n, at = varint(data, at)
            assert at + n <= len(data), name
            out[name], at = data[at:at + n], at + n
        else:
            n = {1: 8, 5: 4}[wire]
            out[name], at = struct.unpack_from({1: "<d", 5: "<f"}[wire], data, at)[0], at + n
    return out


def events(path):
    """(time, step, kind, ...) of each event."""
    for body in records(path):
        e = fields(body, {(1, 1): "time", (2, 0): "step", (3, 2): "version", (5, 2): "summary", (7, 2): "session"})
        step = e.get("step", 0)
        head = e["time"], step - (1 << 64) if step >> 63 else step
        if "version" in e:
            yield *head, "version", e["version"].decode()
        elif "session" in e:
            yield *head, "session", fields(e["session"], {(1, 0): "status"})["status"]
        else:
            v = fields(fields(e["summary"], {(1, 2): "value"})["value"], {(1, 2): "tag", (2, 5): "simple"})
            yield *head, "scalar", v["tag"].decode(), v["simple"]


def files(folder):
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.startswith(PREFIX)]


def scalars(folder):
    """{tag: [(step, value)]} as a reader shows it that takes files in the order of their names."""
    out = {}
    for path in files(folder):
        for e in events(path):
            if e[2] == "session" and e[3] == 1:
                for tag in out:
                    out[tag] = [p for p in out[tag] if p[0] < e[1]]
            if e[2] == "scalar":
                out.setdefault(e[3], []).append((e[1], e[4]))
    return out


class Writer:
    def __init__(self, program):
        self.p = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def do(self, line, want=OK, text=""):
        print(line, file=self.p.stdin, flush=True)
        answer = self.p.stdout.readline()
        assert answer.startswith(f"{want} ") and text in answer, f"{line[:80]}: {answer!r}, not {want} {text}"

    def end(self, want=0):
        self.p.stdin.close()
        assert self.p.wait() == want, self.p.returncode


def as_float(x):
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def same(a, b):
    return a == b or (math.isnan(a) and math.isnan(b))


VALUES = [0.0, -0.0, 1.0, -1.5, 0.1, 1e-45, 3.4e38, 1e300, -1e300, math.inf, -math.inf, math.nan, 16777217.0]
STEPS = [0, 1, 127, 128, 16383, 16384, 2**31, 2**40, 2**62]


def numbers_come_back_as_they_were_written(writer, folder):
    assert crc32c(b"123456789") == 0xE3069283
    w, tags = Writer(writer), ["loss", "recover/retries", "Data.load/seconds", "a b \"c\" \\", "t" * 200]
    runs = os.path.join(folder, "runs", "first")
    before = time.time()
    w.do(f"open 0 {runs}")
    for tag in tags:
        for i, step in enumerate(STEPS):
            w.do(f"scalar {step} {VALUES[i % len(VALUES)]!r} {tag}")
    for i, value in enumerate(VALUES):
        w.do(f"scalar {i} {value!r} all")
    w.do("scalar -3 7 below")
    w.do("scalar 0 1 Stra\u00dfe\tx")
    w.do("close")
    w.end()
    after = time.time()
    paths = files(runs)
    assert len(paths) == 1 and os.listdir(runs) == [os.path.basename(paths[0])], os.listdir(runs)
    got = list(events(paths[0]))
    assert [e[2:] for e in got[:2]] == [("version", "brain.Event:2"), ("session", 1)], got[:2]
    assert all(e[2] == "scalar" for e in got[2:])
    assert all(before - 1e-3 <= e[0] <= after + 1e-3 for e in got), "the clock"
    got = scalars(runs)
    assert list(got) == tags + ["all", "below", "Stra__e_x"], list(got)
    for tag in tags:
        assert [s for s, _ in got[tag]] == STEPS, tag
        assert all(same(v, as_float(VALUES[i])) for i, (_, v) in enumerate(got[tag])), tag
    assert all(same(v, as_float(x)) for (_, v), x in zip(got["all"], VALUES, strict=True)), got["all"]
    assert got["below"] == [(-3, 7)]


def a_killed_run_loses_nothing(writer, folder):
    w = Writer(writer)
    w.do(f"open 0 {folder}")
    for i in range(50):
        w.do(f"scalar {i} {i} x")
    print("kill", file=w.p.stdin, flush=True)
    w.end(-signal.SIGKILL)
    assert scalars(folder) == {"x": [(i, i) for i in range(50)]}


def a_full_disk_leaves_whole_records_and_the_run_goes_on(writer, folder):
    w = Writer(writer)
    w.do(f"open 0 {folder}")
    for i in range(3):
        w.do(f"scalar {i} {i} x")
    path, = files(folder)
    whole = os.path.getsize(path)
    for room in range(0, 30, 7):  # ends in the length, in its checksum, in the message
        w.do(f"limit {whole + room}")
        w.do("scalar 3 3 a-longer-tag-than-the-next", HOST, f"{path}: cannot be written: File too large")
        assert os.path.getsize(path) == whole, "half of a record is left"
    w.do("limit -")
    w.do("scalar 4 4 x")
    w.do("close")
    w.end()
    assert scalars(folder) == {"x": [(i, i) for i in (0, 1, 2, 4)]}
    w = Writer(writer)
    w.do("limit 10")
    w.do(f"open 5 {folder}", HOST, "cannot be written: File too large")
    w.end()
    assert files(folder) == [path], "a file with no event in it is left"


def resumed(writer, folder):
    """Two runs in one second, the second from step 5 on, and then a third beside files from the future."""
    for first, last in ((0, 9), (5, 7)):
        w = Writer(writer)
        w.do(f"open {first} {folder}")
        for i in range(first, last + 1):
            w.do(f"scalar {i} {10 * first + i} x")
        w.end()
    for number in ("9000000000", "09000000001", "10000000000000", "x", "99999999999999999999999"):
        with open(os.path.join(folder, f"{PREFIX}{number}.other"), "wb"):
            pass
    w = Writer(writer)
    w.do(f"open 7 {folder}")
    w.do("scalar 7 700 x")
    w.end()
    return {"x": [(i, i) for i in range(5)] + [(5, 55), (6, 56), (7, 700)]}


def a_resumed_run_replaces_what_comes_after_its_start(writer, folder):
    want = resumed(writer, folder)
    ours = [path for path in files(folder) if path.endswith(".pointtrain")]
    assert [next(e[3] for e in events(path) if e[2] == "scalar") for path in ours] == ["x"] * 3
    assert os.path.basename(ours[2]) == f"{PREFIX}9000000002.pointtrain", ours
    assert scalars(folder) == want, scalars(folder)


def runs_that_start_at_once_get_files_of_their_own(writer, folder):
    for number in (9000000000, 9999999999):
        with open(os.path.join(folder, f"{PREFIX}{number}.pointtrain"), "wb"):
            pass
    w = Writer(writer)
    w.do(f"faster {folder}")
    w.do(f"open 0 {folder}")
    w.do("scalar 0 1 ours")
    w.do("close")
    got = [[e[3] for e in events(path) if e[2] == "scalar"] for path in files(folder)]
    assert got == [[], ["other"], ["ours"], []], got
    with open(os.path.join(folder, f"{PREFIX}9999999998.other"), "wb"):
        pass
    w.do(f"open 0 {folder}", INPUT, "File exists; name another folder")
    w.end()


def what_cannot_be_used_is_refused_with_its_reason(writer, folder):
    w, there = Writer(writer), os.path.join(folder, "file")
    with open(there, "wb"):
        pass
    w.do(f"open 0 {there}", INPUT, f"{there}: cannot be read: Not a directory; name another folder")
    w.do(f"open 0 {there}/below/it", INPUT, f"{there}/below: cannot be made: Not a directory; name another folder")
    w.do("open 0 /proc/none", INPUT, "/proc/none: cannot be made: ")
    w.do("open 0 /proc", INPUT, f"/proc/{PREFIX}")
    w.do("open 0 ", INPUT, "cannot be read: No such file")
    w.do("open 0 " + "long/" * 1000, INPUT, "too long for the name of a folder: long/")
    w.do(f"open 0 {folder}")
    w.do("scalar 0 1 ", INTERNAL, "a tag of 0 bytes; 1 to 200 are possible")
    w.do("scalar 0 1 " + "t" * 201, INTERNAL, "a tag of 201 bytes")
    w.do("scalar 0 1 x")
    w.end()
    assert scalars(folder) == {"x": [(0, 1)]}


def tensorboard_reads_the_same(writer, folder):
    try:
        from tensorboard.backend.event_processing import event_accumulator, plugin_event_accumulator
        from tensorboard.util import tensor_util
    except ImportError as why:
        print(f"no tensorboard here: {why}")
        sys.exit(77)
    numbers_come_back_as_they_were_written(writer, folder)
    runs = os.path.join(folder, "runs", "first")
    a = event_accumulator.EventAccumulator(runs)
    a.Reload()
    want = scalars(runs)
    assert sorted(a.Tags()["scalars"]) == sorted(want), a.Tags()
    for tag, points in want.items():
        got = [(p.step, p.value) for p in a.Scalars(tag)]
        assert len(got) == len(points), tag
        assert all(g[0] == p[0] and same(g[1], p[1]) for g, p in zip(got, points)), (tag, got)
    again = os.path.join(folder, "again")
    want = resumed(writer, again)["x"]
    a = plugin_event_accumulator.EventAccumulator(again)
    a.Reload()
    got = [(p.step, tensor_util.make_ndarray(p.tensor_proto).item()) for p in a.Tensors("x")]
    assert got == want, got


def main():
    case, writer = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        globals()[case](writer, folder)


if __name__ == "__main__":
    main()
