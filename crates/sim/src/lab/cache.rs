//! What an array's cache holds: the hit share of reads, and how many writes find their block dirty already.
//!
//! A block that is read or written stays in a least-recently-used cache until it has not been asked for during a
//! characteristic time, which is the same for all blocks: that in which as many different blocks are asked for as fit
//! (H. Che, Y. Tung and Z. Wang, *Hierarchical Web caching systems*, IEEE JSAC 20(7), 2002). Dirty blocks are destaged in
//! the order in which they became dirty, whether they were written again or not: a block written at the rate r is dirty
//! the share r·t / (1 + r·t) of the time (V. Martina, M. Garetto and E. Leonardi, *A unified approach to the performance
//! analysis of caching systems*, INFOCOM 2014). Pure arithmetic.
//!
//! Several loads may ask for the same blocks of a volume, each by its own popularity: the rates of a block add up. Uniform
//! addresses, hot spots and Pareto lie on the volume by address, all from its start. Zipf's popular blocks are scattered,
//! so that they know nothing of the other loads: these count as one rate that is even over all blocks and keeps as many.
//!
//! A sequential stream asks for all its blocks in turn, and for each again after a pass. It finds what it left itself where
//! a pass takes less than the characteristic time, and nothing of it otherwise: of more than fits, all is gone before it
//! comes back.
//!
//! Blocks of nearly the same popularity are taken together: a skew over 10⁹ blocks is some 900 classes.

use workload::Skew;

/// Ranks that are classes of their own, and the factor between the bounds of the classes of further ranks.
const EXACT: f64 = 128.0;
const WIDER: f64 = 1.02;
/// Steps of a bisection: more than the digits of a number.
const HALVINGS: usize = 60;
/// Shares of a room for which the chance of a coalesced write is computed, besides none.
const SHARES: usize = 64;
/// Times at which these are computed, and how far they reach beyond the rates.
const TIMES: usize = 256;
const REACH: f64 = 1e4;

/// Blocks that are accessed at random or in turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockSet {
    /// How the accesses are distributed.
    pub skew: Skew,
    /// All in turn, again and again.
    pub stream: bool,
    /// Number of blocks.
    pub blocks: f64,
    /// Bytes of a block.
    pub bytes: f64,
    /// Accesses a second, in any unit.
    pub rate: f64,
}

/// Blocks of one popularity.
#[derive(Clone, Copy, Debug)]
struct BlockClass {
    blocks: f64,
    /// Accesses a second of each.
    rate: f64,
}

/// Which blocks a cache keeps, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeping {
    /// Those asked for during the characteristic time.
    Recent,
    /// Those that became dirty during it.
    Dirty,
}

impl Keeping {
    /// The probability that a block of this rate is there.
    fn there(self, rate: f64, time: f64) -> f64 {
        match self {
            Keeping::Recent => -(-rate * time).exp_m1(),
            Keeping::Dirty => 1.0 - 1.0 / (1.0 + rate * time),
        }
    }

    /// The rate at which that probability is `share`.
    fn rate(self, share: f64, time: f64) -> f64 {
        match self {
            Keeping::Recent => -(-share).ln_1p() / time,
            Keeping::Dirty => share / (1.0 - share) / time,
        }
    }
}

/// What a sequential stream asks for in turn.
#[derive(Clone, Copy, Debug)]
struct Stream {
    of: BlockSet,
    end: f64,
    /// The time of a pass.
    cycle: f64,
}

impl Stream {
    fn of(set: &BlockSet) -> Stream {
        let cycle = if set.rate > 0.0 { set.blocks / set.rate } else { f64::INFINITY };
        Stream { of: *set, end: set.blocks * set.bytes, cycle }
    }

    /// The share of its blocks that are there after this time.
    fn there(&self, time: f64) -> f64 {
        (time / self.cycle).min(1.0)
    }

    fn covers(&self, piece: &Piece) -> bool {
        self.end >= piece.end * (1.0 - 1e-12)
    }
}

