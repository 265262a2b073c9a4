//! The queue of a tape drive: a thread that carries I/Os in their order, some writes at once, so that reads from disks go on while
//! blocks are written. They go to the drive out of the worker's buffers.

use super::TapeTarget;
use super::drive::{TapeDrive, TapePlace, TapeTrouble};
use crate::initiator::tape::WRITES;
use clock::Ns;
use disk::{Arena, Completion, Completions, Io, OpenError, Opener, Queue, RemoteAccess};
use engine::{EventNote, Reports};
use record::{CounterId, Level};
use rtrb::{Consumer, Producer, RingBuffer};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, Thread};
use std::time::Duration;
use workload::Dir;

/// I/Os that may be handed over at once.
const DEPTH: u32 = 64;

/// How long the worker sleeps at most before it looks again.
const LOOK: Duration = Duration::from_millis(5);

/// What happened, with its time: the text, and whether it is a fault.
type TapeNews = Arc<Mutex<Vec<(Ns, bool, String)>>>;

/// Opens the queue of a drive.
pub struct TapeOpener {
    access: RemoteAccess,
    target: Arc<TapeTarget>,
}

/// An I/O for the thread, with the memory that it works on.
struct TapeOrder {
    io: Io,
    base: *mut u8,
}

// SAFETY: the address is of a slot of the worker's arena. The slot is not touched before its completion was taken out, and the
// queue, which keeps the arena, ends the thread before it is dropped.
unsafe impl Send for TapeOrder {}

/// What a worker drives.
struct TapeQueue {
    arena: Arena,
    how: String,
    orders: Producer<TapeOrder>,
    endings: Consumer<Completion>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    news: TapeNews,
    _access: RemoteAccess,
}

/// The thread's part.
struct TapeThread {
    target: Arc<TapeTarget>,
    orders: Consumer<TapeOrder>,
    endings: Producer<Completion>,
    ends: Arc<AtomicBool>,
    worker: Thread,
    news: TapeNews,
    may_write: bool,
    /// What was written since the last flush, to be read back.
    places: Vec<TapePlace>,
    block: usize,
    /// Why nothing more is done: what comes behind a block that failed must not be written.
    broken: Option<i32>,
}

struct TapeReports(TapeNews);

impl TapeOpener {
    /// For one drive.
    pub fn new(access: RemoteAccess, target: Arc<TapeTarget>) -> TapeOpener {
        TapeOpener { access, target }
    }
}

impl Opener for TapeOpener {
    fn open(self: Box<Self>, arena: &Arena) -> Result<Box<dyn Queue>, OpenError> {
        let TapeOpener { access, target } = *self;
        let (orders, taken) = RingBuffer::new(DEPTH as usize);
        let (ended, endings) = RingBuffer::new(DEPTH as usize);
        let (ends, news) = (Arc::new(AtomicBool::new(false)), TapeNews::default());
        let how =
            format!("tape drive {} {}, {WRITES} blocks under way", target.model, target.serial);
        let name = target.url.clone();
        let work = TapeThread {
            target,
            orders: taken,
            endings: ended,
            ends: ends.clone(),
            worker: std::thread::current(),
            news: news.clone(),
            may_write: matches!(access, RemoteAccess::Write(_)),
            places: Vec::new(),
            block: 0,
            broken: None,
        };
        let thread = Builder::new().name("tape".to_owned()).spawn(move || work.run());
        let thread = thread.map_err(|e| OpenError {
            target: name,
            problem: format!("no thread could be started ({e})"),
        })?;
        Ok(Box::new(TapeQueue {
            arena: arena.clone(),
            how,
            orders,
            endings,
            ends,
            thread: Some(thread),
            news,
            _access: access,
        }))
    }
}

impl TapeThread {
    fn run(mut self) {
        while !self.ends.load(Ordering::Acquire) {
            if self.appends() {
                self.append();
                continue;
            }
            let Ok(TapeOrder { io, base }) = self.orders.pop() else {
                std::thread::park_timeout(LOOK);
                continue;
            };
            let result = match self.broken {
                Some(errno) => Err(errno),
                None => self.carry(&io, base),
            };
            let _room_for_all = self.endings.push(Completion { slot: io.slot, result });
            self.worker.unpark();
        }
    }

    /// Whether the next I/O is a write that may be done.
    fn appends(&self) -> bool {
        let next = self.orders.peek();
        self.may_write && self.broken.is_none() && next.is_ok_and(|one| one.io.dir == Dir::Write)
    }

