#!/usr/bin/env python3
"""Independent truths for the estimator's tests: small simulators and numeric integrals that share no code with it.

Plain Python, no packages; every figure is reproducible by its seed. `python3 truth.py` prints all figures that
`truth.rs` compares with. Times are in microseconds unless a line says otherwise.
"""
import heapq
import math
import random


def many_servers(servers, load, service, seed, count=4_000_000):
    """Mean response of M/G/c, first come, first served: the recursion of Kiefer and Wolfowitz (1955)."""
    rng = random.Random(seed)
    mean = 100.0
    rate = load * servers / mean
    free, now, total, kept = [0.0] * servers, 0.0, 0.0, 0
    for number in range(count):
        now += rng.expovariate(rate)
        start = max(now, heapq.heappop(free))
        end = start + service(rng, mean)
        heapq.heappush(free, end)
        if number >= count // 20:
            total, kept = total + end - now, kept + 1
    return total / kept


def tandem(load, seed, count=4_000_000):
    """Mean response of M/D/1 -> ./M/1, both with the same mean of 100."""
    rng = random.Random(seed)
    now = first = second = total = 0.0
    kept = 0
    for number in range(count):
        now += rng.expovariate(load / 100.0)
        first = max(now, first) + 100.0
        second = max(first, second) + rng.expovariate(1 / 100.0)
        if number >= count // 20:
            total, kept = total + second - now, kept + 1
    return total / kept


def slots(load, tokens, limit, seed, count=3_000_000):
    """An open load through a queue limit around a delay of 100 and one exponential server of 100, with at most `limit`
    outstanding: mean response from due, and mean service from issue."""
    rng = random.Random(seed)
    due = 0.0
    inside, outstanding, server = [], [], 0.0
    response = service = 0.0
    kept = 0
    for number in range(count):
        due += rng.expovariate(load / 100.0)
        issued = due if len(outstanding) < limit else max(due, heapq.heappop(outstanding))
        enters = issued if len(inside) < tokens else max(issued, heapq.heappop(inside))
        # A constant delay keeps the order, so that the recursion is exact.
        server = max(enters + 100.0, server) + rng.expovariate(1 / 100.0)
        heapq.heappush(inside, server)
        heapq.heappush(outstanding, server)
        if number >= count // 20:
            response, service, kept = response + server - due, service + server - issued, kept + 1
    return response / kept, service / kept


def largest(count, sample, seed, draws=400_000):
    """Mean of the largest of `count` independent draws."""
    rng = random.Random(seed)
    return sum(max(sample(rng) for _ in range(count)) for _ in range(draws)) / draws


def positioning(rng):
    """Seek by the root of the distance between two random places, of 4 ms on average, and half a turn of 2 ms."""
    distance = abs(rng.random() - rng.random())
    return 7.5 * math.sqrt(distance) + rng.uniform(0, 4)


def forked(servers, load, seed, count=600_000):
    """Fork to `servers` exponential queues of 100, and join: mean response."""
    rng = random.Random(seed)
    free, now, total, kept = [0.0] * servers, 0.0, 0.0, 0
    for number in range(count):
        now += rng.expovariate(load / 100.0)
        free = [max(now, at) + rng.expovariate(0.01) for at in free]
        if number >= count // 20:
            total, kept = total + max(free) - now, kept + 1
    return total / kept


def in_turn(customers, turn, paths, seed, changes=60):
    """How many of some paths work on average, where transfers of one size share each, `turn` in a row are sent over one
    before the next, and `customers` are outstanding. What is left of each transfer is kept and counted down."""
    rng = random.Random(seed)
    left = [[] for _ in range(paths)]
    sent = 0
    for _ in range(customers):
        left[sent // turn % paths].append(rng.random())
        sent += 1
    now, start, first = 0.0, 0.0, 0
    while sent < turn * changes:
        step, path = min((min(here) * len(here), path) for path, here in enumerate(left) if here)
        for here in left:
            share = step / len(here) if here else 0.0
            here[:] = [rest - share for rest in here]
        left[path].remove(min(left[path]))
        now += step
        left[sent // turn % paths].append(1.0)
        sent += 1
        if sent == turn * (changes // 3):
            start, first = now, sent
    return (sent - first) / (now - start)


def bursts(rates, lengths, law, seed, count=3_000_000):
    """Mean response of one server of 100, first come, first served, where arrivals come at one of two rates a second and
    the phases' lengths, in seconds, are exponential."""
    rng = random.Random(seed)
    phase, now, free, total, number = 0, 0.0, 0.0, 0.0, 0
    ends = rng.expovariate(1 / lengths[0])
    while number < count:
        gap = rng.expovariate(rates[phase]) if rates[phase] else math.inf
        if now + gap > ends:
            now, phase = ends, 1 - phase
            ends = now + rng.expovariate(1 / lengths[phase])
            continue
        now += gap
        free = max(free, now) + law(rng, 100.0) * 1e-6
        total, number = total + free - now, number + 1
    return total / count * 1e6


def main():
    constant = lambda rng, mean: mean
    exponential = lambda rng, mean: rng.expovariate(1 / mean)
    uniform = lambda rng, mean: rng.uniform(0.5 * mean, 1.5 * mean)
    for name, law in [("constant", constant), ("uniform", uniform), ("exponential", exponential)]:
        for servers in [2, 4, 8]:
            for load in [0.7, 0.9, 0.98]:
                print(f"M/G/{servers} {name} at {load}: {many_servers(servers, load, law, 1):.1f}")
    for load in [0.8, 0.95]:
        print(f"tandem at {load}: {tandem(load, 2):.1f}")
    for load, tokens, limit in [(0.8, 4, 64), (0.9, 8, 1000), (0.95, 16, 32), (0.97, 64, 100)]:
        response, service = slots(load, tokens, limit, 3)
        print(f"limits {tokens}, {limit} at {load}: response {response:.1f}, service {service:.1f}")
    for load, tokens in [(0.4, 1), (0.48, 1), (0.6, 2), (0.7, 2)]:
        print(f"few tokens, {tokens} at {load}: {slots(load, tokens, 10**9, 3)[0]:.1f}")
    for customers, turn, paths in [(64, 1000, 2), (64, 100, 2), (64, 200, 4), (4, 1000, 2), (16, 40, 4), (64, 8, 4)]:
        print(f"in turn, {customers} of {turn} over {paths}: {in_turn(customers, turn, paths, 6):.3f}")
    for rates, length in [((8000, 2000), 0.05), ((8000, 2000), 0.005), ((8000, 2000), 0.0005), ((6000, 0), 0.01), ((15000, 1000), 0.005)]:
        for name, law in [("constant", constant), ("exponential", exponential)]:
            print(f"bursts {rates} of {length} s, {name}: {bursts(rates, (length, length), law, 8):.1f}")
    for count in [2, 4, 8, 16]:
        print(f"largest of {count} positionings: {largest(count, positioning, 4):.3f} ms")
    for count, load in [(2, 0.5), (4, 0.8), (8, 0.9), (8, 0.5)]:
        print(f"fork to {count} at {load}: {forked(count, load, 5):.1f}")


if __name__ == "__main__":
    main()
