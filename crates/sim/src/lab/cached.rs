//! The volumes of an array that its cache serves, with the step's loads on each.

use super::cache::{BlockSet, DirtyRoom, ReadCache};
use super::usage::{Usage, VolumeLoad};
use scenario::CacheMode;
use std::cell::{OnceCell, RefCell};

/// A volume that the cache of an array serves.
#[derive(Clone, Debug)]
pub struct CachedVolume {
    /// How it uses the cache.
    pub mode: Option<CacheMode>,
    /// Bytes that the step touches.
    pub touched: u64,
    /// What each load reads and writes.
    pub blocks: Vec<BlockSet>,
    /// What each load writes.
    pub written: Vec<BlockSet>,
}

/// A volume's loads, and one of them.
type OfVolume = (Vec<BlockSet>, BlockSet);

/// All volumes that the cache of an array serves, and what was computed of them: many are alike.
#[derive(Clone, Debug, Default)]
pub struct CachedVolumes {
    all: Vec<CachedVolume>,
    reads: OnceCell<ReadCache>,
    dirty: OnceCell<DirtyRoom>,
    hits: RefCell<Vec<(OfVolume, f64)>>,
    coalesced: RefCell<Vec<(OfVolume, Vec<f64>)>>,
}

impl CachedVolumes {
    /// These volumes.
    pub fn new(all: Vec<CachedVolume>) -> CachedVolumes {
        CachedVolumes { all, ..CachedVolumes::default() }
    }

    /// Bytes that the step touches on all of them.
    pub fn touched(&self) -> f64 {
        self.all.iter().map(|of| of.touched as f64).sum()
    }

    /// The share of a load's random reads, or of those in sequence, that the cache, of `size` bytes, answers.
    pub fn hit_share(&self, usage: &Usage, load: &VolumeLoad, size: f64, stream: bool) -> f64 {
        let (volume, Some(set)) = (usage.blocks(false), load.blocks(0.0, false, stream)) else {
            return 0.0;
        };
        known(&self.hits, (volume, set), |(volume, set)| {
            let volumes = || self.all.iter().map(|of| &of.blocks[..]);
            self.reads.get_or_init(|| ReadCache::new(volumes(), size)).hits(volume, set)
        })
    }

    /// Whether volumes that write into the cache are written in different ways.
    pub fn are_written_unlike(&self) -> bool {
        let back = self.all.iter().filter(|of| of.mode != Some(CacheMode::WriteThrough));
        let mut written = back.map(|of| &of.written).filter(|of| !of.is_empty());
        let first = written.next();
        written.any(|other| Some(other) != first)
    }

    /// The chances that a write of a load finds its block dirty, by the share of the room, of `room` bytes, that dirty data
    /// fills.
    pub fn coalesced(&self, usage: &Usage, load: &VolumeLoad, room: f64) -> Vec<f64> {
        let random = load.writes.random();
        let mut chances: Vec<f64> = Vec::new();
        for (stream, share) in [(false, random), (true, 1.0 - random)] {
            let Some(set) = load.blocks(0.0, true, stream) else { continue };
            let of = known(&self.coalesced, (usage.blocks(true), set), |(volume, set)| {
                let back = self.all.iter().filter(|of| of.mode != Some(CacheMode::WriteThrough));
                let volumes = || back.map(|of| &of.written[..]).filter(|of| !of.is_empty());
                self.dirty.get_or_init(|| DirtyRoom::new(volumes(), room)).coalesced(volume, set)
            });
            chances.resize(of.len(), 0.0);
            chances.iter_mut().zip(of).for_each(|(all, chance)| *all += share * chance);
        }
        if chances.is_empty() { vec![0.0, 0.0] } else { chances }
    }
}

/// What is known of a load on a volume, or is computed now.
fn known<T: Clone>(
    all: &RefCell<Vec<(OfVolume, T)>>,
    of: OfVolume,
    compute: impl FnOnce(&OfVolume) -> T,
) -> T {
    if let Some((_, found)) = all.borrow().iter().find(|(known, _)| *known == of) {
        return found.clone();
    }
    let found = compute(&of);
    all.borrow_mut().push((of, found.clone()));
    found
}