    /// Writes what is at hand up to the next I/O of another kind.
    fn append(&mut self) {
        let target = self.target.clone();
        let mut drive = target.drive();
        let TapeThread { orders, endings, ends, worker, places, block, .. } = self;
        let taken = RefCell::new(VecDeque::new());
        let mut next = || {
            let is_write = orders.peek().is_ok_and(|one| one.io.dir == Dir::Write);
            if !is_write || ends.load(Ordering::Acquire) {
                return None;
            }
            let TapeOrder { io, base } = orders.pop().ok()?;
            let len = io.len as usize;
            *block = len.max(*block);
            taken.borrow_mut().push_back(io);
            // SAFETY: the slot holds `len` bytes and belongs to this I/O until its completion is pushed.
            Some((unsafe { std::slice::from_raw_parts(base.cast_const(), len) }, io.fua))
        };
        let mut end = |result: Result<(), i32>| {
            let Some(io) = taken.borrow_mut().pop_front() else { return false };
            let result = result.map(|()| io.len);
            let _room_for_all = endings.push(Completion { slot: io.slot, result });
            worker.unpark();
            true
        };
        let appended = drive.append(&mut next, &mut |place| {
            places.extend(place);
            end(Ok(()));
        });
        let errno = appended.as_ref().map_or_else(|e| e.errno, |()| libc::EIO);
        while end(Err(errno)) {}
        for text in drive.news.drain(..) {
            tell(&self.news, false, text);
        }
        if let Err(e) = appended {
            tell(&self.news, true, e.text);
            self.broken = Some(e.errno);
        }
    }

    fn carry(&mut self, io: &Io, base: *mut u8) -> Result<u32, i32> {
        let target = self.target.clone();
        let mut drive = target.drive();
        let len = io.len as usize;
        let done = match io.dir {
            Dir::Write | Dir::Flush if !self.may_write => return Err(libc::EBADF),
            // All writes that may be done are appended.
            Dir::Write => return Err(libc::EIO),
            Dir::Read => {
                // SAFETY: the slot holds `len` bytes and belongs to this I/O until its completion is pushed.
                drive.read(unsafe { std::slice::from_raw_parts_mut(base, len) })
            }
            Dir::Flush => self.flush(&mut drive),
            Dir::Trim | Dir::Zero => return Err(libc::EOPNOTSUPP),
        };
        for text in drive.news.drain(..) {
            tell(&self.news, false, text);
        }
        done.map(|()| io.len).map_err(|e| {
            tell(&self.news, true, e.text);
            self.broken = Some(e.errno);
            e.errno
        })
    }

    /// Ends what was written with a filemark, and reads back what was to be.
    fn flush(&mut self, drive: &mut TapeDrive) -> Result<(), TapeTrouble> {
        drive.flush()?;
        let places = std::mem::take(&mut self.places);
        if places.is_empty() { Ok(()) } else { drive.verify(&places, self.block) }
    }
}

fn tell(news: &TapeNews, fault: bool, text: String) {
    news.lock().unwrap_or_else(PoisonError::into_inner).push((clock::now(), fault, text));
}

impl Queue for TapeQueue {
    fn depth_max(&self) -> u32 {
        DEPTH
    }

    fn how(&self) -> &str {
        &self.how
    }

    fn submit(&mut self, ios: &[Io]) -> usize {
        let mut taken = 0;
        for io in ios {
            let Some(base) = self.arena.slot(io.slot) else { break };
            if io.len as usize > self.arena.slot_bytes()
                || self.orders.push(TapeOrder { io: *io, base }).is_err()
            {
                break;
            }
            taken += 1;
        }
        if let Some(thread) = self.thread.as_ref().filter(|_| taken > 0) {
            thread.thread().unpark();
        }
        taken
    }

    fn reap(&mut self, min: u32, until: Ns, out: &mut Completions) {
        let first = out.len();
        loop {
            while out.len() < out.capacity()
                && let Ok(ended) = self.endings.pop()
            {
                out.push(ended);
            }
            if out.len() - first >= min as usize {
                return;
            }
            let now = clock::now();
            if now >= until {
                return;
            }
            std::thread::park_timeout(Duration::from(until.since(now)).min(LOOK));
        }
    }

    fn reports(&mut self) -> Option<Box<dyn Reports>> {
        Some(Box::new(TapeReports(self.news.clone())))
    }
}

impl Drop for TapeQueue {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Reports for TapeReports {
    fn news(&mut self, say: &mut dyn FnMut(Ns, EventNote)) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for (at, fault, text) in all {
            let (level, code) = match fault {
                true => (Level::Error, "tape-failed"),
                false => (Level::Info, "tape-news"),
            };
            say(at, EventNote { level, code, text });
        }
    }

    fn counts(&mut self) -> Vec<(CounterId, u64)> {
        Vec::new()
    }
}
