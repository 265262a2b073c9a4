"""Initiator and target threads that serve their I/Os in passes and share processors: an independent simulation.

Each VM has an initiator thread and a queue at a target thread. A pass of a thread over one of its queues takes all I/Os
that are there, and costs `s` and, for each I/O, a draw between half and one and a half times `c`; and `w` before it where
the thread slept and a processor was idle. Where none is idle the thread waits for its turn, first come, first served; taking a
processor from another thread costs `x`. With
`spin` an initiator that expects to wait for less than that polls on its processor instead of sleeping. It looks at the clock
when it runs again, so that a wait in which it slept includes its waking.

With `halt`, a time and a cost, an idle processor halts after that time, and waking it costs so much more. Of several idle ones
the one that was at work last is woken.

With `part` a target's pass sends its answers in parts, so many in each: of 2.5 the first part brings two and a half, so that two
leave with it, and the third with the second part. They leave as soon as the last of them is served, and the pass goes on.

Closed loops: `depth` I/Os a VM. Open ones (`rate`): Poisson arrivals at the target's queue, which end there; or at an
initiator (`trip`), which issues each by a pass without work of its own, and takes its answer. It polls for answers alone: with
nothing under way it sleeps, and that counts for no expectation. A trip has two times: since it was issued, and since it came.

Prints one line a case: its parameters, I/Os a second, mean microseconds. Only the standard library; seeded.
"""

import heapq
import math
import random

MICROS = 1e-6


class Queue:
    def __init__(self, name, thread, wake, spin, then, part=0):
        self.part = part
        self.name, self.thread, self.wake, self.spin, self.then = name, thread, wake, spin, then
        self.waiting = []
        self.serving = []
        self.state = "sleeps"
        self.expects = 16 * spin
        self.under_way = None
        self.idle_from = 0.0
        self.timer = 0
        self.slept = False


class Machine:
    def __init__(self, processors, s, c, law, rng, halt=None, x=0.0):
        self.x = x
        self.halt, self.resting = halt, [0.0] * processors
        self.free, self.s, self.c, self.law, self.rng = processors, s, c, law, rng
        self.clock, self.agenda, self.order = 0.0, [], 0
        self.turn = []
        self.pollers = []
        self.threads_at_work = set()

    def later(self, delay, what, *args):
        self.order += 1
        heapq.heappush(self.agenda, (self.clock + delay, self.order, what, args))

    def occupy(self):
        """Takes an idle processor; the additional cost of waking it."""
        self.free -= 1
        rested = self.clock - self.resting.pop()
        return self.halt[1] if self.halt and rested >= self.halt[0] else 0.0

    def vacate(self):
        self.free += 1
        self.resting.append(self.clock)

    def hopes(self, queue):
        """Whether it waits for an answer."""
        return queue.under_way is None or queue.under_way > 0

    def cost(self):
        return self.c * self.rng.uniform(0.5, 1.5) if self.law == "uniform" else self.c

    def put(self, queue, io, cost=None):
        queue.waiting.append((io, self.cost() if cost is None else cost))
        if queue.state == "sleeps":
            queue.slept = True
            if queue.thread in self.threads_at_work:
                self.line_up(queue)
            elif self.free > 0:
                self.work(queue, queue.wake + self.occupy())
            elif self.pollers:
                other = self.pollers.pop(0)
                other.state = "sleeps"
                other.timer += 1
                self.work(queue, self.x)
            else:
                self.line_up(queue)
        elif queue.state == "polls":
            self.expect(queue)
            self.pollers.remove(queue)
            queue.timer += 1
            self.work(queue, 0.0)

    def expect(self, queue):
        if not self.hopes(queue):
            return
        waited = min(self.clock - queue.idle_from, 16 * queue.spin)
        queue.expects += (waited - queue.expects) / 8

    def line_up(self, queue):
        queue.state = "lined up"
        self.turn.append(queue)

    def work(self, queue, wake):
        """A pass; the caller has a processor for it."""
        queue.state = "works"
        self.threads_at_work.add(queue.thread)
        self.later(wake, self.awake, queue)

    def awake(self, queue):
        if queue.slept:
            queue.slept = False
            self.expect(queue)
        queue.serving, queue.waiting = queue.waiting, []
        after, gone = self.s, 0
        while queue.part > 0 and queue.serving:
            whole_parts = math.ceil((gone + 1) / queue.part - 1e-9)
            upto = math.floor(whole_parts * queue.part + 1e-9) - gone
            if upto >= len(queue.serving):
                break
            first, queue.serving = queue.serving[:upto], queue.serving[upto:]
            gone += upto
            after += sum(cost for _, cost in first)
            self.later(after, self.sent, queue, first)
        self.later(after + sum(cost for _, cost in queue.serving), self.worked, queue)

    def sent(self, queue, ios):
        for io, _ in ios:
            queue.then(io)

    def worked(self, queue):
        for io, _ in queue.serving:
            queue.then(io)
        queue.serving = []
        self.threads_at_work.discard(queue.thread)
        queue.idle_from = self.clock
        others = bool(self.turn)
        self.vacate()
        if queue.waiting:
            self.line_up(queue)
        elif queue.expects < queue.spin and self.hopes(queue) and not others:
            queue.state = "polls"
            self.occupy()
            self.pollers.append(queue)
            queue.timer += 1
            self.later(queue.spin, self.polled, queue, queue.timer)
        else:
            queue.state = "sleeps"
        self.next(queue.thread)

    def polled(self, queue, timer):
        if queue.state == "polls" and queue.timer == timer:
            queue.state = "sleeps"
            self.pollers.remove(queue)
            self.vacate()

    def next(self, last):
        at = 0
        while self.free > 0 and at < len(self.turn):
            if self.turn[at].thread in self.threads_at_work:
                at += 1
                continue
            self.occupy()
            following = self.turn.pop(at)
            self.work(following, 0.0 if following.thread == last else self.x)
            last = None

    def run(self, until):
        while self.agenda and self.agenda[0][0] <= until:
            self.clock, _, what, args = heapq.heappop(self.agenda)
            what(*args)