/// The blocks of a volume, by all loads that ask for them.
#[derive(Clone, Debug)]
struct VolumeBlocks {
    /// By load; those with the same blocks and skew are one.
    sets: Vec<(BlockSet, Vec<BlockClass>)>,
    streams: Vec<Stream>,
    pieces: Vec<Piece>,
}

/// Whose blocks are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Without {
    Nobody,
    Set(usize),
    Stream(usize),
}

/// A piece of a volume.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Its end.
    end: f64,
    bytes: f64,
    /// Accesses a second of each block by the loads that are not scattered.
    rate: f64,
}

impl VolumeBlocks {
    fn of(loads: &[BlockSet]) -> VolumeBlocks {
        let mut sets: Vec<BlockSet> = Vec::new();
        for load in loads.iter().filter(|load| !load.stream) {
            match sets.iter_mut().find(|set| set.is_like(load)) {
                Some(set) => set.rate += load.rate,
                None => sets.push(*load),
            }
        }
        let sets: Vec<_> = sets.into_iter().map(|set| (set, set.classes())).collect();
        let streams: Vec<Stream> =
            loads.iter().filter(|load| load.stream).map(Stream::of).collect();
        let mut ends: Vec<f64> = sets.iter().flat_map(|(set, classes)| set.ends(classes)).collect();
        ends.extend(streams.iter().map(|stream| stream.end));
        ends.sort_unstable_by(f64::total_cmp);
        ends.dedup_by(|next, last| *next <= *last * (1.0 + 1e-12));
        let mut pieces = Vec::with_capacity(ends.len());
        let mut from = 0.0;
        for end in ends {
            pieces.push(Piece { end, bytes: end - from, rate: 0.0 });
            from = end;
        }
        let mut all = VolumeBlocks { sets, streams, pieces };
        let ordered: Vec<usize> =
            (0..all.sets.len()).filter(|at| !all.sets[*at].0.is_scattered()).collect();
        for at in ordered {
            let rates = all.rates(at);
            all.pieces.iter_mut().zip(rates).for_each(|(piece, rate)| piece.rate += rate);
        }
        all
    }

    /// The rate of each piece's blocks by a load whose popular blocks are not scattered.
    fn rates(&self, at: usize) -> Vec<f64> {
        let (set, classes) = &self.sets[at];
        let ends = set.ends(classes);
        let mut class = 0;
        let rate = |piece: &Piece| {
            while ends.get(class).is_some_and(|end| *end < piece.end * (1.0 - 1e-12)) {
                class += 1;
            }
            classes.get(class).map_or(0.0, |class| class.rate)
        };
        self.pieces.iter().map(rate).collect()
    }

    fn bytes(&self) -> f64 {
        self.pieces.last().map_or(0.0, |piece| piece.end)
    }

    /// For each scattered load: its end, and the even rate that keeps as many blocks; nothing for others.
    fn scattered(&self, keeping: Keeping, time: f64) -> Vec<(f64, f64)> {
        let even = |(set, classes): &(BlockSet, Vec<BlockClass>)| {
            if !set.is_scattered() {
                return (0.0, 0.0);
            }
            let blocks = sum(classes, |class| class.blocks);
            let there = sum(classes, |class| class.blocks * keeping.there(class.rate, time));
            (blocks * set.bytes, keeping.rate(there / blocks, time))
        };
        self.sets.iter().map(even).collect()
    }

