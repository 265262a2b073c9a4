//! Every command on every kind of volume, in every block size, against a plain vector of bytes.

use crate::prelude::*;
use crate::volumes::bench::{Bench, Loop, bytes, extent, quick, token};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use san::volume::{Data, IoConfig, Volume};
use std::ops::Range;

/// Bytes of each volume.
const SIZE: u64 = 512 << 10;

/// The name by which the volume is copied into itself.
const OWN: [u8; 16] = [7; 16];

#[derive(Clone, Debug)]
enum Kind {
    Read,
    Write(bool),
    WriteVerify(bool),
    Verify,
    Compare { one: bool, spoil: Option<u16> },
    CompareAndWrite(Option<u16>),
    Or,
    Same { zero: bool, unmap: bool },
    Unmap,
    Sync,
    Prefetch,
    Status,
    Copy(u64),
    Sanitize(u8),
}

/// A command at a place: where and how many in shares of the volume, so that they fit every block size.
#[derive(Clone, Debug)]
struct Step {
    kind: Kind,
    lba: u64,
    blocks: u64,
    seed: u64,
    /// As bytes out of a PDU, at an address that is aligned to nothing.
    loose: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let spoil = || prop::option::of(any::<u16>());
    let kind = prop_oneof![
        4 => Just(Kind::Read),
        6 => any::<bool>().prop_map(Kind::Write),
        1 => any::<bool>().prop_map(Kind::WriteVerify),
        1 => Just(Kind::Verify),
        1 => (any::<bool>(), spoil()).prop_map(|(one, spoil)| Kind::Compare { one, spoil }),
        2 => spoil().prop_map(Kind::CompareAndWrite),
        2 => Just(Kind::Or),
        2 => (any::<bool>(), any::<bool>()).prop_map(|(zero, unmap)| Kind::Same { zero, unmap }),
        3 => Just(Kind::Unmap),
        1 => Just(Kind::Sync),
        1 => Just(Kind::Prefetch),
        1 => Just(Kind::Status),
        2 => any::<u64>().prop_map(Kind::Copy),
        1 => (0u8..4).prop_map(Kind::Sanitize),
    ];
    let len = prop_oneof![0..3u64, 0..40u64, 0..2000u64];
    (kind, any::<u64>(), len, any::<u64>(), any::<bool>())
        .prop_map(|(kind, lba, blocks, seed, loose)| Step { kind, lba, blocks, seed, loose })
}

struct Twin {
    bench: Bench,
    model: Vec<u8>,
    block: usize,
}

impl Twin {
    fn new(volume: Arc<Volume>, config: IoConfig) -> Twin {
        let volumes = vec![(OWN, Arc::clone(&volume))];
        let bench = Bench::new(volume, IoConfig { volumes, ..config });
        let block = bench.volume.attributes().block as usize;
        Twin { bench, model: vec![0; SIZE as usize], block }
    }

    fn run(&mut self, medium: Medium, sent: &[u8], loose: bool) -> (Ending, Vec<u8>) {
        let data = match (sent.is_empty(), loose) {
            (true, _) => Data::None,
            (_, true) => Data::Bytes(sent.into()),
            _ => Data::Buffer(self.bench.buffer(sent)),
        };
        let done = self.bench.run(medium, data);
        (done.ending, bytes(&done.data))
    }

