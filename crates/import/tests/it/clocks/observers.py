"""Two observers of one traffic, each with a clock of its own; shares nothing with what aligns them.

    python3 observers.py DIRECTORY

Writes DIRECTORY/NAME.a.csv, NAME.b.csv (time,volume,bytes; the stamp ends its interval, in the observer's own civil time without
a zone) and one line a case to stdout: NAME KIND OFFSET DRIFT. OFFSET is what the clock of b is ahead of that of a in the middle of
b's file, in seconds; DRIFT is what it gains, in parts of a million. KIND says what is planted:

    clear      traffic that changes without order: the offset can be found
    step       the same, and b's clock is set forward by an hour in the middle (daylight saving time); OFFSET is that before
    flat       traffic that does not change
    periodic   traffic that repeats every ten minutes
    unrelated  two traffics that have nothing in common
    short      too few samples

The traffic is a rate for each second of true time: a level that wanders, on and off, and short bursts. What b sees includes traffic
of others. Both round.
"""

import math
import os
import random
import sys
from datetime import datetime, timedelta, timezone

START = datetime(2024, 5, 7, 9, 0, 0, tzinfo=timezone.utc)
LEAD = 7200     # true seconds before the first stamp that the traffic is known


def wandering(rng, seconds, slow):
    """A level whose logarithm is an autoregressive process, with bursts and pauses."""
    keep = math.exp(-1 / slow)
    level, on, left, out = rng.gauss(0, 1), True, rng.expovariate(1 / slow), []
    burst = 0.0
    for _ in range(seconds):
        level = keep * level + math.sqrt(1 - keep * keep) * rng.gauss(0, 1)
        left -= 1
        if left <= 0:
            on, left = not on, rng.expovariate(1 / slow)
        burst = burst * 0.95 + (rng.expovariate(1) * 20 if rng.random() < 0.005 else 0)
        out.append(4e7 * (math.exp(0.6 * level) * (1.0 if on else 0.3) + 0.1 * burst))
    return out


def sums(rates):
    out, total = [0.0], 0.0
    for rate in rates:
        total += rate
        out.append(total)
    return out


def carried(sum_of, frm, to):
    """Bytes between two moments."""
    def at(t):
        n = min(max(int(t), 0), len(sum_of) - 2)
        return sum_of[n] + (t - n) * (sum_of[n + 1] - sum_of[n])
    return at(to) - at(frm)


def observed(rng, traffic, length, samples, offset, drift, step, noise):
    """Rows (stamp, rate) of an observer. Its clock shows true + offset + drift * true, and `step` more from a moment on."""
    rows, rate = [], 1 + drift / 1e6
    at = float(LEAD)                        # true time
    for n in range(samples + 1):
        to = at + length / rate
        shown = at * rate + offset - drift / 1e6 * (LEAD + length * samples / 2)
        if step and n > samples // 2:
            shown += step
        if n:
            moved = carried(traffic, before, at) / (at - before)
            rows.append((START + timedelta(seconds=round(shown - LEAD)), moved * rng.gauss(1, noise)))
        before, at = at, to
    return rows


def write(path, volume, rows):
    with open(path, "w") as file:
        file.write("time,volume,bytes\n")
        for stamp, rate in rows:
            file.write(f"{stamp:%Y-%m-%d %H:%M:%S},{volume},{max(rate, 0):.0f}\n")


def case(folder, name, kind, seed, lengths, offset=0.0, drift=0.0, others=0.2, noise=0.01, samples=240):
    rng = random.Random(f"observers {seed}")
    span = max(lengths) * samples
    seconds = span + 2 * LEAD
    traffic = wandering(rng, seconds, 120)
    if kind == "flat":
        traffic = [5e7 * rng.gauss(1, 0.01) for _ in range(seconds)]
    if kind == "periodic":
        traffic = [5e7 * (1.2 + math.sin(2 * math.pi * n / 600)) for n in range(seconds)]
    extra = wandering(rng, seconds, 90)
    mean = sum(traffic) / sum(extra)
    if kind == "periodic" or kind == "flat":
        extra = [0.0] * seconds
    seen = [t + others * mean * e for t, e in zip(traffic, extra)]
    if kind == "unrelated":
        seen = extra
    count = [10, 10] if kind == "short" else [max(20, span // length) for length in lengths]
    step = 3600 if kind == "step" else 0
    a = observed(rng, sums(traffic), lengths[0], count[0], 0.0, 0.0, 0, noise)
    b = observed(rng, sums(seen), lengths[1], count[1], offset, drift, step, noise)
    write(os.path.join(folder, f"{name}.a.csv"), "naa.600508b4000971fa0000a00000a20000", a)
    write(os.path.join(folder, f"{name}.b.csv"), "naa.600508b4000971fa0000a00000a20000", b)
    print(name, kind, offset, drift)


def main(folder):
    clear = [
        ("agree", (20, 20), 0), ("behind", (20, 20), -43), ("berlin", (20, 20), 7200), ("kolkata", (20, 60), 19800),
        ("newyork", (60, 20), -14400), ("auckland", (20, 20), 43200), ("coarse", (60, 300), 137), ("fine", (1, 20), 3.4),
        ("both", (30, 20), 3600 + 11),
    ]
    for seed, (name, lengths, offset) in enumerate(clear):
        case(folder, name, "clear", seed, lengths, offset)
    case(folder, "others", "clear", 40, (20, 20), 95, others=1.0)
    case(folder, "noisy", "clear", 41, (20, 20), -25, noise=0.05)
    for seed, (name, drift, samples) in enumerate((("loses", -400, 600), ("races", 2000, 480))):
        case(folder, name, "clear", 50 + seed, (20, 20), 30, drift, samples=samples)
    case(folder, "summer", "step", 60, (20, 20), 0, samples=360)
    case(folder, "summer-zone", "step", 61, (20, 60), 3600, samples=360)
    for seed, kind in enumerate(("flat", "periodic", "unrelated", "short")):
        case(folder, kind, kind, 70 + seed, (20, 60) if seed % 2 else (20, 20), 3600)


if __name__ == "__main__":
    main(sys.argv[1])
