//! Copies: a worker that reads blocks of one target and writes them to another, out of the buffers that it read them into.
//!
//! It allocates nothing after the start and holds as many blocks as it has buffers. Writes are issued in the order of the
//! blocks, as a tape needs them. Where a read or a write fails and may be tried again, its block stays in its buffer.

mod board;
mod copier;
mod news;
mod post;
mod sides;
#[cfg(test)]
mod tests;

pub use board::{JobBoard, Turn};
pub use post::{Turns, buffers, demand};
pub use sides::SideOpeners;

use crate::{Arena, OpenError};
use clock::Ns;
use copier::{Copier, Region};
use engine::{CopySpec, EngineError, EventNote, Opened, WorkerTask};
use news::NewsTx;
use record::Level;
use workload::Extent;

/// The source among a worker's targets.
pub const FROM: u16 = 0;

/// The destination.
pub const TO: u16 = 1;

/// A copy before its thread exists.
pub struct CopyWorker {
    /// Its name, for messages.
    pub name: String,
    /// What it does.
    pub spec: CopySpec,
    /// The names of source and destination.
    pub targets: [String; 2],
    /// How large they are.
    pub extents: [Extent; 2],
    /// Where its I/O goes.
    pub sides: SideOpeners,
    /// Whether source and destination are read and written in order only.
    pub sequential: [bool; 2],
    /// The copies of the step.
    pub board: JobBoard,
    /// Its place on the board.
    pub place: usize,
    /// The places of those that it waits for.
    pub after: Vec<usize>,
    /// How long after the end it waits for what is in flight.
    pub grace: Ns,
}

impl WorkerTask for CopyWorker {
    fn open(self: Box<Self>) -> Result<Opened, EngineError> {
        let CopyWorker { name, spec, targets, extents, .. } = *self;
        let problem = |problem: String| EngineError::Worker { worker: name.clone(), problem };
        if self.sequential[usize::from(FROM)] && spec.from_share.1 > 1 {
            return Err(problem(format!("{} is read by one copy at a time", targets[0])));
        }
        let [from, to] = [(FROM, spec.from_share), (TO, spec.to_share)].map(|(side, share)| {
            let side = usize::from(side);
            Region::of(extents[side], share, spec.block)
                .map_err(|e| problem(format!("{}: {e}", targets[side])))
        });
        let (from, to) = (from?, to?);
        let arena = Arena::new(spec.depth, spec.block).map_err(|e| {
            problem(format!("no memory for {} buffers of {} bytes: {e}", spec.depth, spec.block))
        })?;
        let opened = self.sides.open(&arena);
        let mut sides = opened
            .map_err(|OpenError { target, problem }| EngineError::Target { target, problem })?;
        let (most, [reads, writes]) = sides.depths();
        let depth = spec.depth.min(most);
        let how = sides.how();
        let mut notes = Vec::new();
        if depth < spec.depth {
            let text = format!(
                "{name}: depth {} was asked for, but its queue carries {depth} at a time ({how})",
                spec.depth
            );
            notes.push(EventNote { level: Level::Warning, code: "depth-clamped", text });
        }
        let least = from.blocks.min(to.blocks);
        if spec.blocks.is_some_and(|blocks| blocks > least) {
            let bytes = least as f64 * f64::from(spec.block) / 1e9;
            let text = format!(
                "{name}: it copies more than the {bytes:.3} GB that it has of {} and {}, and begins again at their start",
                targets[0], targets[1]
            );
            notes.push(EventNote { level: Level::Info, code: "copy-repeats", text });
        }
        let reports = sides.reports();
        let (news, reports) =
            NewsTx::new(name.clone(), targets.clone(), spec.block, spec.blocks, reports);
        let spec = CopySpec {
            depth,
            reads: spec.reads.min(reads).min(depth),
            writes: spec.writes.min(writes).min(depth),
            ..spec
        };
        let copier = Copier::new(
            copier::Setup {
                name,
                spec,
                targets,
                regions: [from, to],
                in_order: self.sequential[usize::from(TO)],
                board: self.board,
                place: self.place,
                after: self.after,
                grace: self.grace,
            },
            arena,
            sides,
            news,
        );
        let reports: Option<Box<dyn engine::Reports>> = Some(Box::new(reports));
        Ok(Opened { load: Box::new(copier), slots: depth, notes, how, reports })
    }
}