    /// Does one step on both.
    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let all = SIZE / self.block as u64;
        let lba = step.lba % all;
        let at = extent(lba, step.blocks.min(all - lba));
        let from = lba as usize * self.block;
        let range = from..from + at.blocks as usize * self.block;
        let there = self.model[range.clone()].to_vec();
        let (medium, sent, expected) = match &step.kind {
            Kind::Read => {
                let (ending, data) = self.run(Medium::Read(at), &[], false);
                prop_assert_eq!(ending, Ending::GOOD);
                prop_assert!(data == there, "what is read is not what was written");
                return Ok(());
            }
            Kind::Status => return self.status(lba),
            Kind::Verify => (Medium::Verify(at), Vec::new(), Ending::GOOD),
            Kind::Sync => (Medium::Sync(at), Vec::new(), Ending::GOOD),
            Kind::Prefetch => (Medium::Prefetch(at), Vec::new(), Ending::GOOD),
            Kind::Compare { .. } | Kind::CompareAndWrite(_) => self.comparing(step, at, range),
            _ => {
                let (medium, sent) = self.writing(step, at, range);
                (medium, sent, Ending::GOOD)
            }
        };
        let (ending, _) = self.run(medium, &sent, step.loose);
        prop_assert_eq!(ending, expected, "{:?}", step.kind);
        Ok(())
    }

    /// Commands that compare: what is sent, and how they must end.
    fn comparing(
        &mut self,
        step: &Step,
        at: BlockRange,
        range: Range<usize>,
    ) -> (Medium, Vec<u8>, Ending) {
        let mut random = random(step.seed);
        let there = self.model[range.clone()].to_vec();
        match &step.kind {
            Kind::Compare { one: true, spoil } => {
                // All blocks alike first, so that a comparison can succeed.
                let block = random(self.block);
                self.fill(at, &block);
                let (sent, place) = spoiled(&block, *spoil);
                let expected = place.filter(|_| at.blocks > 0).map_or(Ending::GOOD, miscompare);
                (Medium::Compare { with: at, one: true }, sent, expected)
            }
            Kind::CompareAndWrite(spoil) => {
                let (mut sent, place) = spoiled(&there, *spoil);
                let new = random(range.len());
                sent.extend(&new);
                if place.is_none() {
                    self.model[range].copy_from_slice(&new);
                }
                let expected = place.map_or(Ending::GOOD, miscompare);
                (Medium::CompareAndWrite { at, durable: false }, sent, expected)
            }
            Kind::Compare { spoil, .. } => {
                let (sent, place) = spoiled(&there, *spoil);
                let expected = place.map_or(Ending::GOOD, miscompare);
                (Medium::Compare { with: at, one: false }, sent, expected)
            }
            other => unreachable!("{other:?} compares nothing"),
        }
    }

    /// Commands that change blocks, on the model; what is sent for them.
    fn writing(&mut self, step: &Step, at: BlockRange, range: Range<usize>) -> (Medium, Vec<u8>) {
        let mut random = random(step.seed);
        let all = SIZE / self.block as u64;
        match &step.kind {
            Kind::Write(durable) => {
                let new = random(range.len());
                self.model[range].copy_from_slice(&new);
                (Medium::Write { to: at, durable: *durable }, new)
            }
            Kind::WriteVerify(compare) => {
                let new = random(range.len());
                self.model[range].copy_from_slice(&new);
                (Medium::WriteVerify { to: at, compare: *compare }, new)
            }
            Kind::Or => {
                let sent = random(range.len());
                self.model[range].iter_mut().zip(&sent).for_each(|(there, bits)| *there |= bits);
                (Medium::Or { at, durable: true }, sent)
            }
            Kind::Same { zero, unmap } => {
                let block = random(self.block);
                // Space given back reads as zeros, whatever was sent.
                let zeros = *zero || (*unmap && self.bench.volume.attributes().thin);
                let result = if zeros { vec![0; self.block] } else { block.clone() };
                self.model[range].chunks_mut(self.block).for_each(|b| b.copy_from_slice(&result));
                let sent = if *zero { Vec::new() } else { block };
                (Medium::Same { to: at, zero: *zero, unmap: *unmap, durable: false }, sent)
            }
            Kind::Unmap => {
                self.model[range].fill(0);
                (Medium::Unmap(vec![at, extent(0, 0)]), Vec::new())
            }
            Kind::Copy(to) => {
                let to = to % (all - at.blocks + 1);
                self.model.copy_within(range, to as usize * self.block);
                let segment = CopySegment { from: OWN, source: at, to: OWN, lba: to };
                (Medium::Copy(vec![segment]), Vec::new())
            }
            Kind::Sanitize(len) => {
                let pattern = random(usize::from(*len));
                let byte = |at: usize| match pattern.is_empty() {
                    true => 0,
                    false => pattern[at % self.block % pattern.len()],
                };
                self.model.iter_mut().enumerate().for_each(|(at, there)| *there = byte(at));
                (Medium::Sanitize { pattern }, Vec::new())
            }
            other => unreachable!("{other:?} writes nothing"),
        }
    }

    fn fill(&mut self, at: BlockRange, block: &[u8]) {
        let from = at.lba as usize * self.block;
        let range = from..from + at.blocks as usize * self.block;
        self.model[range].chunks_mut(self.block).for_each(|there| there.copy_from_slice(block));
        let medium = Medium::Same { to: at, zero: false, unmap: false, durable: false };
        assert_eq!(self.run(medium, block, false).0, Ending::GOOD);
    }

    /// Ranges that follow each other to the end; what is said to have no space must be zeros.
    fn status(&mut self, lba: u64) -> Result<(), TestCaseError> {
        let (ending, data) = self.run(Medium::LbaStatus { lba, len: 65536 }, &[], false);
        prop_assert_eq!(ending, Ending::GOOD);
        let length = u32::from_be_bytes(data[..4].try_into().unwrap()) as usize;
        prop_assert_eq!(length, data.len() - 4);
        let mut at = lba;
        for descriptor in data[8..].chunks(16) {
            prop_assert_eq!(u64::from_be_bytes(descriptor[..8].try_into().unwrap()), at);
            let blocks = u64::from(u32::from_be_bytes(descriptor[8..12].try_into().unwrap()));
            prop_assert!(blocks > 0);
            let from = at as usize * self.block;
            let blank = self.model[from..][..blocks as usize * self.block].iter().all(|b| *b == 0);
            prop_assert!(descriptor[12] == 0 || (descriptor[12] == 1 && blank));
            at += blocks;
        }
        prop_assert_eq!(at, SIZE / self.block as u64);
        Ok(())
    }
}

