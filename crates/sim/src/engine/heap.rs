//! An implicit heap of events with four children per node: half the depth of a binary heap, and siblings are adjacent.
//!
//! Times are apart from the rest, so that four siblings are half a cache line and only events of one moment look further.
//! Most events cause one other, so a removal leaves a hole at the root that the next insertion fills: one walk down instead
//! of two (after the hold operation of Jones, 1986, who compared event sets). All moves are of whole words, since a processor
//! waits where it reads together what it has just written apart.

use std::hint::select_unpredictable;

const ARITY: usize = 4;

/// Events: times, and what else they are, whose upper half orders events of one time.
#[derive(Clone, Debug)]
pub struct Heap {
    times: Vec<u64>,
    rests: Vec<u128>,
    /// The root has been removed and not replaced yet.
    hole: bool,
}

impl Heap {
    /// Preallocates for `events` events.
    pub fn with_capacity(events: usize) -> Heap {
        Heap {
            times: Vec::with_capacity(events + 1),
            rests: Vec::with_capacity(events + 1),
            hole: false,
        }
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.times.len() - usize::from(self.hole)
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All events, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u128)> {
        self.times.iter().copied().zip(self.rests.iter().copied()).skip(usize::from(self.hole))
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, time: u64, rest: u128) {
        if !self.hole {
            return self.rise(time, rest);
        }
        self.hole = false;
        // A queue with its arrivals has no more than two events.
        match (self.times.as_mut_slice(), self.rests.as_mut_slice()) {
            ([first_time, second_time], [first_rest, second_rest]) => {
                if (*second_time, *second_rest) < (time, rest) {
                    (*first_time, *first_rest) = (*second_time, *second_rest);
                    (*second_time, *second_rest) = (time, rest);
                } else {
                    (*first_time, *first_rest) = (time, rest);
                }
            }
            _ => self.sink_from(0, time, rest),
        }
    }

    /// Removes the first event if it comes before this time, or at it and before this tie.
    #[inline]
    pub fn pop_before(&mut self, time: u64, tie: u64) -> Option<(u64, u128)> {
        if self.hole {
            self.fill();
        }
        let first = (*self.times.first()?, *self.rests.first()?);
        if first.0 > time || first.0 == time && (first.1 >> 64) as u64 >= tie {
            return None;
        }
        self.hole = true;
        Some(first)
    }

    /// The first event, wherever it is.
    #[inline]
    pub fn first(&self) -> Option<(u64, u128)> {
        if self.hole {
            if self.times.len() == 1 {
                return None;
            }
            let end = self.times.len().min(1 + ARITY);
            let (times, rests) = (&self.times[1..end], &self.rests[1..end]);
            let least = least_of(times, rests)?;
            return Some((times[least], rests[least]));
        }
        Some((*self.times.first()?, *self.rests.first()?))
    }

    /// Removes all events that satisfy `which`.
    pub fn remove(&mut self, mut which: impl FnMut((u64, u128)) -> bool) {
        if std::mem::take(&mut self.hole) {
            self.times.swap_remove(0);
            self.rests.swap_remove(0);
        }
        let mut kept = 0;
        for at in 0..self.times.len() {
            let event = (self.times[at], self.rests[at]);
            if !which(event) {
                (self.times[kept], self.rests[kept]) = event;
                kept += 1;
            }
        }
        self.times.truncate(kept);
        self.rests.truncate(kept);
        // Sinking from the last parent up restores the heap (Floyd 1964).
        for at in (0..kept.div_ceil(ARITY)).rev() {
            self.sink_from(at, self.times[at], self.rests[at]);
        }
    }

    /// Nothing was pushed into the hole: the last event fills it.
    #[inline]
    fn fill(&mut self) {
        self.hole = false;
        let (Some(time), Some(rest)) = (self.times.pop(), self.rests.pop()) else { return };
        match (self.times.as_mut_slice(), self.rests.as_mut_slice()) {
            // The hole itself was popped.
            ([], _) => {}
            ([only_time], [only_rest]) => (*only_time, *only_rest) = (time, rest),
            _ => self.sink_from(0, time, rest),
        }
    }

    /// Appends an event and moves it up to its position.
    fn rise(&mut self, time: u64, rest: u128) {
        let mut at = self.times.len();
        self.times.push(time);
        self.rests.push(rest);
        let (times, rests) = (self.times.as_mut_slice(), self.rests.as_mut_slice());
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if (times[parent], rests[parent]) <= (time, rest) {
                break;
            }
            (times[at], rests[at]) = (times[parent], rests[parent]);
            at = parent;
        }
        (times[at], rests[at]) = (time, rest);
    }

    /// Replaces the event at `at` and moves it down to its position.
    fn sink_from(&mut self, mut at: usize, time: u64, rest: u128) {
        let (times, rests) = (self.times.as_mut_slice(), self.rests.as_mut_slice());
        let len = times.len().min(rests.len());
        let (times, rests) = (&mut times[..len], &mut rests[..len]);
        loop {
            let first = at * ARITY + 1;
            if first >= len {
                break;
            }
            let end = len.min(first + ARITY);
            let Some(chosen) = least_of(&times[first..end], &rests[first..end]) else { break };
            let child = first + chosen;
            if times[child] > time || times[child] == time && rests[child] >= rest {
                break;
            }
            (times[at], rests[at]) = (times[child], rests[child]);
            at = child;
        }
        (times[at], rests[at]) = (time, rest);
    }
}

/// The position of the least of up to [`ARITY`] events.
///
/// Which one is least is unpredictable, so a branch would be mispredicted every other time: a small tournament chooses
/// without branches.
#[inline(always)]
fn least_of(times: &[u64], rests: &[u128]) -> Option<usize> {
    if let [a, b, c, d] = *times {
        let (second, fourth) = (b < a, d < c);
        let left = select_unpredictable(second, b, a);
        let right = select_unpredictable(fourth, d, c);
        if a != b && c != d && left != right {
            let [to_left, to_right] = [usize::from(second), 2 + usize::from(fourth)];
            return Some(select_unpredictable(right < left, to_right, to_left));
        }
    }
    least_of_few(times, rests)
}

/// The same of fewer, or where some are at one time.
#[inline(never)]
fn least_of_few(times: &[u64], rests: &[u128]) -> Option<usize> {
    let all = times.iter().zip(rests).enumerate();
    all.min_by_key(|(_, event)| *event).map(|(number, _)| number)
}