def measure(machine, warm, measured):
    """`done` of the machine holds the times of all I/Os that ended."""
    machine.run(warm)
    machine.done = []
    machine.run(warm + measured)
    return len(machine.done) / measured, sum(machine.done) / max(len(machine.done), 1)


def closed(vms, depth, processors, targets, w, s, c, spin, law, seed, part=0, halt=None, x=0.0):
    machine = Machine(processors, s * MICROS, c * MICROS, law, random.Random(seed), halt, x * MICROS)
    machine.done = []
    for vm in range(vms):
        far = Queue(f"target {vm}", f"target {vm % targets}", w * MICROS, 0.0, None, part)
        near = Queue(f"initiator {vm}", f"initiator {vm}", w * MICROS, spin * MICROS, None)

        def ended(began, far=far):
            machine.done.append(machine.clock - began)
            machine.put(far, machine.clock)

        far.then = lambda began, near=near: machine.put(near, began)
        near.then = ended
        for _ in range(depth):
            machine.later(0.0, machine.put, far, 0.0)
    passes = 2 * (w + s) + 2 * c * depth
    return measure(machine, 100 * passes * MICROS, 500 * passes * MICROS)


def opened(rate, w, s, c, seed):
    rng = random.Random(seed)
    machine = Machine(1, s * MICROS, c * MICROS, "constant", rng)
    machine.done = []
    queue = Queue("target", "target", w * MICROS, 0.0, lambda began: machine.done.append(machine.clock - began))

    def arrive():
        machine.put(queue, machine.clock)
        machine.later(rng.expovariate(rate), arrive)

    machine.later(0.0, arrive)
    return measure(machine, 0.1, 100_000 / rate)


def trips(rate, w, s, c, spin, seed, halt=None):
    rng = random.Random(seed)
    machine = Machine(2, s * MICROS, c * MICROS, "uniform", rng, halt)
    machine.done, responses = [], []
    near = Queue("initiator", "initiator", w * MICROS, spin * MICROS, None)
    near.under_way = 0

    def ended(io):
        came, issued = io
        if issued is None:
            near.under_way += 1
            machine.put(far, (came, machine.clock))
        else:
            near.under_way -= 1
            machine.done.append(machine.clock - issued)
            responses.append(machine.clock - came)

    near.then = ended
    far = Queue("target", "target", w * MICROS, 0.0, lambda io: machine.put(near, io))

    def arrive():
        machine.put(near, (machine.clock, None), 0.0)
        machine.later(rng.expovariate(rate), arrive)

    machine.later(0.0, arrive)
    iops, mean = measure(machine, 2_000 / rate, 60_000 / rate)
    responses = responses[-len(machine.done) :]
    return iops, mean, sum(responses) / len(responses)