    /// Whether each piece's blocks are there, by all loads but one.
    fn there<'a>(
        &'a self,
        keeping: Keeping,
        time: f64,
        scattered: &'a [(f64, f64)],
        without: Without,
    ) -> impl Iterator<Item = (&'a Piece, f64)> {
        self.pieces.iter().map(move |piece| {
            let of = |(at, (end, rate)): (usize, &(f64, f64))| {
                let covers = *end >= piece.end * (1.0 - 1e-12) && without != Without::Set(at);
                if covers { *rate } else { 0.0 }
            };
            let rate = piece.rate + scattered.iter().enumerate().map(of).sum::<f64>();
            let passed = |(at, stream): (usize, &Stream)| {
                let covers = stream.covers(piece) && without != Without::Stream(at);
                if covers { 1.0 - stream.there(time) } else { 1.0 }
            };
            let passed: f64 = self.streams.iter().enumerate().map(passed).product();
            (piece, 1.0 - (1.0 - keeping.there(rate, time)) * passed)
        })
    }

    /// Bytes that are there.
    fn kept(&self, keeping: Keeping, time: f64) -> f64 {
        let scattered = self.scattered(keeping, time);
        let pieces = self.there(keeping, time, &scattered, Without::Nobody);
        pieces.map(|(piece, there)| piece.bytes * there).sum()
    }

    /// The share of the accesses of a load that find their block there.
    fn found(&self, set: &BlockSet, keeping: Keeping, time: f64) -> f64 {
        if set.stream {
            return self.found_in_turn(set, keeping, time);
        }
        let Some(at) = self.sets.iter().position(|(known, _)| known.is_like(set)) else {
            return 0.0;
        };
        let scattered = self.scattered(keeping, time);
        if !set.is_scattered() {
            let all = self.there(keeping, time, &scattered, Without::Nobody);
            let of = all.zip(self.rates(at));
            let (met, all) = of.fold((0.0, 0.0), |(met, all), ((piece, there), rate)| {
                (met + piece.bytes * rate * there, all + piece.bytes * rate)
            });
            return if all > 0.0 { (met / all).clamp(0.0, 1.0) } else { 0.0 };
        }
        let end = scattered[at].0 * (1.0 + 1e-12);
        let others = self.there(keeping, time, &scattered, Without::Set(at));
        let met = mean_there(others.filter(|(piece, _)| piece.end <= end));
        let even = keeping.rate(met, time);
        share(&self.sets[at].1, |rate| keeping.there(rate + even, time))
    }

    /// The same of a stream: all, where what it left on its last pass is still there; else what others left.
    fn found_in_turn(&self, set: &BlockSet, keeping: Keeping, time: f64) -> f64 {
        let Some(at) = self.streams.iter().position(|known| known.of.is_like(set)) else {
            return 0.0;
        };
        let stream = &self.streams[at];
        if stream.cycle <= time {
            return 1.0;
        }
        let scattered = self.scattered(keeping, time);
        let others = self.there(keeping, time, &scattered, Without::Stream(at));
        mean_there(others.filter(|(piece, _)| stream.covers(piece)))
    }
}

/// The share of the bytes of these pieces that is there.
fn mean_there<'a>(pieces: impl Iterator<Item = (&'a Piece, f64)>) -> f64 {
    let (there, all) = pieces.fold((0.0, 0.0), |(there, all), (piece, share)| {
        (there + piece.bytes * share, all + piece.bytes)
    });
    there / f64::max(all, f64::MIN_POSITIVE)
}

/// Volumes that share a cache, those that are alike taken together.
#[derive(Clone, Debug)]
struct Sharing {
    /// With the loads of one of them, and how many there are.
    all: Vec<(Vec<BlockSet>, f64, VolumeBlocks)>,
}

impl Sharing {
    fn of<'a>(volumes: impl Iterator<Item = &'a [BlockSet]>) -> Sharing {
        let mut all: Vec<(Vec<BlockSet>, f64, VolumeBlocks)> = Vec::new();
        for loads in volumes {
            match all.iter_mut().find(|(known, ..)| known == loads) {
                Some((_, count, _)) => *count += 1.0,
                None => all.push((loads.to_vec(), 1.0, VolumeBlocks::of(loads))),
            }
        }
        Sharing { all }
    }

    fn volume(&self, loads: &[BlockSet]) -> Option<&VolumeBlocks> {
        self.all.iter().find(|(known, ..)| known == loads).map(|(.., volume)| volume)
    }

    /// Bytes of all blocks.
    fn touched(&self) -> f64 {
        self.all.iter().map(|(_, count, volume)| count * volume.bytes()).sum()
    }

    /// Bytes of the blocks that are there.
    fn kept(&self, keeping: Keeping, time: f64) -> f64 {
        self.all.iter().map(|(_, count, volume)| count * volume.kept(keeping, time)).sum()
    }

    /// Times in which almost nothing is asked for twice, and almost everything is.
    fn range(&self) -> (f64, f64) {
        let sets = || self.all.iter().flat_map(|(.., volume)| &volume.sets);
        let classes = || sets().flat_map(|(_, classes)| classes);
        let cycles = || self.all.iter().flat_map(|(.., volume)| &volume.streams);
        let rates = || classes().map(|class| class.rate).chain(cycles().map(|of| 1.0 / of.cycle));
        let rates = || rates().filter(|rate| *rate > 0.0);
        let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
        match most > 0.0 {
            true => (1.0 / most / REACH / REACH, REACH / least),
            false => (1.0, 2.0),
        }
    }
}

