"""M/M/1 at load 0.75 in Cimba, as its own documentation models a queue. Prints timed events, the CPU seconds that they took
(a short run before has compiled the model), and the mean time in the system by Little's law."""

import sys
import time

import cimba as cb
import numpy as np
from cimba import inputs


class MM1(cb.Model):
    interarrival: cb.Input[float] = inputs.dist.exponential(mean=1 / 0.75)
    service_time: cb.Input[float] = inputs.dist.exponential(mean=1)
    queue: cb.Container
    mean_queue: cb.Output[float]

    @cb.process
    def arrivals(self):
        while True:
            cb.hold(self.interarrival.next())
            self.queue.put(1)

    @cb.process
    def server(self):
        while True:
            self.queue.get(1)
            cb.hold(self.service_time.next())

    @cb.on_end
    def measure(self):
        self.mean_queue = self.queue.mean_level()


def run(duration):
    model = MM1()
    window = cb.Window(warmup=0, duration=duration)
    results = cb.Experiment(model, replications=1, window=window, seed=1).run()
    return float(np.asarray(results[model].mean_queue).ravel()[0])


customers = int(sys.argv[1])
run(1000)
began = time.process_time()
waiting = run(customers / 0.75)
took = time.process_time() - began
# Those who are served are not in the container.
print(2 * customers, took, waiting / 0.75 + 1.0)
