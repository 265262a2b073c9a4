//! Checks that distinguish structures with the same magic, and a short magic from chance. Each check sees the first
//! bytes of a structure and follows nothing in it.

use super::HEAD;

type Head = [u8; HEAD];

fn array<const N: usize>(head: &Head, at: usize) -> [u8; N] {
    std::array::from_fn(|i| head[at + i])
}

fn le16(head: &Head, at: usize) -> u16 {
    u16::from_le_bytes(array(head, at))
}

fn le32(head: &Head, at: usize) -> u32 {
    u32::from_le_bytes(array(head, at))
}

fn be16(head: &Head, at: usize) -> u16 {
    u16::from_be_bytes(array(head, at))
}

fn be32(head: &Head, at: usize) -> u32 {
    u32::from_be_bytes(array(head, at))
}

/// The four entries of an MBR: type, or `None` for an entry that no partitioning tool writes.
fn mbr_types(head: &Head) -> [Option<u8>; 4] {
    std::array::from_fn(|i| {
        let at = 446 + 16 * i;
        let (status, kind) = (head[at], head[at + 4]);
        let (start, sectors) = (le32(head, at + 8), le32(head, at + 12));
        let empty = kind == 0 && start == 0 && sectors == 0;
        let used = kind != 0 && start != 0 && sectors != 0;
        (matches!(status, 0 | 0x80) && (empty || used)).then_some(kind)
    })
}

/// Every entry makes sense, and at least one is used for more than to keep tools that know no GPT away.
pub fn mbr(head: &Head) -> bool {
    let types = mbr_types(head);
    types.iter().all(Option::is_some) && types.iter().flatten().any(|t| !matches!(*t, 0 | PROTECTS))
}

/// The only used entries say that a GPT covers the disk.
pub fn protective_mbr(head: &Head) -> bool {
    let types = mbr_types(head);
    types.contains(&Some(PROTECTS)) && types.iter().all(|t| matches!(t, Some(0 | PROTECTS)))
}

/// Neither of these: boot code, or a table without entries.
pub fn boot_sector(head: &Head) -> bool {
    !mbr(head) && !protective_mbr(head)
}

/// The partition type that covers a disk with a GPT.
const PROTECTS: u8 = 0xee;

/// The map's own entries say how many there are.
pub fn apple_map(head: &Head) -> bool {
    (1..=4096).contains(&be32(head, 4))
}

/// The label bears its mark twice.
pub fn bsd_label(head: &Head) -> bool {
    array::<4>(head, 132) == array::<4>(head, 0)
}

/// All of the label's words cancel out.
pub fn sun_label(head: &Head) -> bool {
    (0..256).fold(0, |sum, i| sum ^ be16(head, 2 * i)) == 0
}

/// Features of an ext superblock that a reader must know, that a writer must know, and that one may ignore.
struct Ext {
    needed: u32,
    to_write: u32,
    other: u32,
}

/// None where the superblock makes no sense: no blocks, blocks beyond 64 KiB, an unknown revision.
fn ext(head: &Head) -> Option<Ext> {
    let sane = le32(head, 4) != 0 && le32(head, 24) <= 6 && le32(head, 76) <= 1;
    sane.then(|| Ext { needed: le32(head, 96), to_write: le32(head, 100), other: le32(head, 92) })
}

impl Ext {
    const OTHER_JOURNAL: u32 = 0x4;
    const NEEDED_IS_JOURNAL: u32 = 0x8;
    /// What ext2 and ext3 know: compression, directories with types, recovery, and meta block groups; sparse
    /// superblocks, large files and B-tree directories.
    const OLD_NEEDED: u32 = 0x1 | 0x2 | 0x4 | 0x10;
    const OLD_TO_WRITE: u32 = 0x1 | 0x2 | 0x4;

    fn is_journal(&self) -> bool {
        self.needed & Ext::NEEDED_IS_JOURNAL != 0
    }

    fn is_new(&self) -> bool {
        self.needed & !Ext::OLD_NEEDED != 0 || self.to_write & !Ext::OLD_TO_WRITE != 0
    }

    fn has_journal(&self) -> bool {
        self.other & Ext::OTHER_JOURNAL != 0
    }
}

