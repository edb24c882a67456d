"""properties.py [NAME ...] [--libraries DIR] [--examples N] [--seed N|random] [--broken] - properties of the queue
and the splitter alone, over batches and devices that Hypothesis makes up and makes small again when one breaks a
property.
Without NAME: all of them. --broken: of a library that was broken on purpose; exit 0 when that is seen. The seed is 1
unless told otherwise, so that every run tries the same examples."""
import argparse
import os
import sys

try:
    import hypothesis
except ImportError:
    other = "/usr/bin/python3"  # Debian's, where its packages are
    if os.path.exists(other) and not os.environ.get("OOMPROOF_PROPERTIES_AGAIN"):
        os.environ["OOMPROOF_PROPERTIES_AGAIN"] = "1"
        os.execv(other, [other] + sys.argv)
    print("skipped: Hypothesis is not installed for Python (Debian: python3-hypothesis; scripts/bootstrap.sh takes it)")
    sys.exit(77)
import collections
import traceback

from hypothesis import strategies as st

import rules
from batch import (ALTERNATE, AMBIGUOUS, ATTEMPT, AUTO, BUG, FINE, FLOOR, HOST, NO_AUGMENT, NO_GAIN, OOM,
                   OOM_LOADING, STICKY, TRAINED, Batch, Device, Group, Library, Scene)
from model import Model

HERE = os.path.dirname(os.path.abspath(__file__))
VOXEL = 0.0625

# ---- what is made up ----
PLACES = st.sampled_from([0.0, 0.05, 1.0, -3.0, 1e-45, 5000.0]) | st.floats(-6000, 6000, width=32)
EXTENTS = st.sampled_from([0.0, 0.05, 0.5, 6.0, 400.0, 1e-42])


def triples(of):
    return st.tuples(of, of, of)


@st.composite
def scenes(draw, floor, most):
    """Sizes around those where a rule changes, in up to 4 groups: single points, duplicates, poles, clouds."""
    edges = [e for e in (1, floor - 1, floor, floor + 1, 2 * floor + 1, 2 * floor + 2, 2 * floor + 3, 4 * floor + 4)
             if e <= most]
    left = draw(st.integers(1, most) | st.sampled_from(edges))
    groups = []
    for more in range(draw(st.integers(0, 3)), -1, -1):
        n = draw(st.integers(0, left)) if more else left
        if n:
            groups.append(Group(n, draw(triples(PLACES)), draw(triples(EXTENTS)), draw(st.booleans())))
        left -= n
    return Scene(tuple(groups), draw(st.sampled_from([VOXEL, 1.0])))


def batches(lib, most, number=3):
    return st.builds(Batch, st.lists(scenes(lib.floor, most), min_size=1, max_size=number).map(tuple),
                     mode=st.sampled_from([AUTO, ALTERNATE]), halo=st.sampled_from([0, 1, 3, 14]),
                     worth=st.sampled_from([0.9, 10.0, 0.6]),
                     gather_small=st.sampled_from([1, lib.floor, 3 * lib.floor]),
                     error_at_floor=st.sampled_from([False, False, False, True]))


def byte_devices(most):
    return st.builds(Device, capacity=st.integers(0, 8 * most) | st.integers(0, 100), row_bytes=st.integers(0, 40))


def adversaries(most):
    """Any answer to any attempt, most of them out of memory; now and then another operation fails too."""
    answer = st.sampled_from([None, None, OOM, OOM, OOM, OOM_LOADING, FINE, AMBIGUOUS])
    memory = st.lists(st.sampled_from([FINE, FINE, OOM]), max_size=3).map(tuple)
    ends = st.sampled_from([()] * 7 + [(BUG,), (HOST,), (STICKY,), (AMBIGUOUS, AMBIGUOUS)])
    operation = st.just(()) | memory
    return st.builds(lambda a, end, **rest: Device(answers=tuple(a) + end, **rest), st.lists(answer, max_size=40), ends,
                     capacity=st.sampled_from([0, 0, 8 * most]) | st.integers(0, 8 * most),
                     row_bytes=st.integers(0, 40), commit=operation, stage=operation,
                     augment=st.sampled_from([(), (), (OOM,), (OOM, OOM, OOM), (BUG,)]),
                     release=st.sampled_from([()] * 5 + [(OOM,), (FINE, FINE, BUG)]),
                     dead=st.sampled_from([False, False, True]))


def starved():
    """Next to nothing can be loaded, and bringing a fragment to its augmented state may fail as well."""
    return st.builds(Device, capacity=st.integers(0, 60),
                     augment=st.sampled_from([(OOM,), (OOM, OOM, OOM), (FINE, OOM)]))


def devices(most):
    return byte_devices(most) | adversaries(most) | starved()


