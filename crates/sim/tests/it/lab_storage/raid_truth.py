"""An event simulator of RAID groups on rotating disks, independent of the crate that it checks: addresses are mapped to
disks unit by unit, every disk serves its queue in order, and an I/O ends with the last of its disk I/Os.

A disk I/O takes a seek (a minimum plus the root of the distance between two random places, 4 ms on average), a
rotational delay uniform over 4 ms, and its transfer. Parity rotates as in the left-symmetric layout. A write of part of
a stripe reads the old data and the old parity, waits for both, and writes both again on the same disks; a whole stripe
is written at once. All units of an I/O on one disk are one disk I/O.

Prints one line a case: level, disks, unit (KiB), block (KiB), alignment (KiB), percent read, depth, I/Os a second.
"""

import heapq
import random
from math import gcd, sqrt

SEEK, HALF_TURN = 4e-3, 2e-3
OUTER, INNER, SIZE = 200e6, 100e6, 450e9
VOLUME = 100e9

CASES = [
    # level, disks, unit, block, alignment, read, depth
    ("raid-5", 5, 64, 4, 4, 0, 1),
    ("raid-6", 6, 64, 4, 4, 0, 1),
    ("raid-5", 5, 64, 256, 256, 100, 1),
    ("raid-5", 5, 64, 256, 256, 0, 1),
    ("raid-5", 5, 64, 256, 256, 0, 64),
    ("raid-0", 16, 64, 1024, 1024, 100, 64),
    ("raid-0", 32, 64, 2048, 2048, 100, 64),
    ("raid-0", 8, 64, 512, 512, 100, 1),
    ("raid-0", 4, 64, 1024, 1024, 100, 1),
    ("raid-0", 6, 64, 96, 96, 100, 8),
    ("raid-0", 8, 64, 64, 4, 100, 4),
    ("raid-1", 2, 64, 4, 4, 0, 1),
    ("raid-10", 8, 64, 64, 64, 50, 16),
    ("raid-10", 6, 64, 256, 256, 0, 4),
    ("raid-5", 5, 64, 4, 4, 70, 16),
    ("raid-5", 9, 64, 4, 4, 0, 64),
    ("raid-5", 5, 64, 128, 128, 0, 4),
    ("raid-5", 5, 64, 300, 4, 0, 2),
    ("raid-5", 5, 64, 512, 512, 100, 4),
    ("raid-5", 8, 64, 1024, 64, 0, 1),
    ("raid-6", 8, 64, 384, 384, 0, 8),
    ("raid-6", 8, 64, 200, 8, 30, 8),
    ("raid-6", 10, 64, 64, 64, 50, 32),
]


def per_byte():
    """Seconds a byte on the share of the disk that is in use: the mean of 1 / sqrt(o^2 - x (o^2 - i^2))."""
    def of(share):
        fall = (OUTER ** 2 - INNER ** 2) * share
        return 2 * (OUTER - sqrt(OUTER ** 2 - fall)) / fall
    return of


def data_disks(level, disks):
    return {"raid-0": disks, "raid-1": 1, "raid-10": disks // 2, "raid-5": disks - 1, "raid-6": disks - 2}[level]


def disk_ios(level, disks, unit, offset, length, read, rng):
    """Two rounds of {disk: bytes}; the first is empty unless something must be read before it is written."""
    data = data_disks(level, disks)
    before, then = {}, {}
    stripes = {}
    at = offset
    while at < offset + length:
        number = at // unit
        end = min((number + 1) * unit, offset + length)
        stripes.setdefault(number // data, []).append((number % data, at % unit, end - at))
        at = end
    mirror = {}
    for stripe, units in stripes.items():
        parity = disks - 1 - stripe % disks
        whole = sum(size for _, _, size in units) == unit * data
        covered = [False] * (unit // 512)
        mine = {}
        for place, start, size in units:
            for block in range(start // 512, (start + size + 511) // 512):
                covered[block] = True
            if level == "raid-0":
                targets = [place]
            elif level in ("raid-1", "raid-10"):
                targets = [2 * place, 2 * place + 1]
                if read:
                    targets = [targets[mirror.setdefault(place, rng.randrange(2))]]
            elif level == "raid-5":
                targets = [(parity + 1 + place) % disks]
            else:
                targets = [(parity + 2 + place) % disks]
            for disk in targets:
                mine[disk] = mine.get(disk, 0) + size
        redundant = {"raid-5": [parity], "raid-6": [parity, (parity + 1) % disks]}.get(level, [])
        if not read:
            for disk in redundant:
                mine[disk] = mine.get(disk, 0) + 512 * sum(covered)
        for disk, size in mine.items():
            then[disk] = then.get(disk, 0) + size
            if redundant and not read and not whole:
                before[disk] = before.get(disk, 0) + size
    return before, then


def simulate(case, seed, warm=20.0, span=2000.0):
    level, disks, unit, block, align, share, depth = case
    unit, block, align = unit * 1024, block * 1024, align * 1024
    rng = random.Random(seed)
    rate = per_byte()(VOLUME / (data_disks(level, disks) * SIZE))
    places = int(VOLUME - block) // align
    free, events, counter, done = [0.0] * disks, [], 0, 0

    def service(size):
        distance = 1 - sqrt(1 - rng.random())
        seek = SEEK * (0.125 + 0.875 * sqrt(distance) * 15 / 8)
        return seek + rng.random() * 2 * HALF_TURN + size * rate

    def go(now, parts, rest):
        nonlocal counter
        last = now
        for disk, size in parts.items():
            free[disk] = max(free[disk], now) + service(size)
            last = max(last, free[disk])
        counter += 1
        heapq.heappush(events, (last, counter, rest))

    def issue(now):
        offset = rng.randrange(places) * align
        read = rng.random() * 100 < share
        before, then = disk_ios(level, disks, unit, offset, block, read, rng)
        go(now, before, then) if before else go(now, then, None)

    for _ in range(depth):
        issue(0.0)
    while events:
        now, _, rest = heapq.heappop(events)
        if now > warm + span:
            return done / span
        if rest:
            go(now, rest, None)
            continue
        done += now > warm
        issue(now)


if __name__ == "__main__":
    for number, case in enumerate(CASES):
        print(*case, f"{simulate(case, number):.2f}")
