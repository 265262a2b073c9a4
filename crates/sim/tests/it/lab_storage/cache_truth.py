"""A least-recently-used cache, simulated block by block; it shares no code with the crate that it checks.

Prints one line a case: skew, its parameters, blocks, share of them that fits, percent of misses.
"""

import random
from bisect import bisect_left
from collections import OrderedDict
from itertools import accumulate
from math import log

CASES = [
    ("uniform", 0, 0, 20_000, 0.3),
    ("zipf", 0.99, 0, 200_000, 0.1),
    ("zipf", 0.8, 0, 200_000, 0.1),
    ("zipf", 1.2, 0, 200_000, 0.1),
    ("zipf", 1.0, 0, 50_000, 0.02),
    ("zipf", 0.5, 0, 50_000, 0.4),
    ("zipf", 1.6, 0, 20_000, 0.05),
    ("pareto", 0.2, 0, 50_000, 0.2),
    ("pareto", 0.35, 0, 50_000, 0.1),
    ("hot-spot", 80, 20, 50_000, 0.1),
    ("hot-spot", 80, 20, 50_000, 0.3),
    ("hot-spot", 95, 5, 50_000, 0.05),
]


def sampler(skew, a, b, blocks, rng):
    if skew == "uniform":
        return lambda: rng.randrange(blocks)
    if skew == "zipf":
        sums = list(accumulate((rank + 1) ** -a for rank in range(blocks)))
        return lambda: bisect_left(sums, rng.random() * sums[-1])
    if skew == "pareto":
        power = log(a) / log(1 - a)
        return lambda: min(int(blocks * rng.random() ** power), blocks - 1)
    hot = round(blocks * b / 100)
    return lambda: rng.randrange(hot) if rng.random() * 100 < a else rng.randrange(hot, blocks)


def misses(skew, a, b, blocks, share, seed):
    rng = random.Random(seed)
    draw, size, cache = sampler(skew, a, b, blocks, rng), round(blocks * share), OrderedDict()
    warm = 20 * size + 5 * blocks
    count, missed = 400_000, 0
    for turn in range(warm + count):
        block = draw()
        if block in cache:
            cache.move_to_end(block)
            continue
        missed += turn >= warm
        cache[block] = None
        if len(cache) > size:
            cache.popitem(last=False)
    return 100 * missed / count


if __name__ == "__main__":
    for number, case in enumerate(CASES):
        print(*case, f"{misses(*case, number):.2f}")
