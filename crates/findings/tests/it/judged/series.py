#!/usr/bin/env python3
"""Made-up measurements whose truth is known, for the judges of steadiness and of comparison.

It knows nothing of the rules that it tries: it draws series of seconds (throughput with a mean of 1000) with a known
correlation, known steps and known differences, and prints them.

    series.py steady SERIES [SEED]     lines `case;n;cv;correlation;values`
    series.py compare PAIRS [SEED]     lines `case;difference;side start values|side start values|…`

The tests beside it read both; those that are ignored print the tables of `docs/compare.md` and `docs/steady.md`.
Standard library only.
"""
import math
import random
import sys


def ar1(rng, n, phi):
    """Unit variance, correlation of neighbours phi."""
    fresh = math.sqrt(1.0 - phi * phi)
    x = rng.gauss(0.0, 1.0)
    out = []
    for _ in range(n):
        x = phi * x + fresh * rng.gauss(0.0, 1.0)
        out.append(x)
    return out


def heavy(rng, n):
    """Independent, Student's t with 4 degrees of freedom, unit variance."""
    def one():
        chi = sum(rng.gauss(0.0, 1.0) ** 2 for _ in range(4))
        return rng.gauss(0.0, 1.0) / math.sqrt(chi / 4.0) / math.sqrt(2.0)
    return [one() for _ in range(n)]


def bursts(rng, n):
    """Seconds that lose much, one in twenty, over a quiet noise: in standard deviations of the noise."""
    return [rng.gauss(0.0, 1.0) - (10.0 if rng.random() < 0.05 else 0.0) for _ in range(n)]


def moving(rng, n):
    """Means of four neighbours, unit variance."""
    raw = [rng.gauss(0.0, 1.0) for _ in range(n + 3)]
    return [sum(raw[i:i + 4]) / 2.0 for i in range(n)]


def beat(rng, n):
    """A beat of about ten seconds (an AR(2) with complex roots), unit variance."""
    r, turn = 0.8, 2.0 * math.pi / 10.0
    a, b = 2.0 * r * math.cos(turn), -r * r
    x = y = 0.0
    out = []
    for i in range(n + 100):
        x, y = a * x + b * y + rng.gauss(0.0, 1.0), x
        if i >= 100:
            out.append(x)
    variance = (1.0 - b) / ((1.0 + b) * ((1.0 - b) ** 2 - a * a))
    return [v / math.sqrt(variance) for v in out]


def steady(count, seed):
    rng = random.Random(seed)

    def show(case, n, cv, phi, noise, level):
        values = [1000.0 * level(i) * (1.0 + cv * noise[i]) for i in range(n)]
        print(f"{case};{n};{cv};{phi};" + " ".join(f"{v:.4f}" for v in values))

    flat = lambda i: 1.0
    for n in (20, 30, 60, 120, 300):
        for cv in (0.01, 0.02, 0.05):
            for phi in (0.0, 0.3, 0.6, 0.8):
                for _ in range(count):
                    show("none", n, cv, phi, ar1(rng, n, phi), flat)
            for name, noise in (("none-heavy", heavy), ("none-moving", moving), ("none-beat", beat)):
                for _ in range(count):
                    show(name, n, cv, 0.0, noise(rng, n), flat)
        for _ in range(count):
            show("none-bursts", n, 0.02, 0.0, bursts(rng, n), flat)
        for cv in (0.01, 0.02, 0.03, 0.05):
            for phi in (0.0, 0.3, 0.6):
                late = lambda share: n - max(1, round(n * share))
                for name, at, size in (("step5@0.1", n - late(0.1), -0.05), ("step5@0.5", n // 2, -0.05),
                                       ("step5@0.9", late(0.1), -0.05), ("step5@0.95", late(0.05), -0.05),
                                       ("step20@0.9", late(0.1), -0.2), ("step40@0.95", late(0.05), -0.4)):
                    for _ in range(count):
                        show(name, n, cv, phi, ar1(rng, n, phi), lambda i: 1.0 + (size if i >= at else 0.0))
                for _ in range(count):
                    show("drift10", n, cv, phi, ar1(rng, n, phi), lambda i: 1.0 - 0.1 * i / (n - 1))


def compare(count, seed):
    """Two systems on one machine whose state wanders: how each design is entitled to speak.

    A measurement is 10 seconds with a correlation of 0.5 and 3% of noise; the machine's state adds to all of them.
    """
    rng = random.Random(seed)

    def machine(kind, moments):
        """The machine's state at each moment (s): none, a regime that holds for minutes, a random walk, a line."""
        state, out, last, until = 0.0, [], None, 0.0
        for at in moments:
            if kind == "walk":
                gap = 0.0 if last is None else at - last
                state += rng.gauss(0.0, 0.02 * math.sqrt(gap / 60.0))
            elif kind == "regime":
                while at >= until:
                    state, until = rng.gauss(0.0, 0.05), until + rng.expovariate(1.0 / 300.0)
            elif kind == "line":
                state = 0.10 * at / 3600.0
            last = at
            out.append(state)
        return out

    def seconds(state, mean, n):
        return [mean * (1.0 + state) * (1.0 + 0.03 * x) for x in ar1(rng, n, 0.5)]

    def show(case, difference, plan, kind, n):
        starts = [at for _, at in plan]
        states = machine(kind, starts)
        parts = []
        for (side, at), state in zip(plan, states):
            mean = 1000.0 * (1.0 + (difference if side == "B" else 0.0))
            parts.append(f"{side} {at} " + " ".join(f"{v:.3f}" for v in seconds(state, mean, n)))
        print(f"{case}-{kind};{difference};" + "|".join(parts))

    def every(gap, order):
        return [(side, gap * i) for i, side in enumerate(order)]

    designs = (
        ("once", every(40, "AB"), 30),
        ("repeated", every(11, "AAAAABBBBB"), 10),
        ("abab", every(60, "AB" * 5), 10),
        ("abba", every(60, "ABBA" * 3), 10),
        ("spread", every(600, "AAAAABBBBB"), 10),
    )
    for name, plan, n in designs:
        for kind in ("none", "regime", "walk", "line"):
            for difference in (0.0, 0.05, 0.10):
                for _ in range(count):
                    show(name, difference, plan, kind, n)


if __name__ == "__main__":
    what = {"steady": steady, "compare": compare}
    if len(sys.argv) < 3 or sys.argv[1] not in what:
        sys.exit(__doc__)
    what[sys.argv[1]](int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1)
