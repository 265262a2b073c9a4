#!/usr/bin/env python3
"""Independent truths for `links_in_a_row.rs`: closed loads whose transfers share links that lie one behind the other,
simulated event by event. Plain Python; times are in microseconds, and a link of speed 1 sends one unit in one.

An I/O thinks, and passes steps: a delay, a disk (first come, first served), or a transfer over one link, or over several at
once, each of which is shared max-min fair by the transfers that are on it. All I/Os of a lab begin at random moments of the
first `SPREAD`.

`python3 links_in_a_row.py` prints all figures that `links_in_a_row.rs` compares with.
"""
import heapq
import random
from collections import deque

SPREAD = 1000.0
# Of reads and writes, the share of reads.
READS = 0.7
LAWS = {
    "constant": lambda rng, mean: mean,
    "exponential": lambda rng, mean: rng.expovariate(1 / mean) if mean else 0.0,
}


class Sharing:
    """Transfers by the set of their links: those of one set get the same rate, and end in the order of their tags."""

    def __init__(self, speeds):
        self.speeds, self.sets, self.now = speeds, {}, 0.0

    def to(self, now):
        for of in self.sets.values():
            of[0] += of[1] * (now - self.now)
        self.now = now

    def rates(self):
        """Progressive filling: all grow together, and those on a link that is full stop."""
        left, open_ = dict(self.speeds), {key: len(of[2]) for key, of in self.sets.items() if of[2]}
        level = 0.0
        while open_:
            counts = {}
            for key, count in open_.items():
                for link in key:
                    counts[link] = counts.get(link, 0) + count
            step, full = min((left[link] / count, link) for link, count in counts.items())
            level += step
            for link, count in counts.items():
                left[link] -= step * count
            for key in [key for key in open_ if full in key]:
                self.sets[key][1] = level
                del open_[key]

    def add(self, links, size, io):
        of = self.sets.setdefault(links, [0.0, 0.0, []])
        heapq.heappush(of[2], (of[0] + size, io))
        self.rates()

    def next(self):
        ends = [(self.now + (of[2][0][0] - of[0]) / of[1], key) for key, of in self.sets.items() if of[2]]
        return min(ends, default=(float("inf"), None))

    def end(self, key):
        io = heapq.heappop(self.sets[key][2])[1]
        self.rates()
        return io


def closed(speeds, loads, seed=1, ends=20_000):
    """I/Os a second of all loads, each (I/Os outstanding, route, or one of reads and one of writes); a step is ("delay" or a
    disk's name, law, mean) or ("over", links, size)."""
    rng, links = random.Random(seed), Sharing(speeds)
    disks, timers, count = {}, [], 0
    ios, begun, measured, done = [], 0, 0.0, 0

    def at(when, io):
        nonlocal count
        count += 1
        heapq.heappush(timers, (when, count, io))

    def serve(name, now):
        queue = disks[name]
        io, law, mean = queue[0]
        at(now + LAWS[law](rng, mean), io)

    def enter(io, now):
        """Begins the I/O's next step."""
        nonlocal done
        if ios[io][0] == len(ios[io][1]):
            done += 1
            ios[io][0] = 0
            if isinstance(ios[io][2], tuple):
                ios[io][1] = ios[io][2][rng.random() >= READS]
        route = ios[io][1]
        what = route[ios[io][0]]
        if what[0] == "over":
            links.add(what[1], what[2], io)
        elif what[0] == "delay":
            at(now + LAWS[what[1]](rng, what[2]), io)
        else:
            queue = disks.setdefault(what[0], deque())
            queue.append((io, what[1], what[2]))
            if len(queue) == 1:
                serve(what[0], now)

    for outstanding, route in loads:
        for _ in range(outstanding):
            ios.append([-1, route[0] if isinstance(route, tuple) else route, route])
            at(rng.uniform(0.0, SPREAD), len(ios) - 1)
    now, warm = 0.0, ends // 10
    while done < ends + warm:
        if done == warm and not begun:
            begun, measured = 1, now
        timer = timers[0][0] if timers else float("inf")
        end, key = links.next()
        now = min(timer, end)
        links.to(now)
        if end <= timer:
            io = links.end(key)
        else:
            io = heapq.heappop(timers)[2]
            what = ios[io][1][ios[io][0]][0] if ios[io][0] >= 0 else "delay"
            if what != "delay":
                disks[what].popleft()
                if disks[what]:
                    serve(what, now)
        ios[io][0] += 1
        enter(io, now)
    return ends / (now - measured) * 1e6


