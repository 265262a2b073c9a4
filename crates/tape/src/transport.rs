//! The motion of the tape while it is written: a buffer that the host fills and the tape empties. The tape runs at any rate
//! between the slowest and the native one. A host that feeds less than the slowest rate lets the buffer run empty; the drive
//! then stops, repositions (a *backhitch*) and starts again when the buffer is half full or has to be written out.

use crate::Generation;
use clock::Ns;

/// Stopping, rewinding a little and getting up to speed again: assumed for all generations.
pub const REPOSITION: Ns = Ns::millis(2500);

/// The buffer of a tape that moves evenly: what comes while the last block is moved finds room.
const EVEN_BUFFER: u64 = 2 << 20;

/// How a tape moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As real drives do, at so many bytes a second at most.
    Native(u64),
    /// At so many bytes a second whenever there is something to move, without stops: a tape that is virtual.
    Even(u64),
}

/// A tape in motion.
#[derive(Clone, Debug)]
pub struct Transport {
    rate: f64,
    slowest: f64,
    room: f64,
    /// Bytes with which a stopped tape starts, and that a moving one keeps in the buffer.
    kept: f64,
    /// Until the tape can move again after it stopped.
    reposition: Ns,
    /// Bytes in the buffer at `now`.
    held: f64,
    now: Ns,
    /// The tape moves; from this moment on, if it is still repositioning.
    streaming: Option<Ns>,
    /// The tape is repositioned and can move.
    ready: Ns,
    backhitches: u64,
}

impl Transport {
    /// A stopped tape of a generation; `native`: bytes a second, where they differ from the generation's.
    pub fn new(generation: &Generation, native: Option<u64>) -> Transport {
        let rate = native.unwrap_or(generation.rate).max(1) as f64;
        let slowest = rate * generation.slowest as f64 / generation.rate as f64;
        let room = generation.buffer as f64;
        Transport {
            rate,
            slowest,
            room,
            kept: room / 2.0,
            reposition: REPOSITION,
            held: 0.0,
            now: Ns::ZERO,
            streaming: None,
            ready: Ns::ZERO,
            backhitches: 0,
        }
    }

    /// A stopped tape of a generation that moves in one of the ways.
    pub fn paced(generation: &Generation, pace: Pace) -> Transport {
        match pace {
            Pace::Native(rate) => Transport::new(generation, Some(rate)),
            Pace::Even(rate) => Transport {
                slowest: 0.0,
                room: EVEN_BUFFER as f64,
                kept: 0.0,
                reposition: Ns::ZERO,
                ..Transport::new(generation, Some(rate))
            },
        }
    }

    /// How often the tape stopped because data was missing, and had to reposition.
    pub fn backhitches(&self) -> u64 {
        self.backhitches
    }

    /// Takes bytes of the host; returns when there is room for all of them.
    pub fn write(&mut self, now: Ns, bytes: u64) -> Ns {
        self.run_to(now);
        self.held += bytes as f64;
        if self.streaming.is_none() && self.held >= self.kept {
            self.streaming = Some(self.now.max(self.ready));
        }
        let above = self.held - self.room;
        if above <= 0.0 {
            return now;
        }
        let from = self.streaming.unwrap_or(self.ready).max(self.now);
        from.plus(Ns((above / self.rate * 1e9) as u64))
    }

    /// Reads bytes for the host; returns when they are there. Reading ahead hides the stops, so only the rate counts.
    pub fn read(&mut self, now: Ns, bytes: u64) -> Ns {
        let done = self.now.max(now).plus(Ns((bytes as f64 / self.rate * 1e9) as u64));
        self.now = done;
        done
    }

    /// Writes the buffer out (a filemark, a synchronize, a locate); returns when it is empty. The tape stops, which is no
    /// backhitch, but it has to be repositioned before it moves again.
    pub fn flush(&mut self, now: Ns) -> Ns {
        self.run_to(now);
        if self.held <= 0.0 {
            return now;
        }
        let from = self.streaming.unwrap_or(self.ready).max(self.now);
        let done = from.plus(Ns((self.held / self.rate * 1e9) as u64));
        (self.held, self.streaming, self.now) = (0.0, None, done);
        self.ready = done.plus(self.reposition);
        done
    }

    /// What the tape takes out of the buffer until a moment: it matches its rate to what arrives, within its range.
    fn run_to(&mut self, now: Ns) {
        if now <= self.now {
            return;
        }
        let start = self.streaming.unwrap_or(now).max(self.now);
        self.now = now;
        if start >= now {
            return;
        }
        let seconds = now.since(start).as_secs_f64();
        let least = self.slowest * seconds;
        if least > self.held {
            let empty = start.plus(Ns((self.held / self.slowest * 1e9) as u64));
            self.backhitches += 1;
            (self.held, self.streaming) = (0.0, None);
            self.ready = empty.plus(self.reposition);
            return;
        }
        let most = (self.rate * seconds).min(self.held);
        self.held -= (self.held - self.kept).clamp(least, most);
    }
}
