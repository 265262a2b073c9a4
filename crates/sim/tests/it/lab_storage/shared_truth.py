"""Two loads that share a least-recently-used cache, counted block by block. Prints `shared_truth.txt`; shares no code with
the simulator. Each line: whether they use one volume or one each, blocks that the cache holds, then for each load its kind,
its parameters, its blocks and its rate, and at last the hits of each in percent."""

import bisect
import itertools
import random
from collections import OrderedDict


def draws(kind, a, b, blocks, rng, scatter):
    if kind == "uniform":
        return lambda: rng.randrange(blocks)
    if kind == "pareto":
        import math

        power = math.log(a) / math.log(1 - a)
        return lambda: min(int(blocks * rng.random() ** power), blocks - 1)
    if kind == "hot-spot":
        hot = int(blocks * b / 100)
        return lambda: rng.randrange(hot) if rng.random() < a / 100 else rng.randrange(hot, blocks)
    sums = list(itertools.accumulate((rank + 1) ** -a for rank in range(blocks)))
    places = list(range(blocks))
    scatter.shuffle(places)
    return lambda: places[min(bisect.bisect_left(sums, rng.random() * sums[-1]), blocks - 1)]


def hits(one_volume, size, loads, accesses=1_500_000):
    rng, cache = random.Random(1), OrderedDict()
    draw = [draws(*load[:4], rng, random.Random(7 + at)) for at, load in enumerate(loads)]
    share = loads[0][4] / (loads[0][4] + loads[1][4])
    asked, met = [0, 0], [0, 0]
    for number in range(accesses):
        load = 0 if rng.random() < share else 1
        block = (0 if one_volume else load, draw[load]())
        there = block in cache
        if number >= accesses // 2:
            asked[load] += 1
            met[load] += there
        cache[block] = True
        cache.move_to_end(block)
        if len(cache) > size:
            cache.popitem(last=False)
    return [100 * met[at] / asked[at] for at in (0, 1)]


UNIFORM = ("uniform", 0, 0)
for volumes, size, first, second in [
    ("each", 20000, (*UNIFORM, 25000, 10), (*UNIFORM, 25000, 1)),
    ("one", 12500, (*UNIFORM, 5000, 1), (*UNIFORM, 100000, 1)),
    ("one", 2500, ("zipf", 1.2, 0, 25000, 1), (*UNIFORM, 25000, 1)),
    ("one", 5000, ("zipf", 0.9, 0, 25000, 3), ("pareto", 0.2, 0, 40000, 2)),
    ("one", 5000, ("zipf", 0.99, 0, 20000, 1), ("zipf", 1.2, 0, 30000, 1)),
    ("one", 6000, ("hot-spot", 90, 10, 30000, 1), (*UNIFORM, 10000, 2)),
    ("each", 6000, ("hot-spot", 90, 10, 30000, 1), ("zipf", 0.99, 0, 20000, 4)),
]:
    found = hits(volumes == "one", size, (first, second))
    words = [volumes, size, *first, *second, *(f"{share:.1f}" for share in found)]
    print(*words)
