//! I/Os on their way, in places that are made beforehand and used again, and lines of them that need no memory of their own.

use crate::Ps;
use workload::Dir;

/// Nobody.
pub const NONE: u32 = u32::MAX;

/// Of [`Entity::at`]: before a branch of which no arm lives.
pub const PARKED: u32 = u32::MAX - 1;

/// One I/O: one line of the processor's cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Entity {
    /// When it was due: its response time counts from here.
    pub due: Ps,
    /// When its source let it go.
    pub issued: Ps,
    /// When it came to where it is: a station, or the line of a pool.
    pub entered: Ps,
    /// What it asks of the station where it is.
    pub demand: Ps,
    /// The hop that it is at, in the table of all routes; [`NONE`] of a place that is free or whose customer thinks.
    pub hop: u32,
    /// The one behind it in the line where it stands, or the next free place.
    pub next: u32,
    /// Bytes.
    pub bytes: u32,
    /// The class, numbered over all loads.
    pub class: u32,
    /// The slot of its source.
    pub slot: u32,
    /// The station whose server it keeps while it waits at another's door.
    pub keeps: u32,
    /// The station that it is at, or [`PARKED`] where it waits for an arm to live.
    pub at: u32,
    /// Read or write.
    pub dir: Dir,
    /// 0 is first.
    pub priority: u8,
}

impl Entity {
    const NOBODY: Entity = Entity {
        due: Ps::ZERO,
        issued: Ps::ZERO,
        entered: Ps::ZERO,
        demand: Ps::ZERO,
        hop: NONE,
        next: NONE,
        bytes: 0,
        class: 0,
        slot: 0,
        keeps: NONE,
        at: NONE,
        dir: Dir::Read,
        priority: 0,
    };
}

/// All I/Os that can be outstanding.
#[derive(Clone, Debug)]
pub struct Entities {
    all: Vec<Entity>,
    free: u32,
}

impl Entities {
    /// `count` free places.
    pub fn new(count: u32) -> Entities {
        let place = |number| Entity {
            next: if number + 1 < count { number + 1 } else { NONE },
            ..Entity::NOBODY
        };
        let free = if count == 0 { NONE } else { 0 };
        Entities { all: (0..count).map(place).collect(), free }
    }

    /// A free place; `None` where all are taken.
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        let taken = self.free;
        self.free = self.all.get(taken as usize)?.next;
        Some(taken)
    }

    /// Gives a place back.
    #[inline]
    pub fn give(&mut self, place: u32) {
        self.all[place as usize].hop = NONE;
        self.all[place as usize].next = self.free;
        self.free = place;
    }
}

impl Entities {
    /// How many places there are.
    pub fn count(&self) -> u32 {
        self.all.len() as u32
    }
}

impl std::ops::Index<u32> for Entities {
    type Output = Entity;

    #[inline]
    fn index(&self, place: u32) -> &Entity {
        &self.all[place as usize]
    }
}

impl std::ops::IndexMut<u32> for Entities {
    #[inline]
    fn index_mut(&mut self, place: u32) -> &mut Entity {
        &mut self.all[place as usize]
    }
}

/// A line of I/Os, first come first out, linked through them.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    head: u32,
    tail: u32,
}

impl Line {
    /// Nobody in it.
    pub const EMPTY: Line = Line { head: NONE, tail: NONE };

    /// Whether nobody stands in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Who is first; [`NONE`] where nobody is.
    #[inline]
    pub fn first(&self) -> u32 {
        self.head
    }

    /// `who` goes to the end.
    #[inline]
    pub fn push(&mut self, entities: &mut Entities, who: u32) {
        entities[who].next = NONE;
        if self.head == NONE {
            self.head = who;
        } else {
            entities[self.tail].next = who;
        }
        self.tail = who;
    }

    /// The first leaves.
    #[inline]
    pub fn pop(&mut self, entities: &Entities) -> Option<u32> {
        let first = self.head;
        if first == NONE {
            return None;
        }
        self.head = entities[first].next;
        Some(first)
    }

    /// `who` leaves from wherever it stands; whether it stood there.
    pub fn remove(&mut self, entities: &mut Entities, who: u32) -> bool {
        let (mut before, mut at) = (NONE, self.head);
        while at != who {
            if at == NONE {
                return false;
            }
            (before, at) = (at, entities[at].next);
        }
        let behind = entities[who].next;
        match before {
            NONE => self.head = behind,
            before => entities[before].next = behind,
        }
        if behind == NONE {
            self.tail = before;
        }
        true
    }
}
