//! Signatures on a medium: partition tables, file systems, and labels of volume managers, arrays and encryption.
//!
//! One table (`table.rs`, `partitions.rs`) lists each known signature, its offset and its magic. Nothing is parsed
//! beyond what distinguishes a signature from chance, and no structure is followed. Magics and offsets follow the
//! published descriptions of the formats. Media without a signature (such as a VeraCrypt volume, which looks like
//! noise) are left to the samples.

mod checks;
mod partitions;
mod table;

#[cfg(test)]
mod examples;
#[cfg(test)]
mod real;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use examples::ExampleMedium;

use crate::ReadableMedium;
use std::collections::BTreeMap;
use std::fmt;
use std::io;

/// Something known that a medium carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    /// With its article: "an XFS file system".
    pub name: &'static str,
    /// Where its structure begins, in bytes from the start of the medium.
    pub offset: u64,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.name, self.offset)
    }
}

/// Everything known that a medium carries, each thing once, with the first place where it was seen. A medium that ends
/// before a place does not carry what would be there; a place that cannot be read is an error, which names it.
pub(crate) fn signatures(medium: &dyn ReadableMedium) -> io::Result<Vec<Signature>> {
    let mut pages = PageCache::new(medium);
    let mut found: Vec<Signature> = Vec::new();
    for row in rows() {
        if found.iter().any(|known| known.name == row.name) {
            continue;
        }
        if let Some(offset) = row.find(&mut pages)? {
            found.push(Signature { name: row.name, offset });
        }
    }
    if !found.iter().any(|known| known.name == table::XFS)
        && let Some(offset) = xfs_copy(&mut pages)?
    {
        found.push(Signature { name: table::XFS, offset });
    }
    // The boot code of a file system ends in the same mark: it is no thing of its own.
    if found.iter().any(|one| one.offset == 0 && one.name != partitions::BOOT_SECTOR) {
        found.retain(|one| one.name != partitions::BOOT_SECTOR);
    }
    Ok(found)
}

/// The second superblock of an XFS file system whose first one is lost. Each allocation group begins with one; their size
/// stands in the superblock alone, so that the sizes are tried that `mkfs.xfs` divides a medium into.
fn xfs_copy(pages: &mut PageCache) -> io::Result<Option<u64>> {
    let size = pages.medium.size();
    let groups = |block: u64| {
        let blocks = size / block;
        (2..=64_u64).map(move |groups| blocks.div_ceil(groups) * block)
    };
    let sizes = [4096, 1024, 512, 65536].into_iter().flat_map(groups);
    // The largest that there are, and what groups have by default on stripes of disks.
    let large = [1_u64 << 40, (1 << 40) - 4096, 1 << 32, 1 << 30];
    let mut all: Vec<u64> = sizes.chain(large).filter(|at| at + 512 <= size && *at > 0).collect();
    all.sort_unstable();
    all.dedup();
    for at in all {
        let mut mark = [0; 4];
        if pages.read(at, &mut mark)? == mark.len() && mark == *b"XFSB" {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

fn rows() -> impl Iterator<Item = &'static Magic> {
    partitions::ROWS.iter().chain(table::ROWS)
}

/// Where a structure may begin.
#[derive(Clone, Copy, Debug)]
enum Offset {
    /// Bytes from the start.
    At(u64),
    /// `back` bytes before the end, which is first rounded down to a multiple of `unit`.
    Before { unit: u64, back: u64 },
}

impl Offset {
    /// Bytes from the start of a medium of `size` bytes. None where it is too short.
    fn on(self, size: u64) -> Option<u64> {
        match self {
            Offset::At(at) => (at < size).then_some(at),
            Offset::Before { unit, back } => (size - size % unit).checked_sub(back),
        }
    }
}

/// One known thing.
struct Magic {
    name: &'static str,
    /// Where its structure may begin, copies included.
    places: &'static [Offset],
    /// It may also begin at each of so many further multiples of so many bytes after a place.
    steps: (u64, u64),
    /// Where in the structure the mark lies.
    at: usize,
    /// The marks that it may bear.
    magics: &'static [&'static [u8]],
    /// Tells the structure from one that bears the same mark, or a short mark from chance. It sees the structure's first
    /// [`HEAD`] bytes, with zeros where the medium ends before.
    is: fn(&[u8; HEAD]) -> bool,
}

/// What a check sees of a structure.
const HEAD: usize = 4096;

impl Magic {
    const fn new(
        name: &'static str,
        places: &'static [Offset],
        at: usize,
        magics: &'static [&'static [u8]],
    ) -> Magic {
        Magic { name, places, steps: (0, 0), at, magics, is: |_| true }
    }

    const fn every(mut self, step: u64, further: u64) -> Magic {
        self.steps = (step, further);
        self
    }

    const fn only_if(mut self, is: fn(&[u8; HEAD]) -> bool) -> Magic {
        self.is = is;
        self
    }

    fn find(&self, pages: &mut PageCache) -> io::Result<Option<u64>> {
        for place in self.places {
            let Some(first) = place.on(pages.medium.size()) else { continue };
            for base in (0..=self.steps.1).map(|n| first.saturating_add(n * self.steps.0)) {
                if self.is_at(base, pages)? {
                    return Ok(Some(base));
                }
            }
        }
        Ok(None)
    }

    fn is_at(&self, base: u64, pages: &mut PageCache) -> io::Result<bool> {
        let mut mark = [0; 32];
        let there = pages.read(base.saturating_add(self.at as u64), &mut mark)?;
        if !self.magics.iter().any(|magic| mark[..there].starts_with(magic)) {
            return Ok(false);
        }
        let mut head = [0; HEAD];
        pages.read(base, &mut head)?;
        Ok((self.is)(&head))
    }
}

/// A medium's pages, each read once.
struct PageCache<'a> {
    medium: &'a dyn ReadableMedium,
    read: BTreeMap<u64, Vec<u8>>,
}

/// Bytes that are read at once.
const PAGE: u64 = 4096;

impl<'a> PageCache<'a> {
    fn new(medium: &'a dyn ReadableMedium) -> PageCache<'a> {
        PageCache { medium, read: BTreeMap::new() }
    }

    /// Reads what there is at `offset` of as much as `out` takes, and says how much that is.
    fn read(&mut self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        let there = self.medium.size().saturating_sub(offset).min(out.len() as u64) as usize;
        let mut done = 0;
        while done < there {
            let at = offset + done as u64;
            let rest = &self.page(at / PAGE)?[(at % PAGE) as usize..];
            let n = rest.len().min(there - done);
            out[done..done + n].copy_from_slice(&rest[..n]);
            done += n;
        }
        Ok(there)
    }

    /// A page that begins before the medium's end.
    fn page(&mut self, number: u64) -> io::Result<&[u8]> {
        let at = number * PAGE;
        let page = match self.read.entry(number) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                let mut page = vec![0; (self.medium.size() - at).min(PAGE) as usize];
                let told = |e: io::Error| io::Error::new(e.kind(), format!("byte {at}: {e}"));
                self.medium.read_at(at, &mut page).map_err(told)?;
                place.insert(page)
            }
        };
        Ok(page)
    }
}