def row(law, vms, depth, sizes, delay, disk=0, seed=1, law_of_disk=None):
    """VMs with as many I/Os outstanding each, after a delay all over the same links, one after the other, on which a
    transfer takes so long alone; a disk of so long a service comes after the first link."""
    speeds = {f"l{number}": 1.0 for number in range(len(sizes))}
    over = [("over", (f"l{number}",), size) for number, size in enumerate(sizes)]
    between = [("disk", law_of_disk or law, disk)] if disk else []
    route = [("delay", law, delay)] + over[:1] + between + over[1:]
    return closed(speeds, [(depth, route)] * vms, seed)


def at_once(law, vms, depth, sizes, delay, seed=1):
    """The same over two adapters, with half of the VMs each, and what all share, all at once."""
    speeds = {f"l{number}": 1.0 / size for number, size in enumerate(sizes)}
    speeds |= {f"a{adapter}": 1.0 / sizes[0] for adapter in range(2)}
    shared = tuple(f"l{number}" for number in range(1, len(sizes)))
    routes = [[("delay", law, delay), ("over", (f"a{vm % 2}", *shared), 1.0)] for vm in range(vms)]
    return closed(speeds, [(depth, route) for route in routes], seed)


def mixed(law, vms, depth, sizes, delay, seed=1):
    """Reads, 70% of all, over two links of their own direction, and writes over two of the other, in the opposite order."""
    speeds = {way + str(number): 1.0 for way in "rw" for number in range(2)}
    reads = [("over", (f"r{number}",), size) for number, size in reversed(list(enumerate(sizes)))]
    writes = [("over", (f"w{number}",), size) for number, size in enumerate(sizes)]
    route = ([("delay", law, delay)] + reads, [("delay", law, delay)] + writes)
    return closed(speeds, [(depth, route)] * vms, seed)


LAWS_OF_DELAYS = ["exponential", "constant"]
ROWS = [
    (2, 1, [100, 100], 50, 0),
    (2, 2, [100, 100], 50, 0),
    (2, 4, [100, 100], 50, 0),
    (4, 1, [100, 100], 50, 0),
    (8, 1, [100, 100], 50, 0),
    (8, 8, [100, 100], 50, 0),
    (2, 2, [100, 100], 400, 0),
    (8, 1, [100, 100], 400, 0),
    (2, 1, [100, 60], 50, 0),
    (2, 4, [60, 100], 50, 0),
    (2, 2, [100, 90], 20, 0),
    (2, 2, [50, 100], 50, 0),
    (2, 2, [50, 50], 50, 0),
    (2, 4, [100, 50], 50, 0),
    (4, 1, [100, 100, 100], 50, 0),
    (2, 4, [100, 100, 100], 50, 0),
    (2, 2, [100, 100], 50, 80),
    (4, 2, [100, 100], 50, 100),
    (1, 4, [100], 400, 0),
    (1, 8, [100], 700, 0),
    (8, 1, [100], 50, 0),
]
AT_ONCE = [
    (2, 1, [100, 50], 50),
    (2, 2, [100, 50], 50),
    (4, 2, [100, 50], 50),
    (2, 8, [100, 50], 50),
    (8, 1, [100, 50], 400),
    (2, 2, [100, 70], 50),
    (4, 1, [100, 60, 60], 100),
    (2, 2, [100, 100], 50),
]
MIXED = [(2, 1, [100, 100], 50), (2, 4, [100, 100], 50), (4, 2, [100, 60], 50), (8, 8, [100, 100], 50)]


ONE_BY_ONE = [
    (2, 2, [100, 100], 50, 20),
    (2, 2, [100, 100], 50, 50),
    (2, 2, [100, 100], 50, 100),
    (2, 4, [100, 100], 50, 100),
    (2, 2, [100, 100], 50, 150),
]


def main():
    for name, of, cases in [("row", row, ROWS), ("at once", at_once, AT_ONCE), ("mixed", mixed, MIXED)]:
        print(name)
        for case in cases:
            # With constant times the answer depends on when I/Os begin.
            figures = [sum(of(law, *case, seed=seed) for seed in (1, 2, 3)) / 3 for law in LAWS_OF_DELAYS]
            print(f"    ({', '.join(str(of) for of in case)}, {figures[0]:.0f}.0, {figures[1]:.0f}.0),", flush=True)
    # A disk of constant time lets I/Os go so far apart that they do not meet on the link that follows.
    print("one at a time")
    for vms, depth, sizes, delay, disk in ONE_BY_ONE:
        figures = [row("exponential", vms, depth, sizes, delay, disk, seed, "constant") for seed in (1, 2, 3)]
        print(f"    ({vms}, {depth}, {sizes}, {delay}, {disk}, {sum(figures) / 3:.0f}.0),", flush=True)


if __name__ == "__main__":
    main()
