"""batch.py - what a property is about: scenes of points, a device that says what fits, and how the C code is
called with them."""
import array
import ctypes
import dataclasses
import functools
import math
import struct

ATTEMPT, COMMIT, STAGE, AUGMENT, DISCARD, RELEASE, CLEAR, ALIVE, RETRY = range(9)
NAMES = "attempt commit stage augment discard release clear alive retry".split()
# how an operation may end, and the class that the recovery must take it for
FINE, OOM_LOADING, OOM, AMBIGUOUS, BUG, HOST, STICKY = range(7)
CLASS = {OOM_LOADING: 0, OOM: 0, HOST: 1, AMBIGUOUS: 2, BUG: 3, STICKY: 4}
AUTO, ALTERNATE = 0, 1
OPEN, TRAINED, FLOOR, NO_GAIN, NO_AUGMENT = range(5)
ENOUGH = 5000  # events of one batch: none that is made here comes near it


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def chance(i):
    """A number in [0, 1) by i alone."""
    x = (i + 1) * 0x9E3779B97F4A7C15 % 2**64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    return (x ^ (x >> 27)) % 2**24 / 2**24


@dataclasses.dataclass(frozen=True)
class Group:
    """n points from `at` over `extent`: evenly in a row, or scattered."""
    n: int
    at: tuple = (0.0, 0.0, 0.0)
    extent: tuple = (0.0, 0.0, 0.0)
    scattered: bool = False

    def points(self):
        for i in range(self.n):
            for a in range(3):
                u = chance(3 * i + a) if self.scattered else i / max(1, self.n - 1)
                yield self.at[a] + self.extent[a] * u


@dataclasses.dataclass(frozen=True)
class Scene:
    groups: tuple
    voxel: float = 1.0

    @functools.cached_property
    def flat(self):
        return array.array("f", [x for g in self.groups for x in g.points()])

    @property
    def n(self):
        return sum(g.n for g in self.groups)

    @functools.cached_property
    def coord(self):
        return [tuple(self.flat[3 * i:3 * i + 3]) for i in range(self.n)]

    @functools.cached_property
    def voxels(self):
        edge = f32(self.voxel)
        return [tuple(math.floor(f32(x / edge)) for x in p) for p in self.coord]


@dataclasses.dataclass(frozen=True)
class Batch:
    scenes: tuple
    mode: int = AUTO
    halo: int = 0
    worth: float = 0.9
    gather_small: int = 256
    error_at_floor: bool = False


@dataclasses.dataclass(frozen=True)
class Device:
    """The n-th attempt ends as answers[n] says; where that is None or there is none, by its bytes against the
    capacity. The other operations end as their list says, then well."""
    answers: tuple = ()
    capacity: float = math.inf
    row_bytes: int = 3
    commit: tuple = ()
    stage: tuple = ()
    augment: tuple = ()
    release: tuple = ()
    dead: bool = False

    def need(self, points, gather):
        return 4 * points + self.row_bytes * (min(points, gather) if gather else points)

    def answer(self, what, nth, points=0, gather=0):
        if what == ATTEMPT:
            if nth < len(self.answers) and self.answers[nth] is not None:
                return self.answers[nth]
            if 4 * points > self.capacity:
                return OOM_LOADING
            return OOM if self.need(points, gather) > self.capacity else FINE
        if what == ALIVE:
            return int(self.dead)
        said = {COMMIT: self.commit, STAGE: self.stage, AUGMENT: self.augment, RELEASE: self.release}.get(what, ())
        return said[nth] if nth < len(said) else FINE


@dataclasses.dataclass(frozen=True)
class Piece:
    """A fragment, as an attempt sees it."""
    rows: tuple  # (scene, point, own)
    id: int = 0
    parent: int = 0
    gather: int = 0
    spatial: int = 0
    augmented: int = 0

    def own(self):
        return [(s, p) for s, p, o in self.rows if o]

    def __repr__(self):
        some = ", ".join(f"{s}:{p}{'' if o else ' halo'}" for s, p, o in self.rows[:12])
        return (f"fragment {self.id} of {self.parent}: {len(self.own())} own of {len(self.rows)} points"
                f"{' in space' * self.spatial}, gather {self.gather}, augmented {self.augmented} [{some}"
                f"{' ...' if len(self.rows) > 12 else ''}]")


@dataclasses.dataclass(frozen=True)
class Event:
    what: int
    answer: int
    piece: object = None  # Piece of an attempt; (id, own points) of another operation; None

    def __repr__(self):
        return f"{NAMES[self.what]} -> {self.answer} ({self.piece})"


@dataclasses.dataclass(frozen=True)
class End:
    """What is left of a batch: cause -1 when it ended well."""
    cause: int
    at_floor: int
    floor_error: int
    dead: int
    fragments: int
    attempts: int
    retries: int
    splits_scene: int
    splits_space: int
    fates: tuple  # of each scene: bytes


