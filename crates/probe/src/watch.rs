//! One thread a source, so that a slow or dead source holds up nothing else.
//!
//! The thread looks when it is asked to; who asks waits only so long and takes what there is. It keeps one look and a bounded
//! list of news. A source that hangs keeps its thread: no second one is started for it, and nothing waits for its end.

use crate::accrual::{Accrual, Oddity, Totals};
use crate::source::{Place, Source, Trouble};
use clock::Ns;
use record::CounterId;
use std::collections::BTreeSet;
use std::io;
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// News kept at most until somebody asks.
const NEWS_MAX: usize = 32;
/// A source that has not answered for so long has no counters at this moment.
pub const PATIENCE: Ns = Ns::secs(5);

/// What happened to a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// When, on the monotonic clock.
    pub at: Ns,
    /// A stable hyphenated word.
    pub code: &'static str,
    /// A sentence.
    pub text: String,
    /// Whether something is missing because of it.
    pub warns: bool,
}

/// A source on a thread of its own.
pub struct Watch {
    name: String,
    shared: Arc<Shared>,
    orders: SyncSender<Order>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Discover,
    Look,
}

#[derive(Default)]
struct Shared {
    state: Mutex<WatchState>,
    changed: Condvar,
}

#[derive(Default)]
struct WatchState {
    /// The result of the last discovery.
    places: Option<Result<Vec<Place>, Trouble>>,
    totals: Option<Totals>,
    /// When the order under way was given.
    busy: Option<Ns>,
    /// When it last answered.
    heard: Ns,
    lost: bool,
    /// Its thread has ended.
    dead: bool,
    news: Vec<News>,
    dropped: usize,
    said: BTreeSet<(usize, CounterId, Oddity)>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchState {
    fn say(&mut self, code: &'static str, text: String, warns: bool) {
        match self.news.len() < NEWS_MAX {
            true => self.news.push(News { at: clock::now(), code, text, warns }),
            false => self.dropped += 1,
        }
    }
}

impl Watch {
    /// Starts the thread, which waits for orders.
    /// # Errors
    /// Where no thread can be had.
    pub fn start(name: &str, source: Box<dyn Source>) -> io::Result<Watch> {
        let (orders, inbox) = mpsc::sync_channel(1);
        let shared = Arc::new(Shared::default());
        let (name, own) = (name.to_owned(), Arc::clone(&shared));
        let work = WatchWork {
            name: name.clone(),
            shared: own,
            source,
            accrual: Accrual::default(),
            places: Vec::new(),
            order: Vec::new(),
        };
        thread::Builder::new().name("counters".to_owned()).spawn(move || work.run(&inbox))?;
        Ok(Watch { name, shared, orders })
    }

    /// Its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its places, which are looked for unless they are known; waits until `until` at most.
    /// # Errors
    /// Why there are none.
    pub fn places(&self, until: Ns) -> Result<Vec<Place>, Trouble> {
        {
            let mut state = self.shared.lock();
            if let Some(Ok(places)) = &state.places {
                return Ok(places.clone());
            }
            state.places = None;
        }
        self.order(Order::Discover);
        let state = self.wait(until, |state| state.places.is_some() || state.dead);
        match &state.places {
            Some(found) => found.clone(),
            None if state.dead => Err(Trouble::Silent("its reader broke down".to_owned())),
            None => Err(Trouble::Silent("it has not answered in time".to_owned())),
        }
    }

    /// Asks for a look, if none is under way.
    pub fn ask(&self) {
        self.order(Order::Look);
    }

    /// The last look, at best that of the last order, for which it waits until `until` at most. `None` where it has not
    /// answered for a while.
    pub fn latest(&self, until: Ns) -> Option<Totals> {
        let mut state = self.wait(until, |state| state.busy.is_none() || state.dead);
        let now = clock::now();
        let silent = state.dead || now.since(state.heard) > PATIENCE;
        if silent && !state.lost {
            state.lost = true;
            let why = if state.dead { "its reader broke down" } else { "it does not answer" };
            state.say(
                "counters-lost",
                format!("{}: {why}; its hops have no counters", self.name),
                true,
            );
        }
        if state.lost { None } else { state.totals.clone() }
    }

    /// What happened since the last time.
    pub fn news(&self) -> Vec<News> {
        let mut state = self.shared.lock();
        let dropped = std::mem::take(&mut state.dropped);
        if dropped > 0 {
            let text = format!("{}: {dropped} more messages", self.name);
            state.news.push(News { at: clock::now(), code: "counters-odd", text, warns: false });
        }
        std::mem::take(&mut state.news)
    }