/// A warm least-recently-used cache that volumes share.
#[derive(Clone, Debug)]
pub struct ReadCache {
    sharing: Sharing,
    /// How long a block stays that is not asked for again; `None` where all fit.
    time: Option<f64>,
}

impl ReadCache {
    /// Of `size` bytes, for these volumes, each with its loads.
    pub fn new<'a>(volumes: impl Iterator<Item = &'a [BlockSet]>, size: f64) -> ReadCache {
        let sharing = Sharing::of(volumes);
        if size >= sharing.touched() {
            return ReadCache { sharing, time: None };
        }
        let (mut low, mut high) = sharing.range();
        for _ in 0..HALVINGS {
            let middle = (low * high).sqrt();
            let held = sharing.kept(Keeping::Recent, middle);
            if held < size { low = middle } else { high = middle }
        }
        ReadCache { sharing, time: Some(high) }
    }

    /// The share of the accesses by one of a volume's loads that it answers.
    pub fn hits(&self, volume: &[BlockSet], load: &BlockSet) -> f64 {
        let Some(time) = self.time else { return 1.0 };
        let volume = self.sharing.volume(volume);
        volume.map_or(0.0, |volume| volume.found(load, Keeping::Recent, time))
    }
}

/// The room for dirty data that volumes share.
#[derive(Clone, Debug)]
pub struct DirtyRoom {
    sharing: Sharing,
    room: f64,
    /// Times, and bytes that are dirty after them.
    times: Vec<(f64, f64)>,
}

impl DirtyRoom {
    /// Of `room` bytes, for these volumes, each with the loads that write to it.
    pub fn new<'a>(volumes: impl Iterator<Item = &'a [BlockSet]>, room: f64) -> DirtyRoom {
        let sharing = Sharing::of(volumes);
        let (low, high) = sharing.range();
        let step = (high / low).powf(1.0 / (TIMES - 1) as f64);
        let at = |at: usize| low * step.powi(at as i32);
        // With the ends of passes, at which what a stream finds turns from nothing to all.
        let mut times: Vec<f64> = (0..TIMES).map(at).collect();
        let streams = sharing.all.iter().flat_map(|(.., volume)| &volume.streams);
        times.extend(streams.flat_map(|of| [of.cycle * (1.0 - 1e-9), of.cycle]));
        times.sort_unstable_by(f64::total_cmp);
        let times = times.into_iter().filter(|time| time.is_finite());
        let times = times.map(|time| (time, sharing.kept(Keeping::Dirty, time))).collect();
        DirtyRoom { sharing, room, times }
    }

    /// The chance that a write by one of a volume's loads finds its block dirty, for equally spaced shares of the room that
    /// all of them fill with dirty blocks: from none to full.
    pub fn coalesced(&self, volume: &[BlockSet], load: &BlockSet) -> Vec<f64> {
        let Some(volume) = self.sharing.volume(volume) else { return vec![0.0, 0.0] };
        // Bytes that are dirty, and the chance.
        let mut known = vec![(0.0, 0.0)];
        let found =
            |(time, bytes): &(f64, f64)| (*bytes, volume.found(load, Keeping::Dirty, *time));
        known.extend(self.times.iter().map(found));
        let most = known.last().map_or(0.0, |(bytes, _)| *bytes);
        known.push((self.sharing.touched().max(most), 1.0));
        let chance = |bytes: f64| {
            let next = known.partition_point(|(known, _)| *known <= bytes);
            let Some((above, high)) = known.get(next).copied() else { return 1.0 };
            let (below, low) = known[next.max(1) - 1];
            let share = if above > below { (bytes - below) / (above - below) } else { 0.0 };
            (low + share * (high - low)).clamp(0.0, 1.0)
        };
        (0..=SHARES).map(|at| chance(self.room * at as f64 / SHARES as f64)).collect()
    }
}

