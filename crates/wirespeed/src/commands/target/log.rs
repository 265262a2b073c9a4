//! The target's log on stderr: who came, who went, and why. The target's threads must not wait for a terminal, so lines go
//! through a bounded queue to a thread of their own; what does not fit is counted, and told.

use crate::out;
use san::server::{ServerEvent, ServerListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Events that wait to be written, at most.
const WAITING_MAX: usize = 1024;

/// The log of one target.
pub struct Log {
    lines: SyncSender<String>,
    lost: Arc<AtomicU64>,
    writer: JoinHandle<()>,
}

impl Log {
    /// Begins to write the listener's events, where a log is wanted.
    pub fn start(quiet: bool) -> Log {
        let (lines, waiting) = sync_channel(WAITING_MAX);
        let lost = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&lost);
        let writer = std::thread::spawn(move || write(&waiting, &counted, quiet));
        Log { lines, lost, writer }
    }

    /// Receives the target's events.
    pub fn listener(&self) -> ServerListener {
        let (lines, lost) = (self.lines.clone(), Arc::clone(&self.lost));
        ServerListener::new(move |event: ServerEvent| {
            if lines.try_send(event.to_string()).is_err() {
                lost.fetch_add(1, Ordering::Relaxed);
            }
        })
    }

    /// Takes lines from another thread, which does not wait.
    pub fn sayer(&self) -> impl Fn(String) + Send + 'static {
        let lines = self.lines.clone();
        move |line| drop(lines.try_send(line))
    }

    /// Says something of the command's own.
    pub fn say(&self, line: String) {
        // Only a writer that has panicked takes nothing any more.
        let _ = self.lines.send(line);
    }

    /// Writes what is left. The listeners must be gone.
    pub fn end(self) {
        drop(self.lines);
        let _ = self.writer.join();
    }
}

fn write(waiting: &Receiver<String>, lost: &AtomicU64, quiet: bool) {
    while let Ok(line) = waiting.recv() {
        if quiet {
            continue;
        }
        match lost.swap(0, Ordering::Relaxed) {
            0 => out::note(line),
            missing => {
                out::note(format_args!("{line} ({missing} events more than could be written)"))
            }
        }
    }
}
