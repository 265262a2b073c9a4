//! Operations drawn from an access specification.
//!
//! Iometer's order: an operation first picks a row by the rows' shares, then its direction by the row's read share,
//! then random or sequential by the row's random share. As much as possible is computed when the stream is built: in
//! the common cases a draw compares integers, and neither divides nor allocates.

use crate::address::{AddressGrid, OpShape, Region, regions};
use crate::draw::{Draw, KindShares, ReadShare, Rngs};
use crate::pass::PassRun;
use crate::sequential::SequentialRun;
use crate::skew::IndexSampler;
use crate::{Access, Dir, Placement, Row, Skew, Spec, SpecError, StreamKey};
use clock::{Ns, Rng};
use std::sync::Arc;

/// Draws the operations of one slot. Slots share their read-only parts, so that thousands of them fit a cache.
pub(crate) struct Accesses {
    rows: Arc<[RowState]>,
    /// For each row: operations before its next pause.
    before_pause: Box<[u32]>,
    /// Cumulative shares of the rows in units of 2⁻⁵³; the last is 2⁵³.
    upper: Arc<[u64]>,
    ladder: Option<LadderPosition>,
    /// One for each row and rung, ordered by rung.
    shapes: Arc<[OpShape]>,
    addresses: Addresses,
    rngs: Rngs,
    /// The plain case, which most loads are.
    plain: Option<PlainRow>,
}

/// The only row of a specification without ladder and pauses, whose operations are all random or all sequential: what is
/// drawn of it, and no more. Operations are the same as by the general way.
#[derive(Clone, Copy)]
struct PlainRow {
    kinds: KindShares,
    /// All operations are of this kind, so that nothing is drawn for it: those random bits decide nothing else.
    always: Option<Dir>,
    len: u32,
    /// The addresses of the only target, if all are equally likely.
    uniform: Option<AddressGrid>,
}

enum Addresses {
    Random(Arc<Random>),
    Sequential(SequentialRun),
    /// Random or sequential, so many times over.
    Pass(PassRun),
    Mixed {
        random: Arc<Random>,
        run: SequentialRun,
    },
    /// Any address on the only target: the caller ignores offsets.
    Anywhere,
}

struct RowState {
    kinds: KindShares,
    random: ReadShare,
    delay: Ns,
    burst: u32,
}

/// A slot's position on the block ladder.
struct LadderPosition {
    rungs: usize,
    every: u32,
    rung: usize,
    /// Operations left on this rung.
    left: u32,
}

/// Random addresses: a grid and a sampler for each shape and target.
struct Random {
    /// Ordered by shape: one a target for each shape.
    fields: Box<[RandomField]>,
    /// One for each distinct number of addresses.
    samplers: Box<[IndexSampler]>,
    targets: usize,
}

struct RandomField {
    grid: AddressGrid,
    sampler: usize,
}

impl Accesses {
    /// The operations of slot `key.slot`.
    pub fn new(
        spec: &Spec,
        access: &Access,
        place: &Placement,
        key: StreamKey,
    ) -> Result<Accesses, SpecError> {
        let sizes = access.ladder.map(|ladder| ladder.sizes().collect::<Vec<u32>>());
        let shapes: Arc<[OpShape]> = match &sizes {
            None => access.rows.iter().map(|r| OpShape { size: r.size, align: r.align }).collect(),
            Some(sizes) => sizes
                .iter()
                .flat_map(|size| {
                    access.rows.iter().map(|r| OpShape { size: *size, align: r.align })
                })
                .collect(),
        };
        let regions = regions(spec, place, &shapes)?;
        let popular = Rngs::popular(key);
        let random = || Random::new(access.skew, &regions, &shapes, &popular).map(Arc::new);
        let run = || SequentialRun::new(spec, place, &regions, &shapes, access.stride, key.slot);
        let all_random = access.rows.iter().all(|row| row.random >= 100.0);
        let addresses = if spec.passes > 0 {
            // All shapes are equal, as has been checked.
            let shape = (shapes[0], access.stride);
            Addresses::Pass(PassRun::new(spec, place, &regions, shape, all_random, key)?)
        } else if all_random {
            Addresses::Random(random()?)
        } else if access.rows.iter().all(|row| row.random <= 0.0) {
            Addresses::Sequential(run()?)
        } else {
            Addresses::Mixed { random: random()?, run: run()? }
        };
        let ladder = access.ladder.zip(sizes).map(|(ladder, sizes)| LadderPosition {
            rungs: sizes.len(),
            every: ladder.every,
            rung: 0,
            left: ladder.every,
        });
        let rows: Arc<[RowState]> = access.rows.iter().map(RowState::new).collect();
        let plain = match ladder {
            None => PlainRow::of(&rows, &shapes, &addresses),
            Some(_) => None,
        };
        Ok(Accesses {
            rows,
            before_pause: access.rows.iter().map(|row| row.burst).collect(),
            upper: cumulate(&access.rows).into(),
            ladder,
            shapes,
            addresses,
            rngs: Rngs::new(key),
            plain,
        })
    }