impl BlockSet {
    /// Whether another load asks for the same blocks in the same way, however often.
    fn is_like(&self, other: &BlockSet) -> bool {
        BlockSet { rate: other.rate, ..*self } == *other
    }

    /// Whether its popular blocks may be anywhere.
    fn is_scattered(&self) -> bool {
        matches!(self.skew, Skew::Zipf(_))
    }

    /// Where its pieces end on the volume: its classes, or all of it where they are scattered.
    fn ends(&self, classes: &[BlockClass]) -> Vec<f64> {
        let mut until = 0.0;
        let ends = classes.iter().map(|class| {
            until += class.blocks * self.bytes;
            until
        });
        let ends: Vec<f64> = ends.collect();
        match self.is_scattered() {
            true => ends.last().copied().into_iter().collect(),
            false => ends,
        }
    }

    /// Its blocks by popularity, the most popular first.
    fn classes(&self) -> Vec<BlockClass> {
        let blocks = self.blocks.max(1.0);
        let uniform = |blocks: f64, rate: f64| BlockClass { blocks, rate: rate / blocks };
        match self.skew {
            Skew::Uniform => vec![uniform(blocks, self.rate)],
            Skew::HotSpot { accesses, blocks: hot } => {
                let hot = (blocks * hot / 100.0).clamp(1.0, blocks);
                if blocks - hot < 1.0 {
                    return vec![uniform(blocks, self.rate)];
                }
                let to_hot = self.rate * accesses / 100.0;
                vec![uniform(hot, to_hot), uniform(blocks - hot, self.rate - to_hot)]
            }
            Skew::Zipf(theta) => {
                let whole = zipf(theta, 0.0, blocks);
                self.by_rank(blocks, |from, to| zipf(theta, from, to) / whole)
            }
            // A share 1 - h of the accesses goes to a share h of the blocks, and so on within these.
            Skew::Pareto(h) => {
                let power = (1.0 - h).ln() / h.ln();
                let until = |rank: f64| (rank / blocks).powf(power);
                self.by_rank(blocks, |from, to| until(to) - until(from))
            }
        }
    }

    /// Classes of ranks, where `part` is the share of the accesses that go to those from the first to the second.
    fn by_rank(&self, blocks: f64, part: impl Fn(f64, f64) -> f64) -> Vec<BlockClass> {
        let mut classes = Vec::new();
        let mut from = 0.0;
        while from < blocks {
            let to = if from < EXACT { from + 1.0 } else { (from * WIDER).floor() };
            let to = if to > blocks - 1.0 { blocks } else { to };
            classes.push(BlockClass {
                blocks: to - from,
                rate: self.rate * part(from, to) / (to - from),
            });
            from = to;
        }
        classes
    }
}

/// The sum of k^-θ over the ranks after `from` up to `to`: exactly for one rank, otherwise with each term replaced by an
/// integral from k - ½ to k + ½.
fn zipf(theta: f64, from: f64, to: f64) -> f64 {
    if to - from <= 1.0 {
        return to.powf(-theta);
    }
    let few = (EXACT - from).clamp(0.0, to - from).floor();
    let first: f64 = (0..few as u32).map(|at| (from + 1.0 + f64::from(at)).powf(-theta)).sum();
    let (low, high) = (from + few + 0.5, to + 0.5);
    let power = 1.0 - theta;
    let rest = match power.abs() < 1e-9 {
        true => (high / low).ln(),
        false => (high.powf(power) - low.powf(power)) / power,
    };
    first + rest
}

fn sum(classes: &[BlockClass], of: impl Fn(&BlockClass) -> f64) -> f64 {
    classes.iter().map(of).sum()
}

