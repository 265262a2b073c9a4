//! Events of the near future by time: a ring of buckets, each a short list in order (a calendar queue, R. Brown 1988).
//!
//! A bucket is about as wide as the time between two events, so that an event is inserted and removed at the cost of one
//! bucket, however many are pending. What does not fit is refused, and its place is the heap: events beyond the ring, those
//! before its position, and crowds of one moment. So the width only decides how fast it is. It follows the pace of the
//! events ([`Calendar::tune`]), and where few are pending there is no calendar at all.

use super::event::SimEvent;
use crate::Ps;
use std::hint::select_unpredictable;

/// Buckets of the ring: words with a bit for each bucket that is not empty.
const WORDS: usize = 64;
const BUCKETS: usize = WORDS * 64;
/// No event.
const NONE: u16 = u16::MAX;
/// An event that would come behind so many others of its bucket is refused.
const STEPS: u32 = 8;
/// With fewer events pending a heap is flat enough.
const FEW: usize = 16;
/// With more, most would be beyond the ring.
const MANY: usize = 4 * BUCKETS;

/// An event and the next one of its bucket, or the next free place.
#[derive(Clone, Copy, Debug)]
struct Place {
    event: SimEvent,
    next: u16,
}

/// The events of the ring.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// A bucket is 2^`shift` picoseconds wide.
    shift: u32,
    /// Whether events are accepted.
    open: bool,
    /// The bucket in which the last event was found, counted from time 0. All buckets in use are at most a turn ahead.
    at: u64,
    /// The ring's first bucket that is not empty, where any is.
    first: usize,
    first_time: Ps,
    heads: Box<[u16; BUCKETS]>,
    /// Buckets that are not empty.
    used: [u64; WORDS],
    places: Box<[Place]>,
    free: u16,
    len: usize,
}

impl Calendar {
    /// A calendar that is not open yet, for so many events.
    pub fn with_capacity(events: usize) -> Calendar {
        let room = if events < FEW { 0 } else { events.min(usize::from(NONE)) };
        let place = |number: usize| Place {
            event: SimEvent::new(Ps::ZERO, 0, 0, 0),
            next: if number + 1 < room { number as u16 + 1 } else { NONE },
        };
        Calendar {
            shift: 0,
            open: false,
            at: 0,
            first: 0,
            first_time: Ps::MAX,
            heads: Box::new([NONE; BUCKETS]),
            used: [0; WORDS],
            places: (0..room).map(place).collect(),
            free: if room > 0 { 0 } else { NONE },
            len: 0,
        }
    }

    /// Number of events.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether events are accepted.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// All events, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = SimEvent> {
        let head = |bucket: &usize| (self.heads[*bucket] != NONE).then(|| self.heads[*bucket]);
        let next = |at: &u16| Some(self.places[usize::from(*at)].next).filter(|next| *next != NONE);
        let buckets = (0..BUCKETS).filter_map(move |bucket| head(&bucket));
        buckets
            .flat_map(move |head| std::iter::successors(Some(head), next))
            .map(|at| self.places[usize::from(at)].event)
    }

    /// Adds an event; false where it does not fit.
    #[inline(never)]
    pub fn push(&mut self, time: Ps, tie: u64, who: u32, hop: u32) -> bool {
        let bucket = time.0 >> self.shift;
        if self.len == 0 {
            (self.at, self.first) = (bucket, bucket as usize % BUCKETS);
        }
        let (new, ahead) = (self.free, bucket.wrapping_sub(self.at));
        if ahead >= BUCKETS as u64 || new == NONE {
            return false;
        }
        let bucket = bucket as usize % BUCKETS;
        let head = self.heads[bucket];
        let mut after = head;
        if head == NONE {
            self.used[bucket / 64] |= 1 << (bucket % 64);
            self.heads[bucket] = new;
        } else if !self.is_behind(head, time, tie) {
            self.heads[bucket] = new;
        } else {
            let mut before = head;
            let mut steps = 0;
            loop {
                after = self.places[usize::from(before)].next;
                if after == NONE || !self.is_behind(after, time, tie) {
                    break;
                }
                (before, steps) = (after, steps + 1);
                if steps == STEPS {
                    return false;
                }
            }
            self.places[usize::from(before)].next = new;
        }
        let place = &mut self.places[usize::from(new)];
        self.free = place.next;
        *place = Place { event: SimEvent { time, tie, who, hop }, next: after };
        self.len += 1;
        let sooner = time < self.first_time;
        self.first = select_unpredictable(sooner, bucket, self.first);
        self.first_time = select_unpredictable(sooner, time, self.first_time);
        true
    }

    /// Whether the event at a place comes before this time and tie, so that one with these is behind it.
    #[inline]
    fn is_behind(&self, place: u16, time: Ps, tie: u64) -> bool {
        self.places[usize::from(place)].event.is_due_before(time.0, tie)
    }

    /// When the first event happens; [`Ps::MAX`] where there is none.
    #[inline]
    pub fn first_time(&self) -> Ps {
        self.first_time
    }

    /// The first bucket that is not empty from `at` on. There is one, and nearly always it is near.
    #[inline]
    fn first_from(&self, at: usize) -> usize {
        let mut word = at / 64;
        let mut bits = self.used[word] & (u64::MAX << (at % 64));
        while bits == 0 {
            word = (word + 1) % WORDS;
            bits = self.used[word];
        }
        word * 64 + bits.trailing_zeros() as usize
    }

    /// The first event.
    #[inline]
    pub fn first(&self) -> Option<&SimEvent> {
        (self.len > 0).then(|| &self.places[usize::from(self.heads[self.first])].event)
    }

    /// Removes the first event; there is one.
    #[inline]
    pub fn take_first(&mut self) -> SimEvent {
        let bucket = self.first % BUCKETS;
        let head = self.heads[bucket];
        let place = &mut self.places[usize::from(head)];
        let Place { event, next } = *place;
        place.next = self.free;
        self.free = head;
        self.heads[bucket] = next;
        self.at = event.time.0 >> self.shift;
        self.len -= 1;
        let mut first = next;
        if next == NONE {
            self.used[bucket / 64] &= !(1 << (bucket % 64));
            if self.len == 0 {
                self.first_time = Ps::MAX;
                return event;
            }
            self.first = self.first_from(bucket);
            first = self.heads[self.first];
        }
        self.first_time = self.places[usize::from(first)].event.time;
        event
    }

    /// Whether, with so many events pending of which one is removed every `gap`, it should be open or shut, or its buckets
    /// be wider or narrower.
    pub fn is_out_of_tune(&self, pending: usize, gap: Ps) -> bool {
        let open = self.should_open(pending);
        open != self.open || open && width(gap).abs_diff(self.shift) > 1
    }

    fn should_open(&self, pending: usize) -> bool {
        let least = if self.open { FEW / 2 } else { FEW };
        !self.places.is_empty() && (least..=MANY).contains(&pending)
    }

    /// Removes all events.
    pub fn empty(&mut self, mut each: impl FnMut(SimEvent)) {
        while self.len > 0 {
            each(self.take_first());
        }
    }

    /// The same, and opens or shuts.
    pub fn tune(&mut self, pending: usize, gap: Ps, each: impl FnMut(SimEvent)) {
        self.empty(each);
        self.open = self.should_open(pending);
        self.shift = width(gap);
    }
}

/// The binary logarithm of the width for events that are `gap` apart.
fn width(gap: Ps) -> u32 {
    gap.0.max(1).ilog2()
}
