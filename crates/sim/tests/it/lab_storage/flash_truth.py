#!/usr/bin/env python3
"""Independent truth for `flash.rs`: random small writes that come at random to a group of solid-state disks with parity, event
by event. Each reads old data and parity on two (or three) disks, and writes the same disks when all are read. A disk serves
eight at once, first come, first served, each 60 us, and then passes each over a line that takes 1.024 us. Plain Python.

`python3 flash_truth.py` prints the mean response in microseconds.
"""
import heapq
import random
from collections import deque

CHANNELS, SERVICE, LINE = 8, 60.0, 1.024


def response(disks, parts, load, seed=1, count=300_000):
    rng = random.Random(seed)
    rate = load * disks * CHANNELS / (2 * parts * SERVICE)
    events, order = [(rng.expovariate(rate), 0, None)], 0
    busy, queues = [0] * disks, [deque() for _ in range(disks)]
    lines = {}
    total, ended = 0.0, 0

    def begin(now, disk, io):
        nonlocal order
        order += 1
        heapq.heappush(events, (now + SERVICE, order, ("served", disk, io)))

    def come(now, io):
        for disk in io["disks"]:
            if busy[disk] < CHANNELS:
                busy[disk] += 1
                begin(now, disk, io)
            else:
                queues[disk].append(io)

    while ended < count:
        now, _, event = heapq.heappop(events)
        if event is None:
            come(now, {"due": now, "disks": rng.sample(range(disks), parts), "left": parts, "reads": True})
            order += 1
            heapq.heappush(events, (now + rng.expovariate(rate), order, None))
            continue
        kind, disk, io = event
        if kind == "served":
            if queues[disk]:
                begin(now, disk, queues[disk].popleft())
            else:
                busy[disk] -= 1
            # Reads leave over one line and writes came over another; of either the time counts once.
            line = (disk, io["reads"])
            lines[line] = max(now, lines.get(line, 0.0)) + LINE
            order += 1
            heapq.heappush(events, (lines[line], order, ("passed", disk, io)))
            continue
        io["left"] -= 1
        if io["left"]:
            continue
        if io["reads"]:
            io["reads"], io["left"] = False, parts
            come(now, io)
        else:
            total, ended = total + now - io["due"], ended + 1
    return total / ended


if __name__ == "__main__":
    for raid, disks, parts in [("raid-5", 5, 2), ("raid-6", 6, 3)]:
        for load in [0.6, 0.8, 0.9, 0.95]:
            print(f"{raid}, {load}: {response(disks, parts, load):.1f}")
