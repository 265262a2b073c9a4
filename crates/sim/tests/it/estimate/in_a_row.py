#!/usr/bin/env python3
"""Independent truths for `in_a_row.rs`: open arrivals at random through stations one behind the other, each first come,
first served, simulated by the recursion of Lindley (1952). Plain Python; times are in microseconds.

`python3 in_a_row.py` prints all figures that `in_a_row.rs` compares with.
"""
import random

LAWS = {
    "constant": lambda rng, mean: mean,
    "uniform": lambda rng, mean: rng.uniform(0.5 * mean, 1.5 * mean),
    "exponential": lambda rng, mean: rng.expovariate(1 / mean),
}


def two(first, second, seed, delay=0.0, keeps=1.0, count=2_000_000):
    """Mean response over two servers, each (law, mean), of arrivals 100 apart on average; an exponential delay of this
    mean between them, and a share of I/Os that goes on to the second."""
    rng = random.Random(seed)
    (law_a, mean_a), (law_b, mean_b) = ((LAWS[law], mean) for law, mean in (first, second))
    now = free = 0.0
    total, all_first = 0.0, 0
    on = []
    for _ in range(count):
        now += rng.expovariate(0.01)
        free = max(now, free) + law_a(rng, mean_a)
        out = free
        if delay:
            out += rng.expovariate(1 / delay)
        if rng.random() < keeps:
            on.append((out, now))
    on.sort()
    free = 0.0
    for at, due in on:
        free = max(at, free) + law_b(rng, mean_b)
        total += free - due
    return total / len(on)


def main():
    for first, second in [
        (("uniform", 90), ("uniform", 90)),
        (("uniform", 80), ("constant", 90)),
        (("constant", 90), ("uniform", 90)),
        (("constant", 90), ("exponential", 80)),
        (("constant", 80), ("exponential", 90)),
    ]:
        print(f"{first}, {second}: {two(first, second, 1):.1f}")
    for delay in [50, 200, 1000, 20000]:
        print(f"constant 90, delay {delay}, constant 90: {two(('constant', 90), ('constant', 90), 2, delay):.1f}")
    for mean in [120, 180]:
        print(f"constant 90, half of them to constant {mean}: {two(('constant', 90), ('constant', mean), 3, keeps=0.5):.1f}")


if __name__ == "__main__":
    main()