/// Bytes that depend on a step alone.
fn random(seed: u64) -> impl FnMut(usize) -> Vec<u8> {
    let mut rng = clock::Rng::keyed(seed, &[]);
    move |len| {
        let mut data = vec![0; len];
        rng.fill(&mut data);
        data
    }
}

/// Data with one byte changed, and where; unchanged where there is none.
fn spoiled(data: &[u8], place: Option<u16>) -> (Vec<u8>, Option<usize>) {
    let mut data = data.to_vec();
    let place = place.map(|place| usize::from(place) % data.len().max(1));
    match place.and_then(|place| data.get_mut(place)) {
        Some(byte) => *byte ^= 0x10,
        None => return (data, None),
    }
    (data, place)
}

fn miscompare(offset: usize) -> Ending {
    let sense = iscsi::scsi::Sense::new(SenseKey::Miscompare, 0x1d00);
    Ending::check(sense.with_information(offset as u64))
}

/// Runs random steps on fresh volumes, and reads all of it at the end.
#[track_caller]
fn check(cases: u32, make: impl Fn() -> (Arc<Volume>, IoConfig)) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let steps = prop::collection::vec(step(), 1..40);
    let seed = proptest::test_runner::TestRng::deterministic_rng(
        proptest::test_runner::RngAlgorithm::ChaCha,
    );
    TestRunner::new_with_rng(config, seed)
        .run(&steps, |steps| {
            let (volume, config) = make();
            let mut twin = Twin::new(volume, config);
            for step in &steps {
                twin.step(step)?;
            }
            let all = extent(0, SIZE / twin.block as u64);
            let (ending, data) = twin.run(Medium::Read(all), &[], false);
            prop_assert_eq!(ending.status, ScsiStatus::Good);
            prop_assert!(data == twin.model, "the end differs");
            Ok(())
        })
        .unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn memory() {
    for options in ["", ",thin", ",block=4096", ",thin,block=4096"] {
        check(40, || (crate::volumes::bench::open(&format!("ram:{SIZE}B{options}")), quick()));
    }
}

#[test]
fn files() {
    let folder = tempfile::tempdir().expect("a directory");
    for options in ["", ",thin", ",block=4096,thin", ",block=4096,write-through"] {
        for ring in [true, false] {
            let path = folder.path().join("data");
            check(8, || {
                let _ = std::fs::remove_file(&path);
                let text = format!("file:{},size={SIZE}B{options}", path.display());
                (crate::volumes::bench::open(&text), IoConfig { ring, ..quick() })
            });
        }
    }
}

#[test]
fn a_file_through_the_page_cache() {
    // Offsets of 512 bytes are none for direct I/O on a device with blocks of 4096.
    let folder = tempfile::tempdir_in("/dev/shm").expect("a directory in memory");
    let path = folder.path().join("data");
    check(8, || {
        let _ = std::fs::remove_file(&path);
        let text = format!("file:{},size={SIZE}B,thin", path.display());
        (crate::volumes::bench::open(&text), quick())
    });
}

#[test]
fn devices() {
    let folder = tempfile::tempdir().expect("a directory");
    for block in [512, 4096] {
        let path = folder.path().join(format!("image-{block}"));
        std::fs::File::create(&path).and_then(|f| f.set_len(SIZE)).expect("a file");
        let Some(device) = Loop::over(&path, block) else { return };
        let token = token(&device.0);
        check(8, || {
            let zero = std::fs::OpenOptions::new().write(true).open(&device.0).expect("a device");
            std::os::unix::fs::FileExt::write_all_at(&zero, &vec![0; SIZE as usize], 0)
                .expect("zeros");
            drop(zero);
            let text = format!("block:{},block={block},write-token={token},thin", device.0);
            (crate::volumes::bench::open(&text), quick())
        });
    }
}
