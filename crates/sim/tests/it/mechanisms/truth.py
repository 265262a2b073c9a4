"""Independent truths for the mechanisms of the labs: frames counted one by one, and copies event by event.

Shares no code with the simulator. `python3 truth.py` prints what mod.rs compares with; the seed is fixed.
"""

import random

LINE = 425e6  # bytes a second of 4GFC after 8b/10b
PAYLOAD, AROUND = 2112, 36  # of a frame: start, header, check, end


def reads(words, size):
    """Payload rate of back-to-back reads: data frames, then a response of 24 bytes, `words` between any two frames."""
    wire = 0
    left = size
    while left > 0:
        frame = min(left, PAYLOAD)
        wire += frame + AROUND + 4 * words
        left -= frame
    wire += 24 + AROUND + 4 * words
    return LINE * size / wire


def writes(words, size):
    """The same of writes, with a command of 32 bytes before the data."""
    frames = -(-size // PAYLOAD)
    wire = size + frames * (AROUND + 4 * words) + 32 + AROUND + 4 * words
    return LINE * size / wire


class Shared:
    """A link that transfers share evenly."""

    def __init__(self, rate):
        self.rate, self.jobs, self.at = rate, {}, 0.0

    def advance(self, now):
        if self.jobs:
            done = (now - self.at) * self.rate / len(self.jobs)
            for job in self.jobs:
                self.jobs[job] -= done
        self.at = now

    def next(self):
        if not self.jobs:
            return None
        job = min(self.jobs, key=lambda job: (self.jobs[job], job))
        return self.at + max(self.jobs[job], 0.0) * len(self.jobs) / self.rate, job


def copies(workers, block, rate, latency, file_work, span=4.0, seed=1):
    """Bytes a second of workers that each read a block, then write it; the file system works after the read and before
    the write, between 0.5 and 1.5 times its mean, on a processor of each worker's own."""
    rng = random.Random(seed)
    links = [Shared(rate), Shared(rate)]
    timers = [(latency, worker, 0) for worker in range(workers)]
    done = 0
    while True:
        events = [(at, worker, half, True) for at, worker, half in timers]
        for half, link in enumerate(links):
            found = link.next()
            if found:
                events.append((found[0], found[1], half, False))
        now, worker, half, timer = min(events)
        if now > span:
            return done * block / span
        if timer:
            timers.remove((now, worker, half))
            links[half].advance(now)
            links[half].jobs[worker] = float(block)
            continue
        links[half].advance(now)
        del links[half].jobs[worker]
        # After the read its file work and that of the write; then the other array's latency. After the write, the next.
        work = sum(rng.uniform(0.5, 1.5) * file_work for _ in range(2)) if half == 0 else 0.0
        done += half
        timers.append((now + work + latency, worker, 1 - half))


if __name__ == "__main__":
    for words in (2, 4, 6):
        size = 256 << 10
        print(f"gap {words}: read {reads(words, size) / 1e6:.2f} write {writes(words, size) / 1e6:.2f} MB/s")
    block = 64 << 10
    for workers in (1, 2, 8):
        for file_work in (0.0, 46.2144e-6):
            rate = copies(workers, block, 650e6, 100e-6, file_work)
            print(f"copies {workers}, file work {file_work * 1e6:.1f} us: {rate / 1e6:.1f} MB/s")
