"""rules.py - what must hold of one example, each rule by itself, whatever the model says."""
import collections
import ctypes

from batch import (ALTERNATE, AMBIGUOUS, ATTEMPT, AUTO, BUG, CLASS, COMMIT, DISCARD, ENOUGH, FINE, FLOOR, HOST, OOM,
                   OOM_LOADING, OPEN, STICKY, TRAINED, Batch, Device, Group, Scene)
from model import Fragment, Splitter
from model import bound as most_attempts

CUT, AT_FLOOR, NO_GAIN = range(3)


def queue(lib, orders):
    q, want, ids = lib.c.pp_queue_new(), collections.deque(), 0
    for order in orders:
        if order == "take":
            got = lib.c.pp_queue_take(q)
            assert got == (want.popleft() if want else 0), f"took {got}"
        else:
            ids += 1
            lib.c.pp_queue_add(q, ids, order == "front")
            (want.appendleft if order == "front" else want.append)(ids)
        room, last = (ctypes.c_int32 * (ids + 2))(), ctypes.c_int32()
        n = lib.c.pp_queue_list(q, room, ids + 2, ctypes.byref(last))
        got = list(room[:list(room).index(0)])
        assert got == list(want) and n == len(want), f"it holds {got} and says {n}; wanted {list(want)}"
        assert last.value == (want[-1] if want else 0), f"its end is {last.value}"
    lib.c.pp_queue_free(q)


def within(batch, own, halo):
    """Points of the scene whose voxel is at most `halo` from the box of these own points."""
    voxels = batch.scenes[own[0][0]].voxels
    box = [(min(v) - halo, max(v) + halo) for v in zip(*(voxels[p] for _, p in own))]
    return [p for p, v in enumerate(voxels) if all(lo <= x <= hi for x, (lo, hi) in zip(v, box))]


def whole(batch, piece):
    """A spatial piece holds all points of the scene that its own points' net can see, and no other; so also every
    point of each voxel that it owns a point of."""
    assert [p for _, p, _ in piece.rows] == within(batch, piece.own(), batch.halo), f"not its halo: {piece}"


def cut(lib, batch, cuts):
    outcome, parent, halves = lib.split(batch, cuts)
    assert outcome >= 0, f"pp_split says {outcome}"
    own, floor = parent.own(), lib.floor
    voxels = batch.scenes[0].voxels
    least = 2 * (floor + 1) if batch.mode == AUTO else floor + 1
    assert (outcome == AT_FLOOR) == (len(own) < least), f"outcome {outcome} for {len(own)} own points"
    if outcome != CUT:
        assert not halves
        if outcome == NO_GAIN:
            assert batch.worth < 1 or len(own) < least
        return outcome
    assert len(halves) == 2
    for half in halves:
        mine = set(half.own())
        assert mine and len(mine) < len(own), f"a half of {len(mine)} of {len(own)} own points"
        assert batch.mode == ALTERNATE or len(mine) > floor, f"a half at the floor: {half}"
        assert set(r[:2] for r in half.rows) <= set(r[:2] for r in parent.rows), "a half has what its parent has not"
        assert len({voxels[p] for _, p, _ in half.rows}) <= batch.worth * len({voxels[p] for _, p, _ in parent.rows})
        assert half.spatial and half.augmented == parent.augmented
        whole(batch, half)
    assert sorted(halves[0].own() + halves[1].own()) == own, "the own points are not shared out without rest"
    # what the halves own of a voxel is what their parent owned of it: its loss is counted once
    count = collections.Counter(voxels[p] for _, p in own)
    for half in halves:
        count.subtract(voxels[p] for _, p in half.own())
    assert not any(count.values()), "a voxel's own points are not its parent's"
    separated(batch.scenes[0].coord, halves)
    if not cuts:
        model = Splitter(batch, floor).cut(Fragment(list(parent.rows)))
        assert [h.rows for h in halves] == [tuple(h.rows) for h in model], f"cut elsewhere than DESIGN says: {halves}"
    return outcome


def separated(coord, halves):
    """Along some axis all own points of the first half come before those of the second, by coordinate and id."""
    for a in range(3):
        low, high = ([(coord[p][a], p) for _, p in h.own()] for h in halves)
        if max(low) < min(high):
            return
    raise AssertionError("the halves lie in each other")


