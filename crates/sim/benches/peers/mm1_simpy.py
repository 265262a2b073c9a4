"""M/M/1 at load 0.75 in SimPy, as its own documentation models a counter. Prints timed events, the CPU seconds that they
took, and the mean time in the system, which shows that the same was simulated."""

import random
import sys
import time

import simpy


def customer(env, counter, rng, stays):
    came = env.now
    with counter.request() as turn:
        yield turn
        yield env.timeout(rng.expovariate(1.0))
    stays[0] += env.now - came
    stays[1] += 1


def arrivals(env, counter, rng, stays, customers):
    for _ in range(customers):
        yield env.timeout(rng.expovariate(0.75))
        env.process(customer(env, counter, rng, stays))


customers = int(sys.argv[1])
env = simpy.Environment()
stays = [0.0, 0]
env.process(arrivals(env, simpy.Resource(env), random.Random(1), stays, customers))
began = time.process_time()
env.run()
took = time.process_time() - began
print(2 * stays[1], took, stays[0] / stays[1])
