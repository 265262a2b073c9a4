#!/usr/bin/env python3
"""Independent truth for `company.rs`: so many I/Os that go on together when `count` of them are there or a time has passed since
the first, and then each take a time of their own. Plain Python; times are in microseconds.

`python3 company.py` prints all figures that `company.rs` compares with.
"""
import heapq
import random

LAWS = {
    "constant": lambda rng: 100.0,
    "uniform": lambda rng: rng.uniform(50.0, 150.0),
    "exponential": lambda rng: rng.expovariate(0.01),
}


def carried(customers, count, within, law, seed=1, ends=400_000):
    """I/Os a second."""
    rng, sample = random.Random(seed), LAWS[law]
    events, order = [], 0
    for order in range(customers):
        heapq.heappush(events, (sample(rng), order, True))
    waiting, opened, done, now = 0, 0, 0, 0.0
    while done < ends:
        now, number, comes = heapq.heappop(events)
        if comes:
            waiting += 1
            if waiting == 1:
                opened += 1
                order += 1
                heapq.heappush(events, (now + within, -opened, False))
            if waiting < count:
                continue
        elif number != -opened or not waiting:
            continue
        done, waiting, opened = done + waiting, 0, opened + 1
        for _ in range(customers - (len(events) - sum(not event[2] for event in events))):
            order += 1
            heapq.heappush(events, (now + sample(rng), order, True))
    return done / now * 1e6


def main():
    for law in LAWS:
        for customers, count, within in [(1, 4, 100), (2, 8, 1000), (4, 8, 1000), (7, 8, 400), (4, 16, 200)]:
            print(f'("{law}", {customers}, {count}, {within}, {carried(customers, count, within, law):.1f}),')


if __name__ == "__main__":
    main()