    /// The operations of slot `key.slot` of the same worker, sharing read-only parts; `None` if more than randomness
    /// differs.
    pub fn beside(&self, key: StreamKey) -> Option<Accesses> {
        let Addresses::Random(random) = &self.addresses else { return None };
        self.ladder.is_none().then(|| Accesses {
            rows: self.rows.clone(),
            before_pause: self.rows.iter().map(|row| row.burst).collect(),
            upper: self.upper.clone(),
            ladder: None,
            shapes: self.shapes.clone(),
            addresses: Addresses::Random(random.clone()),
            rngs: Rngs::new(key),
            plain: self.plain,
        })
    }

    /// The next operation.
    #[inline(always)]
    pub fn draw(&mut self) -> Draw {
        let Some(PlainRow { kinds, always, len, uniform }) = self.plain else {
            return self.draw_any();
        };
        let (target, offset) = match (uniform, &mut self.addresses) {
            (Some(grid), _) => (0, grid.offset(self.rngs.address.below(grid.count))),
            (None, Addresses::Random(random)) => random.draw(0, &mut self.rngs.address),
            (None, Addresses::Sequential(run)) => run.take(0, len),
            _ => return self.draw_any(),
        };
        let dir = match always {
            Some(dir) => dir,
            None => kinds.dir(self.rngs.mix.next_u64() as u32),
        };
        Draw { dir, target: target as u16, offset, len, fua: false, pause: Ns::ZERO }
    }

    /// The next operation of any specification.
    #[inline(never)]
    fn draw_any(&mut self) -> Draw {
        let index = self.pick_row();
        let row = &self.rows[index];
        let word = self.rngs.mix.next_u64();
        let dir = row.kinds.dir(word as u32);
        let wants_random = row.random.has((word >> 32) as u32);
        let pause = row.pause(&mut self.before_pause[index]);
        let shape = match &mut self.ladder {
            None => index,
            Some(climb) => climb.step() * self.rows.len() + index,
        };
        let len = self.shapes[shape].size;
        let rng = &mut self.rngs.address;
        let (target, offset) = match &mut self.addresses {
            Addresses::Random(random) => random.draw(shape, rng),
            Addresses::Sequential(run) => run.take(shape, len),
            Addresses::Pass(run) => run.take(),
            Addresses::Mixed { random, .. } if wants_random => random.draw(shape, rng),
            Addresses::Mixed { run, .. } => run.take(shape, len),
            Addresses::Anywhere => (0, 0),
        };
        Draw { dir, target: target as u16, offset, len, fua: false, pause }
    }

    /// The same operations without offsets. With one target, no addresses are drawn; no other draw depends on them.
    pub fn without_offsets(self) -> Accesses {
        let targets = match &self.addresses {
            Addresses::Random(random) | Addresses::Mixed { random, .. } => random.targets,
            Addresses::Sequential(run) => run.targets(),
            Addresses::Pass(run) => run.targets(),
            Addresses::Anywhere => 1,
        };
        if targets > 1 {
            self
        } else {
            Accesses { addresses: Addresses::Anywhere, plain: None, ..self }
        }
    }

    /// Operations that the slot has left; [`u64::MAX`] without an end.
    pub fn left(&self) -> u64 {
        match &self.addresses {
            Addresses::Pass(run) => run.left(),
            _ => u64::MAX,
        }
    }

