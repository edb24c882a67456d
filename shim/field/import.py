"""import.py - `oomproof import`: what others recorded, as a recording of ours (fixtures/README.md).

Reads RMM's CSV logs, PyTorch's memory snapshots (the dictionary of torch.cuda.memory._snapshot() as JSON, or the pickle
of _dump_snapshot), and text in which a PyTorch out-of-memory message or a line of nvidia-smi stands. A file may come from
a stranger: a pickle may name no class or function, and nothing of it is run."""
import argparse
import csv
import io
import json
import os
import pickle
import re
import sys

SUM_START, SUM_PRIME, MASK = 14695981039346656037, 1099511628211, (1 << 64) - 1
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
MOST = 1 << 46  # bytes; more is an overflowed product, not a request


class Refused(Exception):
    """The file cannot be read; the text says why and what to do."""


class Plain(pickle.Unpickler):
    """Numbers, texts, lists and dictionaries; a pickle that names anything else could run code."""

    def find_class(self, module, name):
        raise Refused(f"the pickle names {module}.{name}; a snapshot of _dump_snapshot has only plain values")

    def persistent_load(self, pid):
        raise Refused("the pickle refers to objects outside of it")


# ---- our own format ----
def fnv(h, data):
    for byte in data:
        h = (h ^ byte) * SUM_PRIME & MASK
    return h


def facts(head, lost):
    """What the sum of the facts is over, as shim/field/fixture.c has it."""
    card = head["device"]
    return f"{head['program']}\n{head['source']}\n{card['name']}\n{card['total']} {card['free']} 0 0 0 0 {lost}\n".encode()


def write(out, head, events, lost=0):
    total, lines = SUM_START, []
    for event in events:
        line = json.dumps(event, separators=(",", ":"), ensure_ascii=True) + "\n"
        total = fnv(total, line.encode())
        lines.append(line)
    peak = max((e.get("live", 0) for e in events), default=0)
    end = {"end": {"events": len(lines), "lost": lost, "peak": peak, "sum": f"{total:016x}",
                   "facts": f"{fnv(SUM_START, facts(head, lost)):016x}"}}
    out = os.path.realpath(out)
    aside = f"{out}.{os.getpid()}.tmp"
    try:
        with open(aside, "w", encoding="ascii") as f:
            f.write(json.dumps(head, separators=(",", ":"), ensure_ascii=True) + "\n")
            f.writelines(lines)
            f.write(json.dumps(end, separators=(",", ":")) + "\n")
            f.flush()
            os.fsync(f.fileno())
        os.replace(aside, out)
    except OSError as e:
        if os.path.exists(aside):
            os.unlink(aside)
        raise Refused(f"{out} cannot be written: {e.strerror}") from e


