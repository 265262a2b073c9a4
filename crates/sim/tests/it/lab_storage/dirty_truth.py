"""A write-back cache before rotating disks, simulated block by block; it shares no code with the crate that it checks.

Writes of 64 KiB go to random blocks of a working set that is striped over 8 disks. A write of a block that is dirty, or
of any block while there is room, ends after 100 us; another one waits, in order, until a destage has made room. A disk
that is idle destages the next of its dirty blocks in the order of addresses. The disk is that of `raid_truth.py`.

Prints one line a case: working set (MB), room (MB), depth, or MB/s that are asked for, warm-up and measured seconds, and
writes a second that ended meanwhile; then the share of the room that is dirty at the end, in percent.
"""

import heapq
import random
from bisect import bisect_left, insort
from collections import deque
from math import sqrt

from raid_truth import HALF_TURN, SEEK, SIZE, VOLUME, per_byte

DISKS, BLOCK, HIT = 8, 65536, 100e-6

CASES = [
    # working set, room, depth, asked, warm-up, measured
    (400, 800, 32, 0, 1, 2),
    (100_000, 800, 32, 0, 10, 60),
    (1600, 800, 32, 0, 10, 60),
    (100_000, 80, 32, 0, 10, 60),
    (100_000, 800, 0, 200, 0, 5),
    (100_000, 800, 0, 60, 0, 20),
    (4000, 800, 0, 100, 60, 60),
]


def simulate(case, seed):
    size, room, depth, asked, warm, span = case
    rng = random.Random(seed)
    blocks, room = size * 1_000_000 // BLOCK, room * 1_000_000 // BLOCK
    rate = per_byte()(VOLUME / (DISKS * SIZE))
    waiting, dirty, going = deque(), set(), set()
    sorted_of, at, busy = [[] for _ in range(DISKS)], [0] * DISKS, [False] * DISKS
    events, counter, done = [], 0, 0

    def later(when, kind, what):
        nonlocal counter
        counter += 1
        heapq.heappush(events, (when, counter, kind, what))

    def destage(now, disk):
        mine = sorted_of[disk]
        if busy[disk] or not mine:
            return
        place = bisect_left(mine, at[disk])
        block = mine.pop(place if place < len(mine) else 0)
        at[disk], busy[disk] = block + 1, True
        distance = 1 - sqrt(1 - rng.random())
        seek = SEEK * (0.125 + 0.875 * sqrt(distance) * 15 / 8)
        later(now + seek + rng.random() * 2 * HALF_TURN + BLOCK * rate, "destaged", block)

    def write(now, block):
        if block in dirty:
            later(now + HIT, "ended", None)
        elif len(dirty) < room:
            dirty.add(block)
            insort(sorted_of[block % DISKS], block)
            later(now + HIT, "ended", None)
            destage(now, block % DISKS)
        else:
            waiting.append(block)

    for _ in range(depth):
        write(0.0, rng.randrange(blocks))
    if asked:
        later(0.0, "due", None)
    while events:
        now, _, kind, what = heapq.heappop(events)
        if now > warm + span:
            break
        if kind == "due":
            write(now, rng.randrange(blocks))
            later(now + rng.expovariate(asked * 1e6 / BLOCK), "due", None)
        elif kind == "ended":
            done += now > warm
            if depth:
                write(now, rng.randrange(blocks))
        else:
            dirty.discard(what)
            busy[what % DISKS] = False
            while waiting and len(dirty) < room:
                write(now, waiting.popleft())
            destage(now, what % DISKS)
    return done / span, 100 * len(dirty) / room


if __name__ == "__main__":
    for number, case in enumerate(CASES):
        done, dirty = simulate(case, number)
        print(*case, f"{done:.1f} {dirty:.1f}")