    /// The operation, if all operations are the same.
    pub fn always(&self) -> Option<Draw> {
        let (Addresses::Anywhere, None, [row], [shape]) =
            (&self.addresses, &self.ladder, &*self.rows, &*self.shapes)
        else {
            return None;
        };
        let same = row.kinds.is_sure() && row.delay == Ns::ZERO;
        let draw = Draw {
            dir: row.kinds.dir(0),
            target: 0,
            offset: 0,
            len: shape.size,
            fua: false,
            pause: Ns::ZERO,
        };
        same.then_some(draw)
    }

    fn pick_row(&mut self) -> usize {
        if self.rows.len() == 1 {
            return 0;
        }
        let at = self.rngs.mix.next_u64() >> 11;
        self.upper.partition_point(|upper| *upper <= at)
    }
}

impl PlainRow {
    /// The plain row, if the rows are one and it is.
    fn of(rows: &[RowState], shapes: &[OpShape], addresses: &Addresses) -> Option<PlainRow> {
        let ([row], [shape]) = (rows, shapes) else { return None };
        let uniform = match addresses {
            Addresses::Random(random) => random.uniform(),
            _ => None,
        };
        (row.delay == Ns::ZERO).then(|| PlainRow {
            kinds: row.kinds,
            always: row.kinds.is_sure().then(|| row.kinds.dir(0)),
            len: shape.size,
            uniform,
        })
    }
}

impl RowState {
    fn new(row: &Row) -> RowState {
        RowState {
            kinds: KindShares::of(row),
            random: ReadShare::percent(row.random),
            delay: row.delay,
            burst: row.burst,
        }
    }

    /// The pause after the operation that is being drawn: zero within a burst, which has `left` operations left.
    #[inline]
    fn pause(&self, left: &mut u32) -> Ns {
        // Without pauses there is nothing to count.
        if self.delay == Ns::ZERO {
            return Ns::ZERO;
        }
        *left -= 1;
        if *left > 0 {
            return Ns::ZERO;
        }
        *left = self.burst;
        self.delay
    }
}

impl LadderPosition {
    /// The rung of the operation that is being drawn.
    fn step(&mut self) -> usize {
        if self.left == 0 {
            self.rung = if self.rung + 1 < self.rungs { self.rung + 1 } else { 0 };
            self.left = self.every;
        }
        self.left -= 1;
        self.rung
    }
}

impl Random {
    fn new(
        skew: Skew,
        regions: &[Region],
        shapes: &[OpShape],
        popular: &Rng,
    ) -> Result<Random, SpecError> {
        let mut fields = Vec::with_capacity(shapes.len() * regions.len());
        // Targets of one size share a sampler: a skewed sampler is larger than the rest of a field.
        let (mut counts, mut samplers) = (Vec::new(), Vec::new());
        for shape in shapes {
            for region in regions {
                let grid = region.grid(*shape, 1)?;
                let known = counts.iter().position(|count| *count == grid.count);
                let sampler = known.unwrap_or_else(|| {
                    counts.push(grid.count);
                    samplers.push(IndexSampler::new(skew, grid.count, popular));
                    counts.len() - 1
                });
                fields.push(RandomField { grid, sampler });
            }
        }
        Ok(Random { fields: fields.into(), samplers: samplers.into(), targets: regions.len() })
    }

    /// The addresses, if there are those of one shape and target only, all equally likely.
    fn uniform(&self) -> Option<AddressGrid> {
        match (&*self.fields, &*self.samplers) {
            ([field], [IndexSampler::Uniform { .. }]) => Some(field.grid),
            _ => None,
        }
    }

    #[inline]
    fn draw(&self, shape: usize, rng: &mut Rng) -> (usize, u64) {
        let target = if self.targets == 1 { 0 } else { rng.below(self.targets as u64) as usize };
        let field = &self.fields[shape * self.targets + target];
        (target, field.grid.offset(self.samplers[field.sampler].draw(rng)))
    }
}

/// Upper bounds of the rows' shares, scaled to 2⁵³.
fn cumulate(rows: &[Row]) -> Box<[u64]> {
    let sum: f64 = rows.iter().map(|row| row.share).sum();
    let mut upto = 0.0;
    let bound = |row: &Row| {
        upto += row.share;
        // The same sums in the same order, so that the last quotient is exactly 1.
        (upto / sum * (1u64 << 53) as f64) as u64
    };
    rows.iter().map(bound).collect()
}
