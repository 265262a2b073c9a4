//! What a user sees while a run is under way: live figures on a terminal, plain lines otherwise, nothing when quiet. All of
//! it goes to stderr, from a thread of its own: a terminal or a pipe that takes nothing holds the run up in nothing.

pub mod limit;
mod view;

use crate::out::{self, Screen};
use campaign::Progress;
use clock::Ns;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use view::{News, View};

/// How often a terminal is drawn, at most.
const FRAME: Ns = Ns::millis(250);
/// Pieces of progress that wait to be shown, from which on those are left out that the next one replaces.
const WAITING_MAX: usize = 1000;

/// Shows the progress of one run, until it is dropped.
pub struct Display {
    /// `None` when quiet.
    painter: Option<Painter>,
}

struct Painter {
    pieces: Sender<(&'static str, Progress)>,
    waiting: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

impl Display {
    /// A display for a run whose steps take `total` of load.
    pub fn new(quiet: bool, total: Duration) -> Display {
        if quiet {
            return Display { painter: None };
        }
        let (pieces, coming) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let shown = Coming { pieces: coming, waiting: Arc::clone(&waiting) };
        let view = View::new(total, clock::now());
        let paint = move || match Screen::of_notes() {
            Some(screen) => draw(&shown, view, screen),
            None => write(&shown, view),
        };
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(paint);
        // Without a thread nothing is shown: the run goes on.
        Display { painter: thread.ok().map(|thread| Painter { pieces, waiting, thread }) }
    }

    /// Takes one piece of progress of one of two runs.
    pub fn show_side(&mut self, side: &'static str, progress: &Progress) {
        let Some(painter) = &self.painter else { return };
        let replaced = matches!(
            progress,
            Progress::Advanced(_) | Progress::Second { .. } | Progress::SimulatedSecond { .. }
        );
        if replaced && painter.waiting.load(Ordering::Relaxed) >= WAITING_MAX {
            return;
        }
        painter.waiting.fetch_add(1, Ordering::Relaxed);
        // Only a thread that has panicked takes nothing any more.
        let _ = painter.pieces.send((side, progress.clone()));
    }

    /// Takes one piece of progress.
    pub fn show(&mut self, progress: &Progress) {
        self.show_side("", progress);
    }
}

impl Drop for Display {
    /// Shows what is left and removes the figures: results follow.
    fn drop(&mut self) {
        if let Some(Painter { pieces, thread, .. }) = self.painter.take() {
            drop(pieces);
            let _ = thread.join();
        }
    }
}

/// What is to be shown.
struct Coming {
    pieces: Receiver<(&'static str, Progress)>,
    waiting: Arc<AtomicUsize>,
}

impl Coming {
    /// The next piece, if it comes by then.
    fn by(&self, until: Ns) -> Result<(&'static str, Progress), RecvTimeoutError> {
        let now = clock::now();
        let wait = Duration::from_nanos(until.since(now.min(until)).0);
        let piece = self.pieces.recv_timeout(wait);
        self.waiting.fetch_sub(usize::from(piece.is_ok()), Ordering::Relaxed);
        piece
    }
}

/// Draws figures in place, four times a second.
fn draw(coming: &Coming, mut view: View, mut screen: Screen) {
    let coloured = screen.is_coloured();
    let mut next = clock::now().plus(FRAME);
    loop {
        match coming.by(next) {
            Ok((side, progress)) => {
                if let Some(News::Stays(text)) = view.take(side, progress) {
                    let lines = view.lines(screen.columns(), coloured, clock::now());
                    screen.above(&text, &lines);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return screen.clear(),
        }
        let now = clock::now();
        if now >= next {
            screen.draw(&view.lines(screen.columns(), coloured, now));
            next = now.plus(FRAME);
        }
    }
}

/// Writes a line for all that is worth one.
fn write(coming: &Coming, mut view: View) {
    while let Ok((side, progress)) = coming.pieces.recv() {
        coming.waiting.fetch_sub(1, Ordering::Relaxed);
        let news = view.take(side, progress);
        if let Some(News::Stays(text) | News::Passes(text) | News::Second(text)) = news {
            out::note(text);
        }
    }
}
