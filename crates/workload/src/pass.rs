//! Passes: every address of the working set exactly once in each, so many times over.
//!
//! The working set is cut into the cells of a sequential run ([`crate::sequential`]). A pass takes them in order, or in the
//! order of a keyed permutation where addresses are random. Cell `g` of all passes belongs to slot `g mod D` of `D`, so that
//! the cells of a slot never depend on the order of completions. A slot that has used up its cells is done.
//!
//! Workers that share a target have equal parts of each pass: neighbouring cells of a sequential one, every `W`-th of a
//! random one.

use crate::address::{OpShape, Region, fits_block, lcm};
use crate::draw::Rngs;
use crate::sequential::{CellLayout, part};
use crate::skew::Permutation;
use crate::{Placement, Regions, Spec, SpecError, Stream, StreamKey};

/// The cells of one slot in all passes.
pub(crate) struct PassRun {
    /// Those with the most cells first.
    lanes: Box<[PassLane]>,
    /// From which cell of a pass on so many lanes are left, and how many cells of each are before it.
    levels: Box<[Level]>,
    /// Distance between cells in bytes.
    spacing: u64,
    /// Cells of a pass.
    cells: u64,
    /// The slot's next cell among those of all passes, and the distance to the one after it.
    next: u64,
    step: u64,
    /// Cells that the slot has left.
    left: u64,
    shuffle: Option<Shuffle>,
}

/// The cells of one target.
struct PassLane {
    /// Index into the worker's targets.
    lane: usize,
    first: u64,
    cells: u64,
}

/// Cells that are dealt to the first so many lanes in turn.
struct Level {
    from: u64,
    turn: u64,
    lanes: u64,
}

/// The order of a random pass.
struct Shuffle {
    key: StreamKey,
    pass: u64,
    order: Permutation,
}

impl PassRun {
    /// The passes of slot `key.slot` over its worker's regions, for operations of one shape.
    pub fn new(
        spec: &Spec,
        place: &Placement,
        regions: &[Region],
        (shape, stride): (OpShape, Option<u64>),
        random: bool,
        key: StreamKey,
    ) -> Result<PassRun, SpecError> {
        let block = regions.iter().fold(1, |all, region| lcm(all, region.block));
        let unit = shape.unit(block);
        let layout = match stride {
            Some(stride) => CellLayout::strided(&[shape], &[unit], stride),
            None => CellLayout::single(shape, unit),
        };
        // The workers with a part of the same cells, and this one's number among them.
        let (sharer, sharers) = match spec.regions {
            Regions::Own => (0, 1),
            Regions::Shared => (place.sharer, place.sharers),
        };
        let mut lanes = Vec::with_capacity(regions.len());
        for (lane, region) in regions.iter().enumerate() {
            fits_block(region.target, "a stride", stride.unwrap_or(0), region.block)?;
            let grid = region
                .spaced(layout.align, layout.spacing, layout.room)
                .ok_or_else(|| region.too_small(layout.room))?;
            let (from, to) = match random {
                true => (0, grid.count),
                false => (
                    part(grid.count, sharer, sharers),
                    part(grid.count, sharer.saturating_add(1), sharers),
                ),
            };
            let first = grid.first + from * layout.spacing;
            lanes.push(PassLane { lane, first, cells: to - from });
        }
        lanes.sort_by_key(|lane| std::cmp::Reverse(lane.cells));
        let cells = lanes.iter().map(|lane| lane.cells).sum();
        let (slot, slots) = (u64::from(key.slot), u64::from(spec.streams()));
        let (next, step) = match random {
            true => (slot * u64::from(sharers) + u64::from(sharer), slots * u64::from(sharers)),
            false => (slot, slots),
        };
        let all = u64::from(spec.passes).saturating_mul(cells);
        let key = StreamKey { slot: 0, worker: if sharers > 1 { 0 } else { key.worker }, ..key };
        let order = || Permutation::new(cells, &Rngs::pass(key, 0));
        let shuffle = (random && cells > 0).then(|| Shuffle { key, pass: 0, order: order() });
        let (levels, spacing) = (levels(&lanes), layout.spacing);
        let left = all.saturating_sub(next).div_ceil(step.max(1));
        Ok(PassRun { lanes: lanes.into(), levels, spacing, cells, next, step, left, shuffle })
    }

    /// How many targets it covers.
    pub fn targets(&self) -> usize {
        self.lanes.len()
    }

    /// Cells that the slot has left.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// The target and offset of the slot's next operation, of which it has one left.
    #[inline]
    pub fn take(&mut self) -> (usize, u64) {
        let cells = self.cells.max(1);
        let (pass, mut cell) = (self.next / cells, self.next % cells);
        if let Some(shuffle) = &mut self.shuffle {
            if shuffle.pass != pass {
                shuffle.pass = pass;
                shuffle.order = Permutation::new(cells, &Rngs::pass(shuffle.key, pass));
            }
            cell = shuffle.order.place(cell);
        }
        self.next = self.next.saturating_add(self.step);
        self.left = self.left.saturating_sub(1);
        self.place(cell)
    }

    /// Lanes take turns for as long as they have cells.
    fn place(&self, cell: u64) -> (usize, u64) {
        let after = self.levels.partition_point(|level| level.from <= cell);
        let Some(level) = self.levels.get(after.wrapping_sub(1)) else { return (0, 0) };
        let beyond = cell - level.from;
        let lane = &self.lanes[(beyond % level.lanes) as usize];
        let turn = level.turn + beyond / level.lanes;
        (lane.lane, lane.first + turn * self.spacing)
    }
}

/// Bytes that a worker uses in all of its passes; `None` where it has none. `key.slot` is ignored.
/// # Errors
/// As [`Stream::new`].
pub fn pass_bytes(
    spec: &Spec,
    place: &Placement,
    key: StreamKey,
) -> Result<Option<u64>, SpecError> {
    let Some(size) = spec.uniform_size().filter(|_| spec.passes > 0) else { return Ok(None) };
    let mut operations: u64 = 0;
    for slot in 0..spec.streams() {
        let stream = Stream::new(spec, place, StreamKey { slot, ..key })?;
        operations = operations.saturating_add(stream.left().unwrap_or(0));
    }
    Ok(Some(operations.saturating_mul(size.into())))
}

/// The levels of lanes, of which those with the most cells come first.
fn levels(lanes: &[PassLane]) -> Box<[Level]> {
    let mut levels = Vec::new();
    let (mut from, mut turn) = (0, 0);
    for (number, lane) in lanes.iter().enumerate().rev() {
        if lane.cells > turn {
            let lanes = number as u64 + 1;
            levels.push(Level { from, turn, lanes });
            from += (lane.cells - turn) * lanes;
            turn = lane.cells;
        }
    }
    levels.into()
}