def main():
    costs = {
        "idle": (30.0, 4.0, 1.5),
        "busy": (2.0, 5.0, 3.0),
        "large": (20.0, 6.0, 12.0),
    }
    for name, (w, s, c) in costs.items():
        for spin in (0.0, 50.0):
            for vms, depths in ((1, (1, 2, 4, 8, 16, 32, 64)), (2, (1, 4, 16, 64)), (4, (1, 8, 32))):
                for depth in depths:
                    if spin > 0 and vms > 1:
                        continue
                    iops, mean = closed(vms, depth, 2, 2, w, s, c, spin, "uniform", depth)
                    print("closed", name, vms, depth, 2, w, s, c, spin, 0, 0.0, 0.0, f"{iops:.0f} {mean / MICROS:.2f}")
        for vms, depth, processors in ((1, 1, 1), (1, 16, 1), (4, 8, 4), (3, 5, 2)):
            iops, mean = closed(vms, depth, processors, processors, w, s, c, 0.0, "uniform", depth)
            print("closed", name, vms, depth, processors, w, s, c, 0.0, 0, 0.0, 0.0, f"{iops:.0f} {mean / MICROS:.2f}")
        for spin, part, vms, depth in (
            (0.0, 1, 1, 2),
            (0.0, 1, 1, 8),
            (0.0, 8, 1, 64),
            (0.0, 3, 1, 16),
            (50.0, 1, 1, 4),
            (50.0, 1, 1, 16),
            (50.0, 2, 1, 8),
            (50.0, 8, 1, 32),
            (0.0, 1, 2, 8),
            (0.0, 8, 2, 32),
            (0.0, 2, 4, 8),
            (0.0, 8, 4, 64),
            (0.0, 7.95, 1, 8),
            (50.0, 7.95, 1, 8),
            (50.0, 7.95, 1, 16),
            (50.0, 7.95, 1, 32),
            (0.0, 2.5, 1, 4),
            (50.0, 2.5, 1, 16),
            (50.0, 0.99, 1, 4),
            (0.0, 7.95, 2, 8),
            (0.0, 7.95, 4, 8),
        ):
            iops, mean = closed(vms, depth, 2, 2, w, s, c, spin, "uniform", depth, part)
            print("closed", name, vms, depth, 2, w, s, c, spin, part, 0.0, 0.0, f"{iops:.0f} {mean / MICROS:.2f}")
        for after, more, spin, vms, depth in (
            (5.0, 20.0, 0.0, 1, 1),
            (5.0, 20.0, 50.0, 1, 8),
            (12.0, 8.0, 0.0, 1, 4),
            (40.0, 30.0, 0.0, 1, 16),
            (5.0, 20.0, 0.0, 2, 1),
            (10.0, 15.0, 0.0, 2, 4),
        ):
            halt = (after * MICROS, more * MICROS)
            iops, mean = closed(vms, depth, 2, 2, w, s, c, spin, "uniform", depth, 0, halt)
            times = f"{iops:.0f} {mean / MICROS:.2f}"
            print("closed", name, vms, depth, 2, w, s, c, spin, 0, after, more, times)
        for x, spin, part, vms, depth, processors in (
            (3.0, 0.0, 0, 1, 8, 1),
            (1.5, 50.0, 0, 1, 4, 1),
            (1.5, 50.0, 7.95, 1, 16, 2),
            (1.5, 0.0, 0, 2, 1, 2),
            (3.0, 0.0, 0, 2, 16, 2),
            (3.0, 0.0, 0, 4, 1, 2),
            (1.5, 0.0, 7.95, 4, 8, 2),
            (6.0, 0.0, 0, 3, 5, 2),
        ):
            iops, mean = closed(vms, depth, processors, processors, w, s, c, spin, "uniform", depth, part, None, x)
            times = f"{iops:.0f} {mean / MICROS:.2f}"
            print("switch", name, vms, depth, processors, w, s, c, spin, part, x, 0.0, times)
    for rate, w, s, c in ((10_000, 30.0, 4.0, 1.5), (60_000, 30.0, 4.0, 1.5), (300_000, 10.0, 5.0, 2.0)):
        iops, mean = opened(rate, w, s, c, 7)
        print("open", "-", 1, 1, rate, w, s, c, 0.0, f"{iops:.0f} {mean / MICROS:.2f}")
    for rate in (500, 6_000, 30_000, 90_000):
        for w, s, c, spin in ((10.0, 4.0, 2.0, 50.0), (25.0, 5.0, 1.5, 50.0), (25.0, 5.0, 1.5, 0.0)):
            for after, more in ((0.0, 0.0), (100.0, 25.0), (30.0, 12.0)):
                halt = (after * MICROS, more * MICROS) if more else None
                iops, mean, response = trips(rate, w, s, c, spin, 11, halt)
                times = f"{mean / MICROS:.2f} {response / MICROS:.2f}"
                print("trip", "-", 1, 2, rate, w, s, c, spin, after, more, f"{iops:.0f} {times}")


if __name__ == "__main__":
    main()