/// The mean of a figure of the rate over all accesses.
fn share(classes: &[BlockClass], of: impl Fn(f64) -> f64) -> f64 {
    let all = sum(classes, |class| class.blocks * class.rate);
    let met = sum(classes, |class| class.blocks * class.rate * of(class.rate));
    if all > 0.0 { (met / all).clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hit share of one of some volumes with a load each.
    fn hits(sets: &[BlockSet], own: usize, size: f64) -> f64 {
        let cache = ReadCache::new(sets.iter().map(std::slice::from_ref), size);
        cache.hits(&sets[own..=own], &sets[own])
    }

    /// The chances of one of some volumes with a load each.
    fn coalesced(sets: &[BlockSet], own: usize, room: f64) -> Vec<f64> {
        let all = DirtyRoom::new(sets.iter().map(std::slice::from_ref), room);
        all.coalesced(&sets[own..=own], &sets[own])
    }

    /// The hit share in a cache for this share of all blocks.
    fn hit(skew: Skew, share: f64, blocks: f64) -> f64 {
        hits(
            &[BlockSet { skew, stream: false, blocks, bytes: 4096.0, rate: 1.0 }],
            0,
            share * blocks * 4096.0,
        )
    }

    #[track_caller]
    fn near(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() <= within, "{found}, not {expected}");
    }

    /// What `cache_truth.py` counts in caches of 10% of 200,000 blocks, and of others as it says.
    #[test]
    fn hits_are_those_of_a_simulated_least_recently_used_cache() {
        for line in include_str!("../../tests/it/lab_storage/cache_truth.txt").lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [kind, a, b, blocks, share, misses] = words[..] else { panic!("{line}") };
            let number = |word: &str| word.parse::<f64>().expect("a number");
            let skew = match kind {
                "uniform" => Skew::Uniform,
                "zipf" => Skew::Zipf(number(a)),
                "pareto" => Skew::Pareto(number(a)),
                "hot-spot" => Skew::HotSpot { accesses: number(a), blocks: number(b) },
                _ => panic!("{line}"),
            };
            let found = (1.0 - hit(skew, number(share), number(blocks))) * 100.0;
            assert!((found - number(misses)).abs() < 1.0, "{line}: {found}");
        }
    }

    #[test]
    fn a_thousand_million_blocks_are_some_hundred_classes() {
        let set = BlockSet {
            skew: Skew::Zipf(0.99),
            stream: false,
            blocks: 1e9,
            bytes: 4096.0,
            rate: 3.0,
        };
        let classes = set.classes();
        assert!(classes.len() < 1000, "{}", classes.len());
        near(sum(&classes, |class| class.blocks), 1e9, 1.0);
        near(sum(&classes, |class| class.blocks * class.rate), 3.0, 1e-6);
        assert!(classes.windows(2).all(|pair| pair[0].rate >= pair[1].rate));
        assert_eq!(hit(Skew::Zipf(0.99), 1.0, 1e9), 1.0);
        let some = [0.01, 0.1, 0.5].map(|share| hit(Skew::Zipf(0.99), share, 1e9));
        assert!(some[0] < some[1] && some[1] < some[2], "{some:?}");
    }

    /// Two volumes share a cache: the one asked ten times as often gets most of it. By hand, with the time t: 1 - e^-10t
    /// and 1 - e^-t of 100 blocks each are 100 together at t = 0.1663.
    #[test]
    fn volumes_share_a_cache_by_what_is_asked_of_them() {
        let set =
            |rate| BlockSet { skew: Skew::Uniform, stream: false, blocks: 100.0, bytes: 1.0, rate };
        let sets = [set(1000.0), set(100.0)];
        let found = [0, 1].map(|own| hits(&sets, own, 100.0));
        near(found[0] + found[1], 1.0, 1e-6);
        near(found[0], 1.0 - (-10.0_f64 * 0.1800).exp(), 0.02);
    }

    /// Three like volumes are as one of three times as many blocks, asked for three times as often.
    #[test]
    fn like_volumes_share_a_cache_evenly() {
        let set = |blocks| BlockSet {
            skew: Skew::Uniform,
            stream: false,
            blocks,
            bytes: 1.0,
            rate: blocks,
        };
        let (three, one) = ([set(100.0); 3], [set(300.0)]);
        near(hits(&three, 2, 120.0), hits(&one, 0, 120.0), 1e-9);
        let of = coalesced(&three, 1, 150.0).into_iter().zip(coalesced(&one, 0, 150.0));
        of.for_each(|(three, one)| near(three, one, 1e-9));
    }

    /// What `shared_truth.py` counts where two loads share a cache of blocks of one size: on one volume, or on one each.
    #[test]
    fn each_load_has_its_own_hits_in_a_cache_that_it_shares() {
        for line in include_str!("../../tests/it/lab_storage/shared_truth.txt").lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [one_volume, size, rest @ ..] = &words[..] else { panic!("{line}") };
            let number = |word: &str| word.parse::<f64>().expect("a number");
            let of = |at: usize| {
                let [kind, a, b, blocks, rate] = rest[at..at + 5] else { panic!("{line}") };
                let skew = match kind {
                    "uniform" => Skew::Uniform,
                    "zipf" => Skew::Zipf(number(a)),
                    "pareto" => Skew::Pareto(number(a)),
                    "hot-spot" => Skew::HotSpot { accesses: number(a), blocks: number(b) },
                    _ => panic!("{line}"),
                };
                BlockSet {
                    skew,
                    stream: false,
                    blocks: number(blocks),
                    bytes: 4096.0,
                    rate: number(rate),
                }
            };
            let sets = [of(0), of(5)];
            let volumes: Vec<&[BlockSet]> = match *one_volume {
                "one" => vec![&sets],
                _ => vec![&sets[..1], &sets[1..]],
            };
            let cache = ReadCache::new(volumes.iter().copied(), number(size) * 4096.0);
            for (at, set) in sets.iter().enumerate() {
                let volume = volumes[at.min(volumes.len() - 1)];
                let found = cache.hits(volume, set) * 100.0;
                let expected = number(rest[10 + at]);
                assert!((found - expected).abs() < 1.0, "{line}: load {at}: {found}");
            }
        }
    }

    /// Writes of two loads to the same 1,000 blocks: with r·t of 3 by the one over all and of 5 more by the other over a
    /// tenth, 900 blocks are dirty 3/4 of the time and 100 of them 53/54, if the second has a rate ten times as dense.
    #[test]
    fn writes_of_two_loads_coalesce_on_the_same_blocks() {
        let set = |blocks, rate| BlockSet {
            skew: Skew::Uniform,
            stream: false,
            blocks,
            bytes: 1.0,
            rate,
        };
        let sets = [set(1000.0, 3000.0), set(100.0, 5000.0)];
        let (cold, hot) = (3.0 / 4.0, 53.0 / 54.0);
        let dirty = 900.0 * cold + 100.0 * hot;
        let room = DirtyRoom::new(std::iter::once(&sets[..]), dirty);
        near(room.coalesced(&sets, &sets[0])[SHARES], dirty / 1000.0, 1e-3);
        near(room.coalesced(&sets, &sets[1])[SHARES], hot, 1e-3);
    }

    /// Uniform writes find as many dirty blocks as there are of all; a skew finds more.
    #[test]
    fn writes_coalesce_with_what_is_dirty() {
        let set = |skew| [BlockSet { skew, stream: false, blocks: 1000.0, bytes: 10.0, rate: 5.0 }];
        let of = coalesced(&set(Skew::Uniform), 0, 20_000.0);
        near(of[0], 0.0, 1e-9);
        near(of[16], 0.5, 1e-6);
        near(of[32], 1.0, 1e-3);
        near(of[SHARES], 1.0, 1e-9);
        let part = coalesced(&set(Skew::Uniform), 0, 2_000.0);
        near(part[SHARES], 0.2, 1e-6);
        let skewed = coalesced(&set(Skew::Zipf(0.99)), 0, 2_000.0);
        assert!(skewed[SHARES] > 0.4 && skewed[SHARES] < 0.8, "{}", skewed[SHARES]);
        assert!(skewed.windows(2).all(|pair| pair[0] <= pair[1]));
    }
}
