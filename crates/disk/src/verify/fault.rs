//! A block that is not what it must be: what kind of fault it is, and what was found instead.
//!
//! The kinds, and how they differ:
//!
//! | kind | the block holds |
//! |---|---|
//! | lost | the generation before the one that was acknowledged, never read: the write never arrived |
//! | stale | a generation that is older still, or an older one although the newest had been read: the past came back |
//! | torn | one part of a write and not the other, within the block or among the blocks of one write |
//! | misplaced | a whole block that belongs to another address or another target |
//! | corrupt | the right block with flipped bits or a damaged stretch |
//! | foreign | nothing that was ever written here: zeros, another program's data, another run's block |

use super::block::{self, BlockHeader, BlockReading, HEADER, KNOWN};
use super::word::{Age, BlockWord, DOUBT_MAX, back};
use clock::Ns;

/// Bits in which a block may differ from what it should be and still count as that block with flipped bits.
const FLIPPED_MAX: u32 = 16;

/// Bytes that must be equal at one end of a block before they say anything: fewer are equal by chance.
const PART_MIN: usize = 8;

/// Generations before the oldest acceptable one with which a broken block is compared.
const PAST: u32 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FaultKind {
    Lost,
    Stale,
    Torn,
    Misplaced,
    Corrupt,
    Foreign,
}

impl FaultKind {
    pub const ALL: [FaultKind; 6] = [
        FaultKind::Lost,
        FaultKind::Stale,
        FaultKind::Torn,
        FaultKind::Misplaced,
        FaultKind::Corrupt,
        FaultKind::Foreign,
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockContent {
    /// A whole verified block.
    Whole(BlockHeader),
    /// The first bytes of one generation and the last of another; `None`: unknown.
    Parts { at: u32, head: Option<u32>, tail: Option<u32> },
    /// A generation with so many flipped bits, the first of them in this byte.
    Flipped { generation: u32, bits: u32, byte: u32 },
    /// A generation of which these bytes are something else.
    Damaged { generation: u32, from: u32, to: u32 },
    /// A generation whose content is right and whose header or checksum is not.
    Header { generation: u32 },
    /// Nothing but zeros.
    Zeros,
    /// Something that no verified block looks like.
    Unrecognized,
}

/// One fault, as it leaves the data plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VerifyFault {
    /// When it was seen, on the monotonic clock.
    pub at: Ns,
    /// Index into the examiner's targets, and the byte offset of the block.
    pub target: u16,
    pub offset: u64,
    pub kind: FaultKind,
    /// What was known of the block.
    pub expected: BlockWord,
    pub found: BlockContent,
    /// The checksum that the block carries, and the one that its bytes have.
    pub stored_sum: u32,
    pub sum: u32,
}

/// The block in question, and what surrounds it.
pub(crate) struct BlockContext<'a> {
    /// The target's identity and logical block.
    pub id: u64,
    pub block: u32,
    /// The block's address, and what is known of it.
    pub offset: u64,
    pub word: BlockWord,
    /// Only what was flushed is known for certain.
    pub at_least: bool,
    /// The read that it is a part of.
    pub read: &'a [u8],
    pub read_at: u64,
    /// Identities of the other targets that are verified at the same time.
    pub others: &'a [u64],
}

