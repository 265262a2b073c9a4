//! Regions of targets, and the address grids within them.
//!
//! All of this runs when a stream is built. Arithmetic is checked or bounded by [`OFFSET_MAX`], so that no size
//! claimed by a device or a scenario can overflow.

use crate::{Extent, Placement, Regions, Spec, SpecError, WorkingSet};

/// Linux addresses files and devices with signed 64-bit offsets; larger offsets are unusable.
const OFFSET_MAX: u64 = i64::MAX as u64;

/// The size and alignment of one kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpShape {
    /// Bytes of an operation.
    pub size: u32,
    /// Alignment in bytes; 0 = that of the size.
    pub align: u32,
}

impl OpShape {
    /// The distance between adjacent addresses on a target with this logical block.
    pub fn unit(self, block: u64) -> u64 {
        let align = if self.align == 0 { self.size } else { self.align };
        lcm(u64::from(align.max(1)), block)
    }
}

/// The bytes of one target that one worker may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// Index into the worker's targets.
    pub target: u16,
    /// First byte.
    pub start: u64,
    /// First byte past the end.
    pub end: u64,
    /// Logical block of the target in bytes.
    pub block: u64,
}

/// The addresses in a region at which operations of one shape may start: `first + index × unit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AddressGrid {
    pub first: u64,
    pub unit: u64,
    /// At least 1.
    pub count: u64,
}

impl AddressGrid {
    /// The byte offset of address `index`, which must be below `count`.
    pub fn offset(&self, index: u64) -> u64 {
        self.first + index * self.unit
    }
}

impl Region {
    /// The grid for a shape; an error if it has fewer than `count_min` addresses.
    pub fn grid(&self, shape: OpShape, count_min: u64) -> Result<AddressGrid, SpecError> {
        let unit = shape.unit(self.block);
        let size = u64::from(shape.size);
        let grid = self.spaced(unit, unit, size);
        grid.filter(|grid| grid.count >= count_min)
            .ok_or_else(|| self.too_small(size.saturating_mul(count_min)))
    }

    /// Addresses `spacing` apart from the first multiple of `align`, each with room for `size` bytes.
    pub fn spaced(&self, align: u64, spacing: u64, size: u64) -> Option<AddressGrid> {
        let first = self.start.checked_next_multiple_of(align)?;
        let last = self.end.checked_sub(size).filter(|last| *last >= first)?;
        Some(AddressGrid { first, unit: spacing, count: (last - first) / spacing + 1 })
    }

    /// The error for `need` bytes that do not fit.
    pub fn too_small(&self, need: u64) -> SpecError {
        SpecError::TooSmall { target: self.target, room: self.end - self.start, block: need }
    }
}

/// The region of each target that the worker at `place` may touch with operations of these shapes.
pub(crate) fn regions(
    spec: &Spec,
    place: &Placement,
    shapes: &[OpShape],
) -> Result<Vec<Region>, SpecError> {
    if place.targets.is_empty() {
        return Err(SpecError::NoTargets);
    }
    if place.sharer >= place.sharers {
        let problem =
            format!("worker {} is not one of the {} that share", place.sharer, place.sharers);
        return Err(SpecError::Invalid { field: "sharers", problem });
    }
    let one = |(index, extent)| {
        let target = u16::try_from(index).map_err(|_| SpecError::Invalid {
            field: "targets",
            problem: format!("a worker can have at most {} targets", u32::from(u16::MAX) + 1),
        })?;
        region(spec, place, shapes, target, extent)
    };
    place.targets.iter().enumerate().map(one).collect()
}

fn region(
    spec: &Spec,
    place: &Placement,
    shapes: &[OpShape],
    target: u16,
    extent: &Extent,
) -> Result<Region, SpecError> {
    let block = u64::from(extent.block.max(1));
    for shape in shapes {
        fits_block(target, "an operation", u64::from(shape.size), block)?;
    }
    let size = extent.size.min(OFFSET_MAX);
    let limit = match spec.working_set {
        None => size,
        Some(WorkingSet::Bytes(bytes)) => bytes.min(size),
        Some(WorkingSet::Percent(percent)) => ((size as f64 * (percent / 100.0)) as u64).min(size),
    };
    let whole = floor_to(limit, block);
    let sharers = match spec.regions {
        Regions::Own => u64::from(place.sharers),
        Regions::Shared => 1,
    };
    if sharers == 1 {
        return Ok(Region { target, start: 0, end: whole, block });
    }
    // Regions start on the coarsest grid, so that none loses its first addresses to alignment.
    let grain = shapes.iter().map(|shape| shape.unit(block)).max().unwrap_or(block);
    let share = whole / sharers;
    let len = if share >= grain { floor_to(share, grain) } else { floor_to(share, block) };
    let start = len * u64::from(place.sharer);
    // Passes leave nothing out: the last region has what the division leaves.
    let rest = spec.passes > 0 && place.sharer + 1 == place.sharers;
    let end = if rest { whole } else { start + len };
    Ok(Region { target, start, end, block })
}

/// Refuses lengths that are not whole logical blocks of the target.
pub(crate) fn fits_block(
    target: u16,
    what: &'static str,
    bytes: u64,
    block: u64,
) -> Result<(), SpecError> {
    if bytes.is_multiple_of(block) {
        return Ok(());
    }
    Err(SpecError::Misfit { target, what, bytes, block })
}

/// The least common multiple. It saturates; a saturated unit fits into no region.
pub(crate) fn lcm(a: u64, b: u64) -> u64 {
    (a / gcd(a, b)).saturating_mul(b)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn floor_to(value: u64, unit: u64) -> u64 {
    value - value % unit
}
