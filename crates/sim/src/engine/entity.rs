//! The table of I/Os: preallocated entries that are reused, and queues linked through them that need no memory of their
//! own.

use crate::Ps;
use workload::Dir;

/// No I/O.
pub const NONE: u32 = u32::MAX;

/// For [`Entity::issued`]: it will be, by a step of its route.
pub const NOT_ISSUED: Ps = Ps(u64::MAX);

/// For [`Entity::at`]: waiting before a branch with no arm up.
pub const PARKED: u32 = u32::MAX - 1;

/// One I/O, one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Entity {
    /// When it was due; response time counts from here.
    pub due: Ps,
    /// When its source issued it, or [`NOT_ISSUED`].
    pub issued: Ps,
    /// When it came to its current station or pool queue.
    pub entered: Ps,
    /// Service time that it needs at its current station.
    pub demand: Ps,
    /// Its hop in the table of all routes; [`NONE`] for a free entry or a customer that thinks.
    pub hop: u32,
    /// The next in its queue, or the next free entry.
    pub next: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// The class, numbered through all loads.
    pub class: u32,
    /// The slot of its source.
    pub slot: u32,
    /// The station whose server it keeps while it is blocked before another.
    pub keeps: u32,
    /// Its station, or [`PARKED`] while it waits for an arm to recover.
    pub at: u32,
    /// Read or write.
    pub dir: Dir,
    /// 0 is highest.
    pub priority: u8,
}

impl Entity {
    const FREE: Entity = Entity {
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
    /// `count` free entries.
    pub fn new(count: u32) -> Entities {
        let place = |number| Entity {
            next: if number + 1 < count { number + 1 } else { NONE },
            ..Entity::FREE
        };
        let free = if count == 0 { NONE } else { 0 };
        Entities { all: (0..count).map(place).collect(), free }
    }

    /// Takes a free entry; `None` where there is none.
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        let taken = self.free;
        self.free = self.all.get(taken as usize)?.next;
        Some(taken)
    }

    /// Frees an entry.
    #[inline]
    pub fn give(&mut self, place: u32) {
        self.all[place as usize].hop = NONE;
        self.all[place as usize].next = self.free;
        self.free = place;
    }
}

impl Entities {
    /// Number of entries, free or not.
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

/// A first-in, first-out queue of I/Os, linked through their entries.
#[derive(Clone, Copy, Debug)]
pub struct Fifo {
    head: u32,
    tail: u32,
}

impl Fifo {
    /// An empty queue.
    pub const EMPTY: Fifo = Fifo { head: NONE, tail: NONE };

    /// Whether it is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// The first I/O; [`NONE`] where the queue is empty.
    #[inline]
    pub fn first(&self) -> u32 {
        self.head
    }

    /// Appends `who`.
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

    /// Removes the first.
    #[inline]
    pub fn pop(&mut self, entities: &Entities) -> Option<u32> {
        let first = self.head;
        if first == NONE {
            return None;
        }
        self.head = entities[first].next;
        Some(first)
    }

    /// Removes `who` from any position; false where it was not in the queue.
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