pub fn ext_journal(head: &Head) -> bool {
    ext(head).is_some_and(|fs| fs.is_journal())
}

pub fn ext4(head: &Head) -> bool {
    ext(head).is_some_and(|fs| !fs.is_journal() && fs.is_new())
}

pub fn ext3(head: &Head) -> bool {
    ext(head).is_some_and(|fs| !fs.is_journal() && !fs.is_new() && fs.has_journal())
}

pub fn ext2(head: &Head) -> bool {
    ext(head).is_some_and(|fs| !fs.is_journal() && !fs.is_new() && !fs.has_journal())
}

/// A record of a log has a version and follows on others.
pub fn xfs_log(head: &Head) -> bool {
    be32(head, 4) != 0 && matches!(be32(head, 8), 1 | 2)
}

/// The width of a FAT's entries in bits. None for a boot sector that describes no FAT.
fn fat_bits(head: &Head) -> Option<u32> {
    let (sector, cluster) = (u32::from(le16(head, 11)), u32::from(head[13]));
    let (reserved, fats) = (u32::from(le16(head, 14)), u32::from(head[16]));
    let jumps = matches!(head[0], 0xeb | 0xe9);
    let shaped =
        sector.is_power_of_two() && (512..=4096).contains(&sector) && cluster.is_power_of_two();
    let kept = reserved != 0 && matches!(fats, 1 | 2) && matches!(head[21], 0xf0 | 0xf8..=0xff);
    if !(jumps && shaped && kept) {
        return None;
    }
    let (roots, short) = (u32::from(le16(head, 17)), u32::from(le16(head, 22)));
    let total = match u32::from(le16(head, 19)) {
        0 => le32(head, 32),
        total => total,
    };
    if short == 0 {
        return (roots == 0 && total != 0 && le32(head, 36) != 0).then_some(32);
    }
    let kept = reserved + fats * short + (32 * roots).div_ceil(sector);
    let clusters = total.checked_sub(kept)? / cluster;
    // The number of clusters alone decides between these two.
    Some(if clusters < 4085 { 12 } else { 16 })
}

pub fn fat12(head: &Head) -> bool {
    fat_bits(head) == Some(12)
}

pub fn fat16(head: &Head) -> bool {
    fat_bits(head) == Some(16)
}

pub fn fat32(head: &Head) -> bool {
    fat_bits(head) == Some(32)
}

/// The version of the format, which GFS and GFS2 count on.
fn gfs_format(head: &Head) -> u32 {
    be32(head, 24)
}

pub fn gfs(head: &Head) -> bool {
    gfs_format(head) < 1800
}

pub fn gfs2(head: &Head) -> bool {
    !gfs(head)
}

/// Both maps have blocks, and zones are as large as blocks. In either byte order a zero is a zero.
pub fn minix(head: &Head) -> bool {
    let [inode_map, zone_map, zone_size] = [4, 6, 10].map(|at| le16(head, at));
    inode_map != 0 && zone_map != 0 && zone_size == 0
}

/// The same for the third version, whose blocks are whole kilobytes.
pub fn minix3(head: &Head) -> bool {
    let [padding, inode_map, zone_map, zone_size] = [4, 6, 8, 12].map(|at| le16(head, at));
    padding == 0 && inode_map != 0 && zone_map != 0 && zone_size == 0
}

/// The revision, and as many bytes under the checksum as fit into the superblock.
pub fn nilfs(head: &Head) -> bool {
    le32(head, 0) == 2 && (64..=1024).contains(&le16(head, 8))
}

/// The bitmap of the volume follows soon, and allocation blocks are whole sectors.
pub fn hfs(head: &Head) -> bool {
    let allocation = be32(head, 20);
    (1..=64).contains(&be16(head, 14)) && allocation != 0 && allocation.is_multiple_of(512)
}

/// The label is of LVM's second format.
pub fn lvm2(head: &Head) -> bool {
    head[24..32] == *b"LVM2 001"
}

/// Version 0 in the byte order of the mark.
pub fn md_0(head: &Head) -> bool {
    le32(head, 4) == 0
}

/// Version 1, which has only one byte order.
pub fn md_1(head: &Head) -> bool {
    le32(head, 4) == 1
}