class _Piece(ctypes.Structure):
    _fields_ = ([(k, ctypes.c_int64) for k in ("points", "own", "gather")] +
                [(k, ctypes.c_int32) for k in ("scenes", "spatial", "augmented", "id", "parent")] +
                [("scene", ctypes.POINTER(ctypes.c_int32)), ("point", ctypes.POINTER(ctypes.c_int32)),
                 ("is_own", ctypes.POINTER(ctypes.c_uint8)), ("coord", ctypes.POINTER(ctypes.c_float))])


class _Batch(ctypes.Structure):
    _fields_ = ([(k, ctypes.c_int32) for k in ("scenes", "mode", "halo", "on_floor")] +
                [("gather_small", ctypes.c_int64), ("worth", ctypes.c_double)] +
                [(k, ctypes.c_void_p) for k in ("points", "voxel", "coord")])


class _End(ctypes.Structure):
    _fields_ = ([(k, ctypes.c_int32) for k in ("status", "cause", "at_floor", "floor_error", "dead")] +
                [(k, ctypes.c_int64) for k in ("fragments", "attempts", "retries", "splits_scene", "splits_space",
                                               "bound")] +
                [("count", ctypes.c_int64 * 6)])


TELL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(_Piece))


def _piece(p):
    n = p.points
    return Piece(tuple(zip(p.scene[:n], p.point[:n], p.is_own[:n])), p.id, p.parent, p.gather, p.spatial, p.augmented)


class Library:
    """One build of the C code, and its floor."""

    def __init__(self, path):
        c = self.c = ctypes.CDLL(path)
        c.pp_run.argtypes = [ctypes.c_void_p, TELL, ctypes.c_void_p, ctypes.c_void_p]
        c.pp_split.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, TELL]
        c.pp_by_scene.argtypes = [ctypes.c_void_p, TELL]
        c.pp_split_bound.argtypes, c.pp_split_bound.restype = [ctypes.c_int64, ctypes.c_int32], ctypes.c_int64
        c.pp_queue_new.restype, c.pp_queue_list.restype = ctypes.c_void_p, ctypes.c_int64
        c.pp_queue_free.argtypes = c.pp_queue_take.argtypes = [ctypes.c_void_p]
        c.pp_queue_add.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32]
        c.pp_queue_list.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]
        self.floor, self.tries = c.pp_floor(), c.pp_tries()

    @staticmethod
    def _in(batch):
        sizes = array.array("q", [s.n for s in batch.scenes])
        voxel = array.array("f", [s.voxel for s in batch.scenes])
        coord = array.array("f")
        for s in batch.scenes:
            coord.extend(s.flat)
        at = [a.buffer_info()[0] for a in (sizes, voxel, coord)]
        b = _Batch(len(batch.scenes), batch.mode, batch.halo, batch.error_at_floor, batch.gather_small, batch.worth,
                   *at)
        return b, (sizes, voxel, coord)

    def run(self, batch, device):
        """Events, End, bound."""
        b, keep = self._in(batch)
        events, seen = [], [0] * len(NAMES)

        def tell(what, p):
            piece = None
            if p:
                piece = _piece(p[0]) if what == ATTEMPT else (p[0].id, p[0].own)
            answer = device.answer(what, seen[what], p[0].points if p else 0, p[0].gather if p else 0)
            if len(events) > ENOUGH:
                answer = BUG
            seen[what] += 1
            events.append(Event(what, answer, piece))
            return answer

        end, total = _End(), sum(keep[0])
        fate = (ctypes.c_uint8 * total)()
        self.c.pp_run(ctypes.byref(b), TELL(tell), ctypes.byref(end), fate)
        fates, at = [], 0
        for n in keep[0]:
            fates.append(bytes(fate[at:at + n]))
            at += n
        e = End(end.cause if end.status else -1, end.at_floor, end.floor_error, end.dead, end.fragments, end.attempts,
                end.retries, end.splits_scene, end.splits_space, tuple(fates))
        for f in range(6):
            assert end.count[f] == sum(x.count(f) for x in fates), f"the ledger counts {end.count[f]} of fate {f}"
        return events, e, end.bound

    def split(self, batch, cuts=()):
        """Outcome, the fragment, its halves."""
        b, keep = self._in(batch)
        got = []

        def tell(_, p):
            got.append(_piece(p[0]))
            return 0

        outcome = self.c.pp_split(ctypes.byref(b), (ctypes.c_int32 * len(cuts))(*cuts), len(cuts), TELL(tell))
        del keep
        return outcome, got[0], got[1:]

    def by_scene(self, batch):
        b, keep = self._in(batch)
        got = []

        def tell(_, p):
            got.append(_piece(p[0]))
            return 0

        outcome = self.c.pp_by_scene(ctypes.byref(b), TELL(tell))
        del keep
        return outcome, got
