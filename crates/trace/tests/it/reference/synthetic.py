"""Synthetic workloads with known parameters, as tables of I/Os that Alibaba's reader reads.

    python3 synthetic.py SHAPE SEED FILE

Prints what is true of the shape: lines `KEY VALUE`. Standard library only.
"""

import bisect
import math
import random
import sys


def zipf(rng, blocks, theta):
    """Draws ranks with probabilities proportional to rank^-theta and scatters them."""
    total, sums = 0.0, []
    for rank in range(1, blocks + 1):
        total += rank ** -theta
        sums.append(total)
    order = list(range(blocks))
    rng.shuffle(order)
    return lambda: order[min(bisect.bisect_left(sums, rng.random() * total), blocks - 1)]


def poisson(rng, rate, count):
    at = 0.0
    for _ in range(count):
        at += rng.expovariate(rate)
        yield at


def mmpp(rng, high, low, burst, pause, count):
    at, state = 0.0, True
    until = rng.expovariate(1 / burst)
    while count:
        rate = high if state else low
        nxt = at + rng.expovariate(rate) if rate else math.inf
        if nxt < until:
            at = nxt
            count -= 1
            yield at
        else:
            at = until
            state = not state
            until = at + rng.expovariate(1 / (burst if state else pause))


SHAPES = {
    # count, read share, random share, block, blocks, theta, arrivals
    "oltp": (60_000, 0.7, 1.0, 8192, 20_000, 0.9, ("poisson", 8000)),
    "uniform": (60_000, 0.5, 1.0, 4096, 30_000, 0.0, ("poisson", 3000)),
    "skewed": (80_000, 0.9, 1.0, 4096, 100_000, 1.1, ("poisson", 5000)),
    "mild": (80_000, 0.2, 1.0, 16384, 10_000, 0.5, ("poisson", 1000)),
    "backup": (20_000, 1.0, 0.0, 262144, 40_000, 0.0, ("poisson", 2000)),
    "mixed": (60_000, 0.6, 0.4, 8192, 20_000, 0.8, ("poisson", 6000)),
    "boot": (60_000, 0.8, 0.7, 16384, 20_000, 0.7, ("mmpp", 20_000, 500, 0.05, 0.2)),
    "bursts": (60_000, 0.3, 1.0, 4096, 50_000, 0.6, ("mmpp", 8_000, 2_000, 0.1, 0.1)),
    "rare": (60_000, 0.8, 1.0, 4096, 50_000, 0.6, ("mmpp", 5_000, 800, 0.02, 0.2)),
}


def main():
    shape, seed = sys.argv[1], int(sys.argv[2])
    rng = random.Random(seed)
    count, read, rand, block, blocks, theta, arrivals = SHAPES[shape]
    draw = zipf(rng, blocks, theta)
    times = poisson(rng, arrivals[1], count) if arrivals[0] == "poisson" else mmpp(rng, *arrivals[1:], count)
    run = {"R": blocks * block * 4, "W": blocks * block * 8}
    with open(sys.argv[3], "w") as out:
        for at in times:
            kind = "R" if rng.random() < read else "W"
            if rng.random() < rand:
                offset = draw() * block
                # The next sequential I/O follows the run, not this one.
            else:
                offset = run[kind]
                run[kind] += block
            print(f"1,{kind},{offset},{block},{int(at * 1e6)}", file=out)
    print("read", read * 100)
    print("random", rand * 100)
    print("size", block)
    print("theta", theta if rand > 0 else "-")
    print("blocks", blocks if rand > 0 else "-")
    if arrivals[0] == "poisson":
        print("rate", arrivals[1])
    else:
        _, high, low, burst, pause = arrivals
        print("rate", (high * burst + low * pause) / (burst + pause))
        print("high", high)
        print("low", low)
        share = burst / (burst + pause)
        tau = 1 / (1 / burst + 1 / pause)
        rate = high * share + low * (1 - share)
        print("limit", 1 + 2 * share * (1 - share) * (high - low) ** 2 * tau / rate)
        print("tau", tau)


main()