    fn order(&self, order: Order) {
        let mut state = self.shared.lock();
        if state.dead || state.busy.is_some() {
            return;
        }
        match self.orders.try_send(order) {
            Ok(()) => state.busy = Some(clock::now()),
            Err(TrySendError::Full(_)) => {}
            Err(TrySendError::Disconnected(_)) => state.dead = true,
        }
    }

    fn wait(&self, until: Ns, done: impl Fn(&WatchState) -> bool) -> MutexGuard<'_, WatchState> {
        let mut state = self.shared.lock();
        loop {
            let left = until.since(clock::now());
            if done(&state) || left == Ns::ZERO {
                return state;
            }
            let waited = self.shared.changed.wait_timeout(state, left.into());
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

struct WatchWork {
    name: String,
    shared: Arc<Shared>,
    source: Box<dyn Source>,
    accrual: Accrual,
    /// As they were first found.
    places: Vec<Place>,
    /// Where each of them is among those that the source counts at now.
    order: Vec<Option<usize>>,
}

/// Says that the thread has ended, however it ended.
struct Obituary(Arc<Shared>);

impl Drop for Obituary {
    fn drop(&mut self) {
        self.0.lock().dead = true;
        self.0.changed.notify_all();
    }
}

impl WatchWork {
    fn run(mut self, inbox: &Receiver<Order>) {
        let _obituary = Obituary(Arc::clone(&self.shared));
        while let Ok(order) = inbox.recv() {
            match order {
                Order::Discover => self.discover(),
                Order::Look => self.look(),
            }
            self.shared.lock().busy = None;
            self.shared.changed.notify_all();
        }
    }

    fn discover(&mut self) {
        let found = self.source.discover();
        if let Ok(places) = &found {
            self.order = (0..places.len()).map(Some).collect();
            self.places.clone_from(places);
            self.accrual = Accrual::default();
        }
        let mut state = self.shared.lock();
        (state.heard, state.lost, state.totals) = (clock::now(), found.is_err(), None);
        state.places = Some(found);
    }

    fn look(&mut self) {
        let looked = match self.source.look() {
            Err(Trouble::Restarted) => self.again(),
            other => other,
        };
        let taken = looked.map(|look| {
            look.map(|mut look| {
                let mut of = std::mem::take(&mut look.places);
                let place = |at: &Option<usize>| {
                    at.and_then(|at| of.get_mut(at)).map(std::mem::take).unwrap_or_default()
                };
                look.places = self.order.iter().map(place).collect();
                self.accrual.take(&look)
            })
        });
        let said = self.source.news();
        let mut state = self.shared.lock();
        for News { code, text, warns, .. } in said {
            state.say(code, text, warns);
        }
        match taken {
            Ok(look) => {
                state.heard = clock::now();
                if std::mem::take(&mut state.lost) {
                    state.say("counters-back", format!("{}: it answers again", self.name), false);
                }
                if let Some((totals, odd)) = look {
                    state.totals = Some(totals);
                    odd.into_iter().for_each(|odd| self.odd(&mut state, odd));
                }
            }
            Err(why) if !state.lost => {
                state.lost = true;
                let text = format!("{}: {why}; its hops have no counters", self.name);
                state.say("counters-lost", text, true);
            }
            Err(_) => {}
        }
    }

    /// The source has begun anew: its places may stand in another order, and some may be gone.
    fn again(&mut self) -> Result<Option<crate::source::Look>, Trouble> {
        let now = self.source.discover()?;
        let same =
            |old: &Place| now.iter().position(|new| new.name == old.name && new.kind == old.kind);
        self.order = self.places.iter().map(same).collect();
        let text = format!("{}: it has started again; the interval is unknown", self.name);
        self.shared.lock().say("counter-reset", text, true);
        self.source.look()
    }

    fn odd(&self, state: &mut WatchState, (place, id, oddity): (usize, CounterId, Oddity)) {
        // Once is enough.
        if !state.said.insert((place, id, oddity)) {
            return;
        }
        let at = self.places.get(place).map_or("?", |place| place.name.as_str());
        let (code, what, warns) = match oddity {
            Oddity::Reset => {
                ("counter-reset", "went back: it was reset, and the interval is unknown", true)
            }
            Oddity::Wrapped => ("counter-wrapped", "wrapped, which was made up for", false),
            Oddity::Impossible => (
                "counter-impossible",
                "moved further than the port can carry, and is not believed",
                true,
            ),
            Oddity::Narrow => (
                "counter-narrow",
                "may have wrapped more than once within a second, and is unknown",
                true,
            ),
        };
        state.say(code, format!("{}: {at}: {} {what}", self.name, id.name()), warns);
    }
}
