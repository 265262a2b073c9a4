"""When each I/O of a trace is issued if it waits for those that had completed before it was issued: the rule, applied naively.

    python3 closed.py SEED ISSUERS SPEED

Prints a line for each I/O: recorded issue, recorded latency, issuer, latency now, issue now (all in nanoseconds).
"""

import random
import sys


def main():
    seed, issuers, speed = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    rng = random.Random(seed)
    at, ios = 0, []
    for _ in range(400):
        at += rng.choice([0, 100, 5_000, 40_000, 900_000])
        ios.append((at, rng.randrange(1, 300) * 1_000, rng.randrange(issuers), rng.randrange(1, 900) * 1_000))
    issued, last = [], {}
    for n, (at, _, issuer, _) in enumerate(ios):
        before = [k for k in range(n) if ios[k][2] == issuer and ios[k][0] + ios[k][1] <= at]
        if before:
            recorded = max(ios[k][0] + ios[k][1] for k in before)
            now = max(issued[k] + ios[k][3] for k in before)
        else:
            recorded, now = 0, 0
        due = now + int((at - recorded) / speed)
        due = max(due, last.get(issuer, 0))
        issued.append(due)
        last[issuer] = due
    for (at, latency, issuer, served), due in zip(ios, issued):
        print(at, latency, issuer, served, due)


main()