def by_scene(lib, batch):
    outcome, pieces = lib.by_scene(batch)
    assert outcome == 0 and len(pieces) == len(batch.scenes)
    for s, piece in enumerate(pieces):
        assert list(piece.rows) == [(s, p, 1) for p in range(batch.scenes[s].n)], f"scene {s} became {piece}"
        assert not piece.spatial


def ended(lib, batch, device, events, end, bound):
    """One run of a batch, by its attempts."""
    assert len(events) < ENOUGH, "it does not end"
    tries = [e for e in events if e.what == ATTEMPT]
    assert end.attempts == len(tries) <= bound <= most_attempts(batch, lib.floor), \
        f"{len(tries)} attempts, the bound is {bound}, by its formula {most_attempts(batch, lib.floor)}"
    trained = collections.Counter()
    by_id = collections.defaultdict(list)
    for k, e in enumerate(tries):
        by_id[e.piece.id].append(k)
    first = {i: tries[at[0]].piece for i, at in by_id.items()}
    depth = {}
    for i, at in by_id.items():
        assert at == list(range(at[0], at[0] + len(at))), f"fragment {i} was not taken up again at once: {at}"
        depth[i] = depth[first[i].parent] + 1 if first[i].parent else 0
        one_fragment(lib, batch, [tries[k] for k in at])
    assert list(first) == sorted(first) and list(depth.values()) == sorted(depth.values()), "not first in, first out"
    for i, piece in first.items():
        if piece.parent:
            child(batch, piece, first[piece.parent], tries[by_id[piece.parent][-1]].piece)
    for parent in {p.parent for p in first.values()} - {0}:
        siblings([p for p in first.values() if p.parent == parent], batch)
    for k, e in enumerate(tries):
        if e.answer in (BUG, HOST, STICKY):
            assert k == len(tries) - 1 and end.cause == CLASS[e.answer], "went on after what is no lack of memory"
    # what was committed is what the ledger says was trained, each point once
    for k, e in enumerate(events):
        if e.what == COMMIT and e.answer == FINE:
            trained.update(first[e.piece[0]].own())
    assert all(n == 1 for n in trained.values()), "a point was trained twice"
    said = {(s, p) for s, f in enumerate(end.fates) for p in range(len(f)) if f[p] == TRAINED}
    assert said == set(trained), "the ledger's trained points are not those of the commits"
    if end.cause < 0:
        assert not any(OPEN in f for f in end.fates), "points are in no fragment"
        assert batch.mode == ALTERNATE or not any(e.what == DISCARD and e.piece[0] == 0 for e in events), \
            "a half was dropped untried"
        assert end.fragments == sum(e.what == COMMIT and e.answer == FINE for e in events)
    if batch.error_at_floor:
        assert all(set(f) <= {OPEN, TRAINED} for f in end.fates), "dropped where that is an error"


def one_fragment(lib, batch, tries):
    """All attempts of one fragment: the mildest remedy first, each once, on the same points."""
    assert len(tries) <= lib.tries
    piece = tries[0].piece
    remedies = []
    for before, after in zip(tries, tries[1:]):
        assert after.piece.rows == piece.rows, "a retry has other points"
        smaller = after.piece.gather != before.piece.gather
        remedies.append("ambiguous" if before.answer == AMBIGUOUS else "chunks" if smaller else "again")
        assert before.answer in (OOM, OOM_LOADING, AMBIGUOUS), "tried again after it went well"
        assert not smaller or (0 < after.piece.gather == batch.gather_small < len(piece.rows) and
                               after.piece.augmented and before.answer != AMBIGUOUS)
    assert len(set(remedies)) == len(remedies), f"a remedy twice: {remedies}"
    mild = [r for r in remedies if r != "ambiguous"]
    assert mild == ["again", "chunks"][:len(mild)], f"not the mildest first: {remedies}"
    if piece.spatial:
        assert len(piece.own()) > lib.floor, f"tried at the floor: {piece}"
        whole(batch, piece)


