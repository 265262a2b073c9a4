//! Sequential addresses: one run over a worker's regions, shared by all of its slots.
//!
//! The regions are cut into cells. Cell `i` of the run is on target `i mod T`; slot `s` of `D` takes the cells
//! `s, s + D, s + 2D, …`. So the cells of a slot never depend on the order of completions, no two slots take the same
//! cell in one pass, and the slots stay close together at all times.
//!
//! If all operations have one size, a cell is one operation. If sizes are mixed, a cell holds at least the largest,
//! and a slot fills its cell from the start with the next operations; an operation that does not fit starts the
//! slot's next cell. With a stride, cells are that far apart and each holds one operation.

use crate::address::{OpShape, Region, fits_block, lcm};
use crate::{Placement, Regions, Spec, SpecError};

/// The part of a sequential run that one slot walks.
pub(crate) struct SequentialRun {
    lanes: Box<[CellLane]>,
    /// Distance between cells in bytes.
    spacing: u64,
    /// The lane and the turn of the slot's next cell; cell `i` of the run is turn `i / T` of lane `i mod T`.
    lane: usize,
    turn: u64,
    /// How lane and turn change from one cell of the slot to its next.
    lane_step: usize,
    turn_step: u64,
    /// The cell being filled, where cells hold several operations.
    open: Option<OpenCell>,
}

/// The cells of one target.
struct CellLane {
    first: u64,
    cells: u64,
    /// The cell of turn `turn`.
    cell: u64,
    turn: u64,
}

struct OpenCell {
    lane: usize,
    filled: u64,
    end: u64,
    /// Alignment of each shape in bytes.
    units: Box<[u64]>,
}

impl SequentialRun {
    /// How many targets the run covers.
    pub fn targets(&self) -> usize {
        self.lanes.len()
    }

    /// The run of slot `slot` over its worker's regions, for operations of these shapes (at least one).
    pub fn new(
        spec: &Spec,
        place: &Placement,
        regions: &[Region],
        shapes: &[OpShape],
        stride: Option<u64>,
        slot: u32,
    ) -> Result<SequentialRun, SpecError> {
        // Logical blocks may differ between targets; the run keeps one spacing that suits all.
        let block = regions.iter().fold(1, |all, region| lcm(all, region.block));
        let units: Box<[u64]> = shapes.iter().map(|shape| shape.unit(block)).collect();
        let packed = stride.is_none() && shapes.iter().any(|shape| *shape != shapes[0]);
        let cells = match stride {
            Some(stride) => CellLayout::strided(shapes, &units, stride),
            None if packed => CellLayout::packed(shapes, &units, block),
            None => CellLayout::single(shapes[0], units[0]),
        };
        let lane = |region: &Region| {
            if let Some(stride) = stride {
                fits_block(region.target, "a stride", stride, region.block)?;
            }
            let grid = region
                .spaced(cells.align, cells.spacing, cells.room)
                .ok_or_else(|| region.too_small(cells.room))?;
            let cell = match spec.regions {
                Regions::Own => 0,
                Regions::Shared => part(grid.count, place.sharer, place.sharers),
            };
            Ok(CellLane { first: grid.first, cells: grid.count, cell, turn: 0 })
        };
        let lanes = regions.iter().map(lane).collect::<Result<Box<[CellLane]>, SpecError>>()?;
        let (slot, slots, count) = (slot as usize, spec.streams() as usize, lanes.len());
        Ok(SequentialRun {
            lanes,
            spacing: cells.spacing,
            lane: slot % count,
            turn: (slot / count) as u64,
            lane_step: slots % count,
            turn_step: (slots / count) as u64,
            open: packed.then_some(OpenCell { lane: 0, filled: 0, end: 0, units }),
        })
    }

    /// The target and offset of the slot's next operation, which has `size` bytes and this shape number.
    #[inline]
    pub fn take(&mut self, shape: usize, size: u32) -> (usize, u64) {
        let Some(open) = &self.open else { return self.next_cell() };
        let (size, unit) = (u64::from(size), open.units[shape]);
        let (mut lane, mut end) = (open.lane, open.end);
        let mut offset = open.filled.next_multiple_of(unit);
        if offset.saturating_add(size) > end {
            let start;
            (lane, start) = self.next_cell();
            end = start + self.spacing;
            offset = start.next_multiple_of(unit);
        }
        if let Some(open) = &mut self.open {
            (open.lane, open.filled, open.end) = (lane, offset + size, end);
        }
        (lane, offset)
    }

    /// The slot's next cell: its lane and first byte.
    #[inline]
    fn next_cell(&mut self) -> (usize, u64) {
        let index = self.lane;
        let lane = &mut self.lanes[index];
        lane.cell += self.turn - lane.turn;
        lane.turn = self.turn;
        if lane.cell >= lane.cells {
            lane.cell %= lane.cells;
        }
        let start = lane.first + lane.cell * self.spacing;
        self.lane += self.lane_step;
        self.turn += self.turn_step;
        if self.lane >= self.lanes.len() {
            self.lane -= self.lanes.len();
            self.turn += 1;
        }
        (index, start)
    }
}

/// How a region is cut into cells, in bytes.
#[derive(Clone, Copy)]
pub(crate) struct CellLayout {
    /// Alignment of the first cell.
    pub align: u64,
    /// Distance from one cell to the next.
    pub spacing: u64,
    /// Room that the last cell must have.
    pub room: u64,
}

impl CellLayout {
    pub fn single(shape: OpShape, unit: u64) -> CellLayout {
        let size = u64::from(shape.size);
        CellLayout { align: unit, spacing: round_up(size, unit), room: size }
    }

    /// The stride is a multiple of every alignment: `Spec::problems` and `fits_block` check this.
    pub fn strided(shapes: &[OpShape], units: &[u64], stride: u64) -> CellLayout {
        CellLayout { align: common(units), spacing: stride, room: largest(shapes) }
    }

    /// A cell fits the largest shape with any alignment: either cells start on multiples of every alignment or, if
    /// that would make them large, they leave room for the worst gap.
    fn packed(shapes: &[OpShape], units: &[u64], block: u64) -> CellLayout {
        let largest = largest(shapes);
        let gap = units.iter().copied().max().unwrap_or(block);
        let loose = round_up(largest.saturating_add(gap), block);
        let align = common(units);
        let tight = round_up(largest, align);
        if tight <= loose {
            CellLayout { align, spacing: tight, room: tight }
        } else {
            CellLayout { align: block, spacing: loose, room: loose }
        }
    }
}

fn largest(shapes: &[OpShape]) -> u64 {
    shapes.iter().map(|shape| u64::from(shape.size)).max().unwrap_or(1)
}

fn common(units: &[u64]) -> u64 {
    units.iter().fold(1, |all, unit| lcm(all, *unit))
}

fn round_up(value: u64, unit: u64) -> u64 {
    value.checked_next_multiple_of(unit).unwrap_or(u64::MAX)
}

/// Where part `index` of `of` equal parts of `count` starts.
pub(crate) fn part(count: u64, index: u32, of: u32) -> u64 {
    // The quotient is below `count`, because the index is below `of`.
    (u128::from(count) * u128::from(index) / u128::from(of)) as u64
}