def up(size):
    return -(-size // 512) * 512


class Stream:
    """Events in the order of the log; numbers for pointers, what was there before, live bytes."""

    def __init__(self):
        self.events, self.holds, self.block, self.size, self.sites = [], [], {}, {}, {}
        self.next, self.live = 1, 0

    def ordinal(self, call, site):
        self.sites[call, site] = self.sites.get((call, site), 0) + 1
        return self.sites[call, site]

    def add(self, kind, call, size, t, site="", stream=0, thread=0, pointer=None, code=0):
        if not 0 <= size < MOST:
            raise Refused(f"{size} bytes: no card has them; an overflowed size is a bug, not an out-of-memory")
        e = {"e": kind, "t": max(0, t), "call": call, "size": size}
        if kind == "alloc":
            self.block[pointer], self.size[pointer] = self.next, size
            self.next += 1
            self.live += up(size)
            e["p"] = self.block[pointer]
        elif kind == "free":
            if pointer not in self.block:  # it was there before the log began
                self.block[pointer], self.size[pointer] = self.next, size
                self.holds.append({"e": "hold", "size": size, "p": self.next})
                self.next += 1
            e["p"], e["size"] = self.block.pop(pointer), self.size.pop(pointer)
            self.live -= up(e["size"])
        if stream:
            e["s"] = stream
        if thread:
            e["th"] = thread
        if site:
            e["site"] = site
        e["o"] = self.ordinal(call, site)
        if kind == "fail":
            e["code"] = code
        e["live"] = self.live
        self.events.append(e)

    def all(self):
        """What was there before counts from the start, though it was found out at its end."""
        before = sum(up(h["size"]) for h in self.holds)
        for e in self.events:
            e["live"] += before
        return self.holds + self.events


# ---- RMM ----
def clock_ns(text):
    parts = [int(p) for p in re.findall(r"\d+", text)][:4]
    if len(parts) < 3:
        return 0
    fraction = re.findall(r"\d+", text)[3] if len(parts) > 3 else "0"
    return ((parts[0] * 60 + parts[1]) * 60 + parts[2]) * 10**9 + int(fraction.ljust(9, "0")[:9])


def number_of(table, key):
    return table.setdefault(key, len(table))


def from_rmm(text):
    rows = csv.DictReader(io.StringIO(text))
    s, threads, streams, start = Stream(), {}, {}, None
    for n, row in enumerate(rows, 2):
        try:
            action, size = row["Action"].strip(), int(row["Size"])
            pointer, stream = row["Pointer"].strip(), number_of(streams, row["Stream"].strip())
            t = clock_ns(row["Time"])
        except (KeyError, ValueError, AttributeError, TypeError) as e:
            raise Refused(f"line {n}: not a row of an RMM log (Thread,Time,Action,Pointer,Size,Stream)") from e
        start = t if start is None else start
        at = {"t": t - start, "stream": stream, "thread": number_of(threads, row["Thread"])}
        if action == "allocate":
            s.add("alloc", "cudaMallocAsync", size, pointer=pointer, **at)
        elif action == "allocate failure":
            s.add("fail", "cudaMallocAsync", size, code=2, **at)
        elif action == "free":
            s.add("free", "cudaFreeAsync", size, pointer=pointer, **at)
        else:
            raise Refused(f"line {n}: the action \"{action[:40]}\" is unknown")
    return s.all(), {}


# ---- PyTorch ----
def site_of(frames):
    """function (file:line) of the innermost frame that is not torch's own; no folders."""
    for f in frames or []:
        name, line = os.path.basename(str(f.get("filename", ""))), f.get("line", 0)
        if name.endswith((".py", ".cu", ".cpp", ".c")) and "torch" not in str(f.get("filename", "")):
            return f"{f.get('name', '?')} ({name}:{line})"[:200]
    return ""


def from_torch(snapshot, device):
    traces = snapshot.get("device_traces") if isinstance(snapshot, dict) else None
    if not isinstance(traces, list) or not traces:
        raise Refused("no device_traces: record with torch.cuda.memory._record_memory_history() first")
    if device is None:
        device = max(range(len(traces)), key=lambda k: len(traces[k]))
    if not 0 <= device < len(traces):
        raise Refused(f"--gpu {device}: the snapshot has the devices 0 to {len(traces) - 1}")
    s, streams, start, free, reserved = Stream(), {}, None, 0, 0
    for n, e in enumerate(traces[device]):
        try:
            action, size = e["action"], int(e.get("size", 0))
            t = int(e.get("time_us", 0)) * 1000
            at = {"site": site_of(e.get("frames")), "stream": number_of(streams, e.get("stream", 0))}
        except (KeyError, ValueError, TypeError, AttributeError) as bad:
            raise Refused(f"event {n} of the trace is not one of PyTorch's") from bad
        start = t if start is None else start
        at["t"] = t - start
        if action == "alloc":
            s.add("alloc", "malloc", size, pointer=e.get("addr"), **at)
        elif action == "free_completed":
            s.add("free", "free", size, pointer=e.get("addr"), **at)
        elif action == "oom":
            free = int(e.get("device_free", 0))
            s.add("fail", "malloc", size, code=2, **at)
    for segment in snapshot.get("segments") or []:
        reserved += int(segment.get("total_size", 0)) if segment.get("device", 0) == device else 0
    known = set(s.block)
    for segment in snapshot.get("segments") or []:  # what is there at the end and never came was there before
        address = segment.get("address", 0)
        for b in segment.get("blocks") or []:
            if segment.get("device", 0) == device and b.get("state") == "active_allocated" \
                    and b.get("address", address) not in known:
                s.holds.append({"e": "hold", "size": int(b.get("size", 0))})
            address += b.get("size", 0)
    return s.all(), {"total": reserved + free if free else 0, "free": free}


# ---- text ----
def bytes_of(number, unit):
    return int(float(number) * UNITS[unit])


SIZE = r"\b(\d+(?:\.\d+)?)\s*(B|KiB|MiB|GiB|TiB)"


def cards_of(text):
    """(used, total) MiB of each card that nvidia-smi says: of its table, or of --query-gpu=... --format=csv."""
    lines = text.splitlines()
    for n, line in enumerate(lines):
        names = [re.sub(r"\s*\[MiB\]", "", c.strip()) for c in line.split(",")]
        if "memory.total" not in names or not {"memory.used", "memory.free"} & set(names):  # as in the message below
            continue
        cards = []
        for row in lines[n + 1:]:
            cells = dict(zip(names, (c.strip().removesuffix("MiB").strip() for c in row.split(","))))
            if not re.fullmatch(r"\d+", cells.get("memory.total", "")):
                break
            total = int(cells["memory.total"])
            used = cells.get("memory.used", "0") if not cells.get("memory.free") else str(total - int(cells["memory.free"]))
            if not used.isdigit():
                break
            cards.append((int(used), total))
        return cards
    return [(int(used), int(total)) for used, total in re.findall(r"(\d+)\s*MiB\s*/\s*(\d+)\s*MiB", text)]


def card_of(text, gpu):
    """The card that is meant; which, is said where it is a guess. None: the text has none."""
    cards = cards_of(text)
    if not cards:
        return None
    named = re.search(r"GPU (\d+)", text)
    if gpu is None and named and int(named[1]) < len(cards):
        gpu = int(named[1])
    if gpu is None:
        gpu = max(range(len(cards)), key=lambda k: cards[k][0] / max(1, cards[k][1]))
        if len(cards) > 1:
            print(f"oomproof: {len(cards)} cards; the fullest is taken, --gpu {gpu}", file=sys.stderr)
    if not 0 <= gpu < len(cards):
        raise Refused(f"--gpu {gpu}: the text has the cards 0 to {len(cards) - 1}")
    return cards[gpu]


def from_text(text, gpu):
    smi = card_of(text, gpu)
    text = " ".join(text.split())  # a log may have broken the lines
    asked = re.search(r"[Tt]ried to allocate " + SIZE, text)
    if len(re.findall(r"[Tt]ried to allocate " + SIZE, text)) > 1:
        print("oomproof: more than one out-of-memory message; the first is taken", file=sys.stderr)
    plain = re.search(r"allocat(?:e|ing) ([0-9,]+) bytes", text)  # XLA, CuPy
    total = re.search(r"total capac(?:i?ty|ty) of " + SIZE, text) or re.search(SIZE + r" total capacity", text)
    free = re.search(r"of which " + SIZE + r" is free", text) or re.search(SIZE + r" free", text)
    used = re.search(SIZE + r" already allocated", text) or re.search(SIZE + r" is allocated by PyTorch", text)
    kept = re.search(SIZE + r" reserved in total", text)
    idle = re.search(SIZE + r" is reserved by PyTorch but unallocated", text)
    if not asked and not plain and not smi:
        if re.search(r"out.of.memory|cudaErrorMemoryAllocation|bad_alloc", text, re.I):
            raise Refused("a message without sizes; add a line of nvidia-smi of that card to the file, or record the job: "
                          "oomproof record -o job.oomt -- CMD")
        raise Refused("neither an RMM log, a PyTorch snapshot, nor a text with \"Tried to allocate\" or what nvidia-smi "
                      "prints: its table, or --query-gpu=memory.total,memory.free --format=csv with its first line")
    card = bytes_of(*total.groups()) if total else smi[1] << 20 if smi else 0
    left = bytes_of(*free.groups()) if free else max(0, card - (smi[0] << 20)) if smi else 0
    s = Stream()
    if card > left:
        s.holds.append({"e": "hold", "size": card - left})
    if asked or plain:
        size = bytes_of(*asked.groups()) if asked else int(plain.group(1).replace(",", ""))
        s.add("fail", "cudaMalloc", size, 0, code=2)
    held = bytes_of(*used.groups()) if used else 0
    # what the process had of the card: its cache too
    held = bytes_of(*kept.groups()) if kept else held + bytes_of(*idle.groups()) if idle else held
    return s.all(), {"total": card, "free": left, "used": held}


def rules_of(events, about):
    """What to give --faults, when there is no program to replay: a smaller card, or requests of that size."""
    lines = []
    if about.get("total"):
        room = about["used"] + about["free"] if about.get("used") else about["total"]
        lines.append(f"cudaMalloc budget={room} -> oom")
    asked = [e["size"] for e in events if e["e"] == "fail"]
    if not asked and about.get("free"):  # no request is known, but what would not have fitted
        asked = [about["free"] + 1]
    if asked:
        lines.append(f"cudaMalloc size>={min(asked)} -> oom")
    return lines


def load(path):
    """(source, value): a dictionary for a snapshot, text for the others."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as f:
                data = f.read()
    except OSError as e:
        raise Refused(e.strerror) from e
    if data[:1] == b"\x80":
        try:
            return "torch", Plain(io.BytesIO(data)).load()
        except Refused:
            raise
        except Exception as e:  # a damaged pickle fails in many ways
            raise Refused(f"a damaged pickle: {e}") from e
    if data[:1] in (b"(", b"}", b"]") and data.rstrip()[-1:] == b".":  # a pickle of the oldest protocols, or a log
        try:
            return "torch", Plain(io.BytesIO(data)).load()
        except Refused:
            raise
        except Exception:  # pylint: disable=broad-except
            pass
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):  # as PowerShell redirects
        text = data.decode("utf-16", "replace")
    else:
        text = data.decode("utf-8-sig", "replace")
    if text.lstrip()[:1] == "{":
        try:
            return "torch", json.loads(text)
        except (ValueError, RecursionError) as e:
            raise Refused(f"damaged JSON: {e}") from e
    return ("rmm" if text.startswith("Thread,Time,Action,Pointer,Size,Stream") else "text"), text


def main():
    parser = argparse.ArgumentParser(
        prog="oomproof import", add_help=True,
        description="Turns what others recorded into a recording: RMM's CSV logs, PyTorch memory snapshots (JSON or pickle), "
        "or text with an out-of-memory message of PyTorch, XLA or CuPy, or a line of nvidia-smi.",
        epilog="exit codes: 0 the recording is there, 2 usage or a file that cannot be read, which was said")
    parser.add_argument("file", help="- is standard input")
    parser.add_argument("-o", metavar="FILE", dest="out", required=True, help="the recording")
    parser.add_argument("--gpu", type=int, metavar="N", help="which device of a snapshot (that with most events), or card of nvidia-smi (that which the message "
                        "names, else the fullest)")
    parser.add_argument("--note", default="", metavar="TEXT", help="a line for readers")
    o = parser.parse_args()
    try:
        if o.file != "-" and os.path.exists(o.out) and os.path.exists(o.file) and os.path.samefile(o.file, o.out):
            raise Refused("-o names the same file; give another name")
        if os.path.exists(o.out) and not os.path.isfile(o.out):
            raise Refused(f"{o.out} is there, and not a regular file")
        source, value = load(o.file)
        try:
            events, about = from_rmm(value) if source == "rmm" else \
                {"torch": from_torch, "text": from_text}[source](value, o.gpu)
        except (TypeError, ValueError, AttributeError, KeyError, IndexError, OverflowError) as e:
            raise Refused(f"a damaged {source} file: {e}") from e
        if not events:
            raise Refused("no allocation in it")
        head = {"oomt": 1, "program": "", "source": source, "expect": "any"}
        if o.note:
            head["note"] = o.note
        head["device"] = {"name": "", "total": about.get("total", 0), "free": about.get("free", 0)}
        write(o.out, head, events)
    except Refused as e:
        print(f"oomproof: error: {'standard input' if o.file == '-' else o.file}: {e}", file=sys.stderr)
        return 2
    fails = sum(e["e"] == "fail" for e in events)
    print(f"oomproof: {o.out}: {len(events)} events ({fails} failures), from {source}", file=sys.stderr)
    rules = rules_of(events, about)
    if rules:
        print("oomproof: for oomproof run --faults, to come near to it: " + " or ".join(
            "the card as it was" if "budget" in rule else "requests as large" for rule in rules), file=sys.stderr)
    for rule in rules:
        print(rule)
    return 0


if __name__ == "__main__":
    sys.exit(main())