def child(batch, piece, parent, last):
    """A piece of what failed last is a smaller part of it."""
    assert set(piece.own()) < set(parent.own()), "a piece owns as much as its parent"
    assert len(piece.rows) <= len(parent.rows) and piece.parent < piece.id
    assert piece.gather == last.gather, "a smaller workspace that did not suffice was forgotten"
    assert piece.spatial or len({s for s, _, _ in parent.rows}) > 1, "a scene was not cut in space"
    assert len({s for s, _, _ in piece.rows}) == 1, "a piece of several scenes"


def siblings(pieces, batch):
    own = [r for p in pieces for r in p.own()]
    assert len(own) == len(set(own)), "two pieces own the same point"
    if not pieces[0].spatial:
        assert [p.rows[0][0] for p in pieces] == sorted(p.rows[0][0] for p in pieces), "scenes out of order"
    elif len(pieces) == 2:
        separated(batch.scenes[pieces[0].rows[0][0]].coord, pieces)


def same(model, library):
    """Operation by operation."""
    for k, (want, got) in enumerate(zip(model[0], library[0])):
        assert want == got, f"operation {k + 1}: the model does\n  {want}\nand the library\n  {got}"
    assert len(model[0]) == len(library[0]), \
        f"the model ends after {len(model[0])} operations, the library after {len(library[0])}"
    assert model[1] == library[1], f"the model ends with\n  {model[1]}\nand the library with\n  {library[1]}"


def dropped(end):
    return {(s, p) for s, f in enumerate(end.fates) for p in range(len(f)) if f[p] not in (OPEN, TRAINED)}


def by_bytes(lib, batch, device, more):
    batch = Batch(batch.scenes, batch.mode, batch.halo, batch.worth, batch.gather_small)
    events, end, bound = lib.run(batch, device)
    ended(lib, batch, device, events, end, bound)
    sizes = [s.n for s in batch.scenes]
    assert end.cause < 0
    lost = dropped(end)
    if device.need(sum(sizes), 0) <= device.capacity:
        assert end.attempts == 1 and not lost, "all fits, and that was not seen at once"
    if all(device.need(n, 0) <= device.capacity for n in sizes):
        assert not lost and end.splits_space == 0, "every scene fits, and something was cut or dropped"
    richer = Device(capacity=device.capacity + more, row_bytes=device.row_bytes)
    assert dropped(lib.run(batch, richer)[1]) <= lost, f"{more} bytes more, and more is dropped"
    _, once, _ = lib.run(batch, Device(answers=(OOM,)))
    assert once.attempts == 2 and not dropped(once) and once.splits_scene == once.splits_space == 0, \
        "a failure that went away split or dropped something"
    return len(lost)


def at_the_floor(lib, near, far, mode):
    """`near` points here and `far` ones further off: only the whole does not fit."""
    floor = lib.floor
    scene = Scene((Group(near, extent=(0.5, 0.1, 0.1), scattered=True),
                   Group(far, at=(1000.0, 0.0, 0.0), extent=(0.5, 0.1, 0.1), scattered=True)), voxel=0.01)
    batch = Batch((scene,), mode=mode, halo=14, worth=10.0, gather_small=10**6)
    device = Device(answers=(OOM, OOM))
    events, end, bound = lib.run(batch, device)
    ended(lib, batch, device, events, end, bound)
    tried = [len(e.piece.own()) for e in events if e.what == ATTEMPT][2:]
    fate = end.fates[0]
    if mode == AUTO:
        n = near + far
        if n < 2 * (floor + 1):  # one half would be at the floor, wherever the cut
            assert not tried and set(fate) == {FLOOR}
            return
        halves = [near, far] if min(near, far) > floor else [n // 2, n - n // 2]
        assert tried == halves and set(fate) == {TRAINED}, f"{tried} were tried, of {near} and {far} points"
        return
    kept = [n for n in (near, far) if n > floor]
    assert tried == kept, f"{tried} were tried, of {near} and {far} points"
    for n, part in ((near, fate[:near]), (far, fate[near:])):
        assert set(part) == {TRAINED if n > floor else FLOOR}, f"{n} points: {set(part)}"
    assert end.at_floor == 2 - len(kept)
    assert sum(e.what == DISCARD for e in events) == 2
