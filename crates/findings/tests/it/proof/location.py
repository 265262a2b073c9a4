"""Locations of paired differences and their intervals, by counting every assignment of signs.

Prints, for drawn cases, the differences, the confidence, the median of the means of all pairs, and the interval of the
signed-rank test: the values that the test does not reject. Nothing here sorts ranks into a distribution by recurrence; the
test is carried out for each candidate value by itself. `python3 location.py` prints the table that the test holds.
"""

import itertools
import random


def walsh(d):
    return sorted((a + b) / 2 for i, a in enumerate(d) for b in d[i:])


def median(values):
    n = len(values)
    return values[n // 2] if n % 2 else (values[n // 2 - 1] + values[n // 2]) / 2


def tail(n, w):
    """The probability that the ranks with a positive sign sum up to at most w."""
    at_most = sum(
        sum(rank for rank, sign in zip(range(1, n + 1), signs) if sign) <= w
        for signs in itertools.product((0, 1), repeat=n)
    )
    return at_most / 2**n


def rejected(d, at, alpha):
    """Whether the two-sided test of a location rejects it."""
    moved = [x - at for x in d]
    ranks = {x: r for r, x in enumerate(sorted(moved, key=abs), 1)}
    positive = sum(r for x, r in ranks.items() if x > 0)
    negative = sum(r for x, r in ranks.items() if x < 0)
    return tail(len(d), min(positive, negative)) <= alpha / 2


def interval(d, confidence):
    pairs = walsh(d)
    # Between two neighbours of these the test says the same.
    middles = [(a + b) / 2 for a, b in zip(pairs, pairs[1:])]
    kept = [m for m in middles if not rejected(d, m, 1 - confidence)]
    if rejected(d, pairs[0] - 1, 1 - confidence) is False:
        return None
    low = max(p for p in pairs if p < kept[0])
    high = min(p for p in pairs if p > kept[-1])
    return low, high


def main():
    rng = random.Random(20)
    for n, confidence in [(5, 0.95), (6, 0.95), (7, 0.95), (8, 0.95), (8, 0.9), (10, 0.95), (12, 0.99)]:
        d = [round(rng.gauss(0.1, 0.05), 4) for _ in range(n)]
        found = interval(d, confidence)
        shown = "None" if found is None else f"Some([{median(walsh(d)):.5f}, {found[0]:.5f}, {found[1]:.5f}])"
        print(f"(&{d}, {confidence}, {shown}),")


main()