# Known situations, so that every run meets each whatever the seed brings. They come last: what Hypothesis finds, it
# makes small.
def situations(floor):
    row = Scene((Group(3 * floor, extent=(400.0, 0.0, 0.0)),))
    cloud = Scene((Group(9 * floor, extent=(6.0, 6.0, 6.0), scattered=True),), VOXEL)
    same = Scene((Group(4 * floor + 1),))
    roomy = dict(worth=10.0, gather_small=floor)
    return [(Batch((row, cloud), **roomy), Device(capacity=0)),
            (Batch((row, cloud), mode=ALTERNATE, **roomy), Device(capacity=0)),
            (Batch((row, cloud), **roomy), Device(capacity=60 * floor)),
            (Batch((cloud,), **roomy), Device(answers=(OOM,) * 9)),
            (Batch((same,)), Device(answers=(OOM,) * 9)),
            (Batch((same,), **roomy), Device(capacity=0)),
            (Batch((row, cloud)), Device(capacity=0, augment=(OOM,) * 9)),
            (Batch((cloud,)), Device(answers=(AMBIGUOUS,))),
            (Batch((cloud,)), Device(answers=(AMBIGUOUS, AMBIGUOUS))),
            (Batch((cloud,)), Device(answers=(AMBIGUOUS,), dead=True)),
            (Batch((row, cloud), error_at_floor=True), Device(capacity=0)),
            (Batch((row,)), Device(answers=(OOM, BUG)))]


# ---- the properties: each takes the libraries and the count of what it met, and returns a test, what its
# examples must have met, and those known situations ----
def the_queue_is_a_queue(lib, met):
    """First in, first out; what is put in front comes next; the count is right; nothing hangs on."""
    @hypothesis.given(st.lists(st.sampled_from(["back", "front", "take"]), max_size=60))
    def test(orders):
        rules.queue(lib["low"], orders)
        met["orders"] += len(orders)
    return test, ["orders"], []


def a_cut_leaves_two_halves_and_nothing_else(lib, met):
    low = lib["low"]

    @hypothesis.given(batches(low, 60, 1), st.lists(st.integers(0, 1), max_size=4))
    def test(batch, cuts):
        outcome = rules.cut(low, batch, cuts)
        met[("cut", "at the floor", "no gain")[outcome]] += 1
    return test, ["cut", "at the floor", "no gain"], [
        (Batch(b.scenes[-1:], b.mode, worth=b.worth), path) for b, _ in situations(low.floor)
        for path in ([], [1], [0, 0, 0])]


def a_batch_is_taken_apart_by_scene(lib, met):
    @hypothesis.given(batches(lib["low"], 30, 6))
    def test(batch):
        rules.by_scene(lib["low"], batch)
        met["scenes"] += len(batch.scenes)
    return test, ["scenes"], []


def tally(met, events, end):
    answers = [e.answer for e in events if e.what == ATTEMPT]
    met["attempts"] += len(answers)
    met["splits by scene"] += end.splits_scene
    met["splits in space"] += end.splits_space
    met["ambiguous"] += answers.count(AMBIGUOUS)
    met["dead"] += end.dead
    met["errors at the floor"] += end.floor_error
    met["smaller chunks"] += any(e.piece.gather for e in events if e.what == ATTEMPT)
    met["ended by a failure"] += end.cause >= 0
    for name, fate in (("trained", TRAINED), ("floor", FLOOR), ("no gain", NO_GAIN), ("not augmented", NO_AUGMENT)):
        met[f"points {name}"] += sum(f.count(fate) for f in end.fates)


EVERYTHING = ["splits by scene", "splits in space", "ambiguous", "dead", "errors at the floor", "smaller chunks",
              "ended by a failure", "points trained", "points floor", "points no gain", "points not augmented"]


def any_device_ends_in_the_ledger(lib, met):
    """Every point trained or dropped once, within the bound, in the order of the queue, by the mildest remedy left."""
    low = lib["low"]

    @hypothesis.given(batches(low, 60), devices(120))
    def test(batch, device):
        events, end, bound = low.run(batch, device)
        rules.ended(low, batch, device, events, end, bound)
        assert (events, end, bound) == low.run(batch, device), "the same batch went another way the second time"
        tally(met, events, end)
    return test, EVERYTHING, situations(low.floor)


def any_device_takes_the_steps_of_the_model(lib, met):
    low = lib["low"]

    @hypothesis.given(batches(low, 60), devices(120))
    def test(batch, device):
        events, end, _ = low.run(batch, device)
        rules.same(Model(batch, low.floor, device).run(), (events, end))
        tally(met, events, end)
    return test, EVERYTHING, situations(low.floor)


def a_device_of_bytes_drops_no_more_than_it_must(lib, met):
    """Fits: one attempt. Every scene fits: nothing is dropped. More memory: nothing is dropped that was not before.
    One failure that goes away: neither split nor dropped."""
    low = lib["low"]

    @hypothesis.given(batches(low, 60), byte_devices(120), st.integers(1, 400))
    def test(batch, device, more):
        met["dropped"] += rules.by_bytes(low, batch, device, more)
    return test, ["dropped"], [(b, Device(capacity=c), c + 1) for b, _ in situations(low.floor)[:2]
                               for c in (0, 100)]


