"""model.py - the recovery of one batch once more, as small as its rules allow: what must happen, operation by
operation, on a given device. Lists of points and nothing else; speed is no aim."""
import dataclasses
import math

from batch import (ALIVE, ALTERNATE, AMBIGUOUS, ATTEMPT, AUGMENT, AUTO, CLASS, CLEAR, COMMIT, DISCARD, FINE, FLOOR,
                   NO_AUGMENT, NO_GAIN, OOM, OOM_LOADING, RELEASE, RETRY, STAGE, TRAINED, End, Event, Piece, f32)

MEMORY = (OOM, OOM_LOADING)


class Stop(Exception):
    """The batch ends with this class of failure."""


@dataclasses.dataclass
class Fragment:
    rows: list
    tried: set = dataclasses.field(default_factory=set)
    id: int = 0
    parent: int = 0
    gather: int = 0
    spatial: int = 0
    augmented: int = 0
    turn: int = 0  # axis of the next cut that alternates

    def own(self):
        return [(s, p) for s, p, o in self.rows if o]

    def child(self, rows):
        return Fragment(rows, self.tried & {"chunks"}, parent=self.id, gather=self.gather, augmented=self.augmented)


class Splitter:
    def __init__(self, batch, floor):
        self.batch, self.floor = batch, floor

    def coord(self, row, axis):
        return self.batch.scenes[row[0]].coord[row[1]][axis]

    def voxel(self, row):
        return self.batch.scenes[row[0]].voxels[row[1]]

    def voxels(self, rows):
        return len({(r[0],) + self.voxel(r) for r in rows})

    def halves(self, f, axis, at):
        """at None: half of the points, by coordinate, then by point id."""
        own = f.own()
        if at is None:
            own.sort(key=lambda r: (self.coord(r, axis), r[1]))
            low = own[:len(own) // 2]
        else:
            low = [r for r in own if self.coord(r, axis) < at]
        low, both = set(low), []
        for mine in (low, set(own) - low):
            box = [(min(v) - self.batch.halo, max(v) + self.batch.halo) for v in zip(*map(self.voxel, mine))]
            half = f.child([(s, p, int((s, p) in mine)) for s, p, _ in f.rows
                            if all(lo <= v <= hi for v, (lo, hi) in zip(self.voxel((s, p)), box))])
            half.spatial, half.turn = 1, (axis + 1) % 2
            both.append(half)
        return both

    def cut(self, f):
        """Two halves, or the fate of the points of f."""
        own, floor = f.own(), self.floor
        lo = [min(self.coord(r, a) for r in own) for a in range(3)]
        hi = [max(self.coord(r, a) for r in own) for a in range(3)]
        longest = max(range(3), key=lambda a: (hi[a] - lo[a], -a))
        middle = [f32(f32(lo[a] / 2) + f32(hi[a] / 2)) for a in range(3)]
        below = [sum(self.coord(r, a) < middle[a] for r in own) for a in range(3)]
        roomy = len(own) >= 2 * (floor + 1)  # two halves above the floor are possible
        if self.batch.mode == AUTO:
            if not roomy:
                return FLOOR
            small = min(below[longest], len(own) - below[longest]) <= floor
            first = (longest, None if small else middle[longest])
        else:
            assert self.batch.mode == ALTERNATE
            if len(own) <= floor:
                return FLOOR
            turns = [a for a in (f.turn, 1 - f.turn) if 0 < below[a] < len(own)]
            first = (turns[0], middle[turns[0]]) if turns else (longest, None)
        most = self.batch.worth * self.voxels(f.rows)
        for axis, at in [first] + [(a, None) for a in range(3) if roomy]:
            both = self.halves(f, axis, at)
            if all(self.voxels(h.rows) <= most for h in both):
                return both
        return NO_GAIN


class Model:
    def __init__(self, batch, floor, device):
        self.batch, self.floor, self.device = batch, floor, device
        self.splitter = Splitter(batch, floor)
        self.events, self.seen = [], {}
        self.queue, self.ids = [], 0
        self.count = dict.fromkeys("at_floor floor_error dead fragments attempts retries splits_scene splits_space"
                                   .split(), 0)
        self.fate = [bytearray(s.n) for s in batch.scenes]

    def do(self, what, f=None):
        piece = None
        if f:
            piece = (f.id, len(f.own()))
        if what == ATTEMPT:
            piece = Piece(tuple(f.rows), f.id, f.parent, f.gather, f.spatial, f.augmented)
        nth = self.seen.get(what, 0)
        self.seen[what] = nth + 1
        answer = self.device.answer(what, nth, len(f.rows) if f else 0, f.gather if f else 0)
        self.events.append(Event(what, answer, piece))
        return answer

    def must(self, what, f=None):
        answer = self.do(what, f)
        if answer != FINE:
            raise Stop(CLASS[answer])

    def twice(self, what, f):
        """Once more where it was memory."""
        answer = self.do(what, f)
        if answer in MEMORY:
            self.do(CLEAR)
            self.do(RELEASE)
            answer = self.do(what, f)
        if answer != FINE:
            raise Stop(CLASS[answer])

    def mark(self, f, fate):
        for s, p in f.own():
            assert self.fate[s][p] == 0
            self.fate[s][p] = fate

    def drop(self, f, fate):
        self.mark(f, fate)
        self.count["at_floor"] += 1
        self.do(DISCARD, f)

    def refuse(self):
        self.count["floor_error"] = 1
        raise Stop(3)

    def in_space(self, f):
        got = FLOOR
        if not f.augmented:
            answer = self.do(AUGMENT, f)
            if answer in MEMORY:
                self.do(CLEAR)
                self.must(RELEASE)
                got = NO_AUGMENT
            elif answer != FINE:
                raise Stop(CLASS[answer])
            else:
                f.augmented = 1
        if f.augmented:
            got = self.splitter.cut(f)
        if isinstance(got, int):
            if self.batch.error_at_floor:
                self.refuse()
            self.taken = True
            self.drop(f, got)
            return
        self.taken = True
        self.count["splits_space"] += 1
        refused = False
        for half in got:
            if len(half.own()) > self.floor:
                self.queue.append(half)
            elif self.batch.error_at_floor:
                refused = True
            else:
                self.drop(half, FLOOR)
        if refused:
            self.refuse()

    def after(self, f, answer):
        self.do(CLEAR)
        if answer == AMBIGUOUS:
            if "ambiguous" in f.tried:
                raise Stop(CLASS[answer])
            if self.do(ALIVE) != FINE:
                self.count["dead"] = 1
                raise Stop(4)
            f.tried.add("ambiguous")
        elif answer not in MEMORY:
            raise Stop(CLASS[answer])
        self.twice(STAGE, f)
        self.must(RELEASE)
        if answer == AMBIGUOUS:
            self.queue.insert(0, f)
        elif "again" not in f.tried:
            f.tried.add("again")
            self.queue.insert(0, f)
        elif "chunks" not in f.tried and f.augmented and len(f.rows) > self.batch.gather_small:
            f.tried.add("chunks")
            f.gather = self.batch.gather_small
            self.queue.insert(0, f)
        elif len({r[0] for r in f.rows}) > 1:
            self.count["splits_scene"] += 1
            for s in sorted({r[0] for r in f.rows}):
                self.queue.append(f.child([r for r in f.rows if r[0] == s]))
        else:
            self.in_space(f)
            return
        self.taken = True

    def one(self, f):
        self.count["attempts"] += 1
        if self.count["retries"]:
            self.do(RETRY, f)
        if not f.id:
            self.ids += 1
            f.id = self.ids
        answer = self.do(ATTEMPT, f)
        if answer != OOM_LOADING:
            f.augmented = 1
        self.taken = False
        try:
            if answer == FINE:
                self.twice(COMMIT, f)
                self.mark(f, TRAINED)
                self.count["fragments"] += 1
                self.do(DISCARD, f)
                self.taken = True
            else:
                self.after(f, answer)
        finally:
            self.count["retries"] += answer != FINE and self.taken
            if not self.taken:
                self.do(DISCARD, f)

    def run(self):
        """Events, End."""
        self.queue = [Fragment([(s, p, 1) for s, scene in enumerate(self.batch.scenes) for p in range(scene.n)])]
        cause = -1
        try:
            while self.queue:
                self.one(self.queue.pop(0))
        except Stop as stop:
            cause = stop.args[0]
            for f in self.queue:
                self.do(DISCARD, f)
        return self.events, End(cause, fates=tuple(bytes(f) for f in self.fate), **self.count)


def bound(batch, floor):
    """The most attempts, by the formulas of DESIGN: 4 remedies a fragment, and the fragments of a scene."""
    fragments = len(batch.scenes) > 1
    for s in batch.scenes:
        leaves = s.n // (floor + 1)
        if batch.mode == AUTO:
            fragments += max(1, 2 * leaves - 1)
        else:
            levels = 2 * 279 + 1 + (math.ceil(math.log2(s.n)) if s.n > 1 else 0)
            fragments += max(1, leaves * levels)
    return 4 * fragments
