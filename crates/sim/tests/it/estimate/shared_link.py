#!/usr/bin/env python3
"""Independent truth for `shared_link.rs`: open arrivals at random before a queue limit, and behind it a constant delay and a
link that all who are there share equally, simulated event by event. Plain Python; times are in microseconds.

`python3 shared_link.py` prints all figures that `shared_link.rs` compares with.
"""
import heapq
import math
import random
from collections import deque

LAWS = {
    "constant": lambda rng: 100.0,
    "uniform": lambda rng: rng.uniform(50.0, 150.0),
    "exponential": lambda rng: rng.expovariate(0.01),
}


def response(load, tokens, delay, law, seed, count=400_000):
    """Mean response where transfers take 100 alone on average and load the link so much."""
    rng, size = random.Random(seed), LAWS[law]
    now, arrival = 0.0, rng.expovariate(load / 100.0)
    waiting, delayed, sharing = deque(), deque(), []
    served = 0.0  # What each of those on the link has been sent since the start: they end in the order of their tags.
    free, total, ended, begun = tokens, 0.0, 0, 0
    while ended < count:
        leaves = (sharing[0][0] - served) * len(sharing) + now if sharing else math.inf
        crosses = delayed[0][0] if delayed else math.inf
        event = min(arrival, leaves, crosses)
        if sharing:
            served += (event - now) / len(sharing)
        now = event
        if event == arrival:
            waiting.append(now)
            arrival = now + rng.expovariate(load / 100.0)
        elif event == leaves:
            total += now - heapq.heappop(sharing)[1]
            ended, free = ended + 1, free + 1
        else:
            _, due = delayed.popleft()
            heapq.heappush(sharing, (served + size(rng), due))
        while free and waiting:
            free -= 1
            delayed.append((now + delay, waiting.popleft()))
    return total / ended


def main():
    for law, tokens, delay, load in [
        ("constant", 1, 0, 0.8),
        ("constant", 2, 0, 0.8),
        ("constant", 2, 0, 0.9),
        ("constant", 4, 0, 0.9),
        ("constant", 16, 0, 0.9),
        ("constant", 4, 0, 0.97),
        ("uniform", 4, 0, 0.9),
        ("exponential", 4, 0, 0.9),
        ("constant", 2, 50, 0.7),
        ("constant", 2, 50, 0.8),
        ("constant", 4, 50, 0.8),
        ("constant", 4, 50, 0.9),
        ("constant", 4, 200, 0.7),
        ("constant", 4, 200, 0.8),
        ("constant", 8, 50, 0.9),
        ("constant", 8, 400, 0.8),
        ("constant", 8, 400, 0.9),
    ]:
        print(f'("{law}", {tokens}, {delay}, {load}, {response(load, tokens, delay, law, 1):.1f}),')


if __name__ == "__main__":
    main()