def a_half_of_exactly_the_floor_is_at_the_floor(lib, met):
    def make(which, over, rest, mode):
        floor = lib[which].floor
        met[f"{which}: {'auto' if mode == AUTO else 'alternate'} {over:+d}"] += 1
        rules.at_the_floor(lib[which], floor + over, floor + rest, mode)

    @hypothesis.given(st.sampled_from(["low", "real"]), st.integers(-2, 2), st.integers(1, 40),
                      st.sampled_from([ALTERNATE, AUTO]))
    def test(which, over, rest, mode):
        make(which, over, rest, mode)
    return test, ["real: alternate +0", "real: alternate +1", "low: alternate +0"], [
        (which, over, rest, mode) for which in ("low", "real") for over in (-1, 0, 1, 2) for rest in (1, 2, 3)
        for mode in (ALTERNATE, AUTO)]


def the_real_floor_keeps_every_property(lib, met):
    real = lib["real"]

    @hypothesis.given(batches(real, 2600, 2), devices(5000))
    def test(batch, device):
        events, end, bound = real.run(batch, device)
        rules.ended(real, batch, device, events, end, bound)
        rules.same(Model(batch, real.floor, device).run(), (events, end))
        tally(met, events, end)
    return test, EVERYTHING, situations(real.floor)


PROPERTIES = [the_queue_is_a_queue, a_cut_leaves_two_halves_and_nothing_else, a_batch_is_taken_apart_by_scene,
              any_device_ends_in_the_ledger, any_device_takes_the_steps_of_the_model,
              a_device_of_bytes_drops_no_more_than_it_must, a_half_of_exactly_the_floor_is_at_the_floor,
              the_real_floor_keeps_every_property]


class Libraries(dict):
    """Loaded when they are asked for."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def __missing__(self, which):
        floor = {"low": 4, "real": 500}[which]
        self[which] = Library(os.path.join(self.folder, f"libproperties_{floor}.so"))
        assert self[which].floor == floor
        return self[which]


def run(which, lib, seed, examples, folder, phases):
    met = collections.Counter()
    made, wanted, known = which(lib, met)
    settings = hypothesis.settings(max_examples=examples, deadline=None, database=None, print_blob=False,
                                   report_multiple_bugs=False, phases=phases,
                                   suppress_health_check=list(hypothesis.HealthCheck))
    test = settings(hypothesis.seed(seed)(made))
    name = which.__name__
    repeat = f"python3 {os.path.relpath(__file__)} {name} --libraries {os.path.relpath(folder)} --seed {seed} " \
             f"--examples {examples}"
    print(f"{name}: seed {seed}, {examples} examples", flush=True)
    at = None
    try:
        test()
        for at in known:
            made.hypothesis.inner_test(*at)
    except Exception as why:
        print(traceback.format_exc(), end="")
        if not isinstance(why, AssertionError):
            sys.exit(f"{name}: this is no broken property, but an error of the case itself")
        print(f"in the known situation {at}\n" if at else "", f"{name}: broken\nrepeat: {repeat}", sep="")
        return 1
    print(f"{name}: held. met: " + ", ".join(f"{n} {what}" for what, n in sorted(met.items())))
    missed = [w for w in wanted if not met[w]]
    if missed:
        print(f"{name}: its examples never met {', '.join(missed)}, and so say nothing of it\nrepeat: {repeat}")
    return int(bool(missed))


def main():
    p = argparse.ArgumentParser(description=__doc__.split(" - ")[1])
    names = [w.__name__ for w in PROPERTIES]
    p.add_argument("name", nargs="*", help="of: " + ", ".join(names))
    p.add_argument("--libraries", default=os.path.join(HERE, "../../build/cases"))
    p.add_argument("--examples", type=int, default=100)
    p.add_argument("--seed", default="1")
    p.add_argument("--broken", action="store_true")
    a = p.parse_args()
    if not set(a.name) <= set(names):
        p.error(f"there is no property {' '.join(set(a.name) - set(names))}; there are: {' '.join(names)}")
    if a.seed != "random" and not a.seed.isdigit():
        p.error(f"--seed takes a whole number or 'random', not {a.seed}")
    if not os.path.exists(os.path.join(a.libraries, "libproperties_4.so")):
        p.error(f"--libraries {a.libraries}: no libproperties_4.so there; build first (make build), or name the folder")
    seed = int.from_bytes(os.urandom(4), "little") if a.seed == "random" else int(a.seed)
    lib = Libraries(a.libraries)
    quiet = os.open(os.devnull, os.O_WRONLY)  # the recovery says on stderr what it drops
    sys.stderr = sys.stdout
    os.dup2(quiet, 2)
    phases = [hypothesis.Phase.generate] + [hypothesis.Phase.shrink] * (not a.broken)
    broken = [run(w, lib, seed, a.examples, a.libraries, phases) for w in PROPERTIES
              if not a.name or w.__name__ in a.name]
    if a.broken and not all(broken):
        print("this library was broken on purpose, and that was not seen")
    sys.exit(not all(broken) if a.broken else any(broken))


main()