impl BlockContext<'_> {
    /// What is wrong with `data`, a block that is not what it must be. `scratch` is as long as a block.
    pub fn classify(&self, data: &[u8], scratch: &mut [u8]) -> (FaultKind, BlockContent) {
        match BlockReading::of(data) {
            BlockReading::Whole(header) => {
                (self.classify_whole(&header), BlockContent::Whole(header))
            }
            BlockReading::Broken => self.classify_broken(data, scratch),
        }
    }

    /// How a generation relates to what the block may hold.
    pub fn age(&self, generation: u32) -> Age {
        if self.at_least { self.word.age_at_least(generation) } else { self.word.age(generation) }
    }

    fn classify_whole(&self, header: &BlockHeader) -> FaultKind {
        if self.others.contains(&header.id)
            || (header.id == self.id && header.offset != self.offset)
        {
            return FaultKind::Misplaced;
        }
        if header.id != self.id {
            return self.missed();
        }
        match self.age(header.generation) {
            Age::Older(_) if self.word.is_seen() => FaultKind::Stale,
            Age::Older(1) if self.is_torn_from_a_neighbour(Some(header)) => FaultKind::Torn,
            Age::Older(1) => FaultKind::Lost,
            Age::Older(_) => FaultKind::Stale,
            Age::Fits | Age::Unissued => FaultKind::Foreign,
        }
    }

    /// The block holds nothing of ours: perhaps because its only write never came.
    fn missed(&self) -> FaultKind {
        match self.word {
            word if word.oldest() > 1 || word.is_seen() => FaultKind::Foreign,
            _ if self.is_torn_from_a_neighbour(None) => FaultKind::Torn,
            _ => FaultKind::Lost,
        }
    }

    /// Whether another block of the same read proves that a write which covered this one came, and came in part: it
    /// belongs to a write that covered this block too and is newer than what is here.
    fn is_torn_from_a_neighbour(&self, found: Option<&BlockHeader>) -> bool {
        let here = found.map_or(0, |header| header.written);
        let places = (0..).map(|i| self.read_at + i * u64::from(self.block));
        self.read.chunks_exact(self.block as usize).zip(places).any(|(data, at)| {
            if at == self.offset {
                return false;
            }
            let BlockReading::Whole(other) = BlockReading::of(data) else { return false };
            let is_there = other.id == self.id && other.offset == at;
            is_there && other.written > here && other.extent(self.block).contains(&self.offset)
        })
    }

    fn classify_broken(&self, data: &[u8], scratch: &mut [u8]) -> (FaultKind, BlockContent) {
        if data.iter().all(|byte| *byte == 0) {
            return (self.missed(), BlockContent::Zeros);
        }
        let mut best: Option<Likeness> = None;
        let mut head = GenerationReach::default();
        let mut tail = GenerationReach::default();
        for generation in self.candidates(data) {
            block::content(self.id, self.offset, generation, scratch);
            let likeness = Likeness::of(generation, &data[HEADER..], &scratch[HEADER..]);
            head.take(likeness.prefix, generation);
            tail.take(likeness.suffix, generation);
            if best.as_ref().is_none_or(|b| likeness.bytes < b.bytes) {
                best = Some(likeness);
            }
        }
        let Some(best) = best else { return (self.missed(), BlockContent::Unrecognized) };
        let length = data.len() - HEADER;
        if best.bytes == 0 {
            return self.judge_header(data, best.generation, scratch);
        }
        let parts = |at: usize, head: Option<&GenerationReach>, tail: Option<&GenerationReach>| {
            let generation = |reach: &GenerationReach| reach.generation;
            let (head, tail) = (head.map(generation), tail.map(generation));
            (FaultKind::Torn, BlockContent::Parts { at: (HEADER + at) as u32, head, tail })
        };
        let Likeness { generation, bits, prefix, suffix, .. } = best;
        let explained = head.bytes + tail.bytes >= length && head.generation != tail.generation;
        if explained && head.bytes >= PART_MIN && tail.bytes >= PART_MIN {
            parts(head.bytes, Some(&head), Some(&tail))
        } else if bits <= FLIPPED_MAX {
            (
                FaultKind::Corrupt,
                BlockContent::Flipped { generation, bits, byte: (HEADER + prefix) as u32 },
            )
        } else if head.bytes >= PART_MIN && tail.bytes < PART_MIN {
            parts(head.bytes, Some(&head), None)
        } else if tail.bytes >= PART_MIN && head.bytes < PART_MIN {
            parts(length - tail.bytes, None, Some(&tail))
        } else if prefix >= PART_MIN {
            let (from, to) = ((HEADER + prefix) as u32, (data.len() - suffix) as u32);
            (FaultKind::Corrupt, BlockContent::Damaged { generation, from, to })
        } else {
            (self.missed(), BlockContent::Unrecognized)
        }
    }

    /// The content is that of a generation, so it is the header that is not: it came without its content, or is damaged.
    fn judge_header(
        &self,
        data: &[u8],
        generation: u32,
        scratch: &mut [u8],
    ) -> (FaultKind, BlockContent) {
        let claimed = BlockHeader::parse(data);
        let issued = !matches!(self.age(claimed.generation), Age::Unissued);
        if claimed.generation != generation && issued {
            // Its checksum is right for the content that its header names, if nothing else is wrong.
            block::content(self.id, self.offset, claimed.generation, scratch);
            scratch[..HEADER].copy_from_slice(&data[..HEADER]);
            if matches!(BlockReading::of(scratch), BlockReading::Whole(_)) {
                let (head, tail) = (Some(claimed.generation), Some(generation));
                return (FaultKind::Torn, BlockContent::Parts { at: HEADER as u32, head, tail });
            }
        }
        let right = BlockHeader { generation, id: self.id, offset: self.offset, ..claimed };
        let mut bytes = [0; HEADER];
        right.write_fields(&mut bytes);
        let wrong = |range: std::ops::Range<usize>| {
            range.map(|i| (data[i] ^ bytes[i]).count_ones()).sum::<u32>()
        };
        match wrong(KNOWN) {
            0 => (FaultKind::Corrupt, BlockContent::Header { generation }),
            bits => {
                let byte = KNOWN.clone().find(|i| data[*i] != bytes[*i]).unwrap_or(KNOWN.start);
                (FaultKind::Corrupt, BlockContent::Flipped { generation, bits, byte: byte as u32 })
            }
        }
    }

    /// Generations that a broken block may be from: possible ones, a few before them, and the one in its header.
    fn candidates(&self, data: &[u8]) -> impl Iterator<Item = u32> + use<> {
        let (word, claimed) = (self.word, BlockHeader::parse(data).generation);
        let acceptable = (0..).map(move |i| back(word.newest(), i));
        let until = back(word.oldest(), PAST);
        let known =
            acceptable.take_while(move |g| *g != until).take((1 + DOUBT_MAX + PAST) as usize);
        let known = known.filter(move |_| !word.is_unwritten());
        let claimed = Some(claimed).filter(|g| word.age(*g) != Age::Unissued);
        known.chain(claimed)
    }
}

/// The longest stretch from one end that a generation explains.
#[derive(Default)]
struct GenerationReach {
    bytes: usize,
    generation: u32,
}

impl GenerationReach {
    fn take(&mut self, bytes: usize, generation: u32) {
        if bytes > self.bytes {
            *self = GenerationReach { bytes, generation };
        }
    }
}

/// How far some content is that of a generation.
struct Likeness {
    generation: u32,
    /// Equal bytes from the start and from the end.
    prefix: usize,
    suffix: usize,
    /// Different bytes and bits.
    bytes: usize,
    bits: u32,
}

impl Likeness {
    fn of(generation: u32, found: &[u8], expected: &[u8]) -> Likeness {
        let pairs = || found.iter().zip(expected);
        let different = || pairs().filter(|(a, b)| a != b);
        Likeness {
            generation,
            prefix: pairs().take_while(|(a, b)| a == b).count(),
            suffix: pairs().rev().take_while(|(a, b)| a == b).count(),
            bytes: different().count(),
            bits: different().map(|(a, b)| (a ^ b).count_ones()).sum(),
        }
    }
}
