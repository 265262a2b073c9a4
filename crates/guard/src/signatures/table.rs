//! The rows of file systems, and of what holds them: volume managers, arrays, caches, encryption, cluster storage.

use super::Offset::{At, Before};
use super::{Magic, Offset, checks};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

const START: &[Offset] = &[At(0)];
const KIB_1: &[Offset] = &[At(KIB)];
const KIB_64: &[Offset] = &[At(64 * KIB)];

/// The last ten bytes of the first page, for each size of a page.
const SWAP: &[Offset] =
    &[At(4 * KIB - 10), At(8 * KIB - 10), At(16 * KIB - 10), At(32 * KIB - 10), At(64 * KIB - 10)];

/// The first superblock, and the second for blocks of 1, 2 and 4 KiB.
const EXT: &[Offset] = &[At(KIB), At(8193 * KIB), At(32 * MIB), At(128 * MIB)];
const EXT_MARK: &[&[u8]] = &[b"\x53\xef"];

/// The boot sector, and its copy where a FAT32 keeps one.
const FAT: &[Offset] = &[At(0), At(6 * 512), At(6 * 4096)];
const FAT_MARK: &[&[u8]] = &[b"\x55\xaa"];

const MD_MARK: &[&[u8]] = &[b"\xfc\x4e\x2b\xa9"];

/// What is written first to the log that a swap area becomes while a machine sleeps.
const SLEEPS: &[&[u8]] = &[b"S1SUSPEND", b"S2SUSPEND", b"ULSUSPEND", b"LINHIB0001"];

/// What is looked for in more places than a row has.
pub const XFS: &str = "an XFS file system";

/// In the order in which they are named.
pub const ROWS: &[Magic] = &[
    // File systems of Linux.
    Magic::new("an ext4 file system", EXT, 56, EXT_MARK).only_if(checks::ext4),
    Magic::new("an ext3 file system", EXT, 56, EXT_MARK).only_if(checks::ext3),
    Magic::new("an ext2 file system", EXT, 56, EXT_MARK).only_if(checks::ext2),
    Magic::new("a journal of an ext file system", EXT, 56, EXT_MARK).only_if(checks::ext_journal),
    Magic::new(XFS, START, 0, &[b"XFSB"]),
    Magic::new("an XFS log", START, 0, &[b"\xfe\xed\xba\xbe"])
        .every(512, 511)
        .only_if(checks::xfs_log),
    Magic::new(
        "a Btrfs file system",
        &[At(64 * KIB), At(64 * MIB), At(256 * GIB)],
        64,
        &[b"_BHRfS_M"],
    ),
    Magic::new("an F2FS file system", &[At(KIB), At(5 * KIB)], 0, &[b"\x10\x20\xf5\xf2"]),
    Magic::new(
        "a bcachefs file system",
        &[At(4 * KIB), At(2 * MIB), Before { unit: 512, back: MIB }],
        24,
        &[b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"],
    ),
    Magic::new("a ReiserFS file system", &[At(64 * KIB), At(8 * KIB)], 52, &[b"ReIsEr"]),
    Magic::new("a ReiserFS file system", &[At(8 * KIB)], 20, &[b"ReIsErFs"]),
    Magic::new("a Reiser4 file system", KIB_64, 0, &[b"ReIsEr4"]),
    Magic::new("a JFS file system", &[At(32 * KIB)], 0, &[b"JFS1"]),
    Magic::new(
        "a NILFS2 file system",
        &[At(KIB), Before { unit: 4096, back: 4096 }],
        6,
        &[b"\x34\x34"],
    )
    .only_if(checks::nilfs),
    Magic::new("a squashfs file system", START, 0, &[b"hsqs", b"sqsh"]),
    Magic::new("an EROFS file system", KIB_1, 0, &[b"\xe2\xe1\xf5\xe0"]),
    Magic::new(
        "a cramfs file system",
        &[At(0), At(512)],
        0,
        &[b"\x45\x3d\xcd\x28", b"\x28\xcd\x3d\x45"],
    ),
    Magic::new("a romfs file system", START, 0, &[b"-rom1fs-"]),
    Magic::new(
        "a Minix file system",
        KIB_1,
        16,
        &[
            b"\x7f\x13",
            b"\x8f\x13",
            b"\x13\x7f",
            b"\x13\x8f",
            b"\x68\x24",
            b"\x78\x24",
            b"\x24\x68",
            b"\x24\x78",
        ],
    )
    .only_if(checks::minix),
    Magic::new("a Minix file system", KIB_1, 24, &[b"\x5a\x4d", b"\x4d\x5a"])
        .only_if(checks::minix3),
    Magic::new("Linux swap", SWAP, 0, &[b"SWAP-SPACE", b"SWAPSPACE2"]),
    Magic::new("the image of a suspended machine", SWAP, 0, SLEEPS),
    Magic::new(
        "the image of a suspended machine",
        START,
        0,
        &[b"\xed\xc3\x02\xe9\x98\x56\xe5\x0c"],
    ),
    // File systems of others.
    Magic::new("an NTFS file system", &[At(0), Before { unit: 512, back: 512 }], 3, &[b"NTFS    "]),
    Magic::new("a ReFS file system", START, 0, &[b"\0\0\0ReFS\0"]),
    Magic::new("an exFAT file system", &[At(0), At(12 * 512), At(12 * 4096)], 3, &[b"EXFAT   "]),
    Magic::new("a FAT12 file system", START, 510, FAT_MARK).only_if(checks::fat12),
    Magic::new("a FAT16 file system", START, 510, FAT_MARK).only_if(checks::fat16),
    Magic::new("a FAT32 file system", FAT, 510, FAT_MARK).only_if(checks::fat32),
    Magic::new("an HPFS file system", &[At(8 * KIB)], 0, &[b"\x49\xe8\x95\xf9"]),
    Magic::new("an ISO 9660 file system", &[At(32 * KIB)], 1, &[b"CD001"]),
    Magic::new("a High Sierra file system", &[At(32 * KIB)], 9, &[b"CDROM"]),
    Magic::new("a UDF file system", &[At(32 * KIB)], 1, &[b"NSR02", b"NSR03"]).every(2 * KIB, 15),
    // The copy is in the last sector but one.
    Magic::new("an HFS file system", &[At(KIB), Before { unit: 512, back: KIB }], 0, &[b"BD"])
        .only_if(checks::hfs),
    Magic::new(
        "an HFS+ file system",
        &[At(KIB), Before { unit: 512, back: KIB }],
        0,
        &[b"H+\0\x04", b"HX\0\x05"],
    ),
    Magic::new("an APFS container", START, 32, &[b"NXSB"]),
    Magic::new(
        "a UFS file system",
        &[At(0), At(8 * KIB), At(64 * KIB), At(256 * KIB)],
        1372,
        &[b"\x54\x19\x01\0", b"\0\x01\x19\x54", b"\x19\x01\x54\x19", b"\x19\x54\x01\x19"],
    ),
    // Uberblocks of the four labels. A spare or a cache device has none, but says what it is.
    Magic::new(
        "a member of a ZFS pool",
        &[
            At(128 * KIB),
            At(384 * KIB),
            Before { unit: 256 * KIB, back: 384 * KIB },
            Before { unit: 256 * KIB, back: 128 * KIB },
        ],
        0,
        &[b"\x0c\xb1\xba\0\0\0\0\0", b"\0\0\0\0\0\xba\xb1\x0c"],
    )
    .every(KIB, 127),
    Magic::new(
        "a member of a ZFS pool",
        &[
            At(16 * KIB),
            At(272 * KIB),
            Before { unit: 256 * KIB, back: 496 * KIB },
            Before { unit: 256 * KIB, back: 240 * KIB },
        ],
        20,
        &[b"\0\0\0\x07version\0"],
    ),
    // File systems and volumes of clusters and hypervisors.
    Magic::new("a GFS2 file system", KIB_64, 0, &[b"\x01\x16\x19\x70"]).only_if(checks::gfs2),
    Magic::new("a GFS file system", KIB_64, 0, &[b"\x01\x16\x19\x70"]).only_if(checks::gfs),
    Magic::new(
        "an OCFS2 file system",
        &[At(KIB), At(2 * KIB), At(4 * KIB), At(8 * KIB)],
        0,
        &[b"OCFSV2"],
    ),
    Magic::new("an OCFS file system", START, 8, &[b"OracleCFS"]),
    // The header, and its copy at the end of the second allocation unit, which is 1 to 64 MiB large.
    Magic::new(
        "an Oracle ASM disk",
        &[
            At(0),
            At(2 * MIB - 8 * KIB),
            At(4 * MIB - 8 * KIB),
            At(8 * MIB - 8 * KIB),
            At(16 * MIB - 8 * KIB),
            At(32 * MIB - 8 * KIB),
            At(64 * MIB - 8 * KIB),
            At(128 * MIB - 8 * KIB),
        ],
        32,
        &[b"ORCLDISK"],
    ),
    Magic::new("a volume of VMFS", &[At(MIB)], 0, &[b"\x0d\xd0\x01\xc0"]),
    Magic::new(
        "a VMFS file system",
        &[At(2 * MIB), At(18 * MIB), At(19 * MIB)],
        0,
        &[b"\x5e\xf1\xab\x2f", b"\x5f\xf1\xab\x2f"],
    ),
    Magic::new(
        "a Ceph BlueStore device",
        &[At(0), At(GIB), At(10 * GIB), At(100 * GIB), At(1000 * GIB)],
        0,
        &[b"bluestore block device"],
    ),
    Magic::new(
        "a VxFS file system",
        &[At(KIB), At(8 * KIB)],
        0,
        &[b"\xf5\xfc\x01\xa5", b"\xa5\x01\xfc\xf5"],
    ),
    Magic::new(
        "DRBD metadata",
        &[Before { unit: 4096, back: 4096 }],
        60,
        &[b"\x83\x74\x02\x6b", b"\x83\x74\x02\x6c", b"\x83\x74\x02\x6d"],
    ),
    Magic::new("a disk of a Windows storage pool", START, 0, &[b"SPACEDB "]).every(4 * KIB, 1),
    // Volume managers, arrays and caches.
    Magic::new("an LVM physical volume", START, 0, &[b"LABELONE"])
        .every(512, 3)
        .only_if(checks::lvm2),
    Magic::new("an LVM1 physical volume", START, 0, &[b"HM\x01\0", b"HM\x02\0"]),
    Magic::new(
        "a member of an MD array",
        &[Before { unit: 64 * KIB, back: 64 * KIB }],
        0,
        &[b"\xfc\x4e\x2b\xa9", b"\xa9\x2b\x4e\xfc"],
    )
    .only_if(checks::md_0),
    Magic::new(
        "a member of an MD array",
        &[At(0), At(4 * KIB), Before { unit: 4 * KIB, back: 8 * KIB }],
        0,
        MD_MARK,
    )
    .only_if(checks::md_1),
    Magic::new(
        "a member of an Intel RAID",
        &[Before { unit: 512, back: 1024 }, Before { unit: 4096, back: 8192 }],
        0,
        &[b"Intel Raid ISM Cfg Sig. "],
    ),
    // In the last block; one maker keeps it 256 sectors earlier.
    Magic::new(
        "a member of a DDF RAID",
        &[
            Before { unit: 512, back: 512 },
            Before { unit: 4096, back: 4096 },
            Before { unit: 512, back: 257 * 512 },
        ],
        0,
        &[b"\xde\x11\xde\x11"],
    ),
    Magic::new(
        "a bcache device",
        &[At(4 * KIB)],
        24,
        &[b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"],
    ),
    Magic::new("a VDO device", START, 0, &[b"dmvdo001"]),
    Magic::new(
        "a device of a Stratis pool",
        &[At(512), At(9 * 512)],
        4,
        &[b"!Stra0tis\x86\xff\x02^\x41rh"],
    ),
    Magic::new("a device mapper snapshot", START, 0, &[b"SnAp"]),
    Magic::new("metadata of a thin pool", START, 32, &[&27_022_010_u64.to_le_bytes()]),
    Magic::new("metadata of a device mapper cache", START, 32, &[&0x18_c403_u64.to_le_bytes()]),
    Magic::new("a dm-integrity device", START, 0, &[b"integrt\0"]),
    Magic::new("hashes of dm-verity", START, 0, &[b"verity\0\0"]),
    // Encryption.
    Magic::new("a LUKS1 container", START, 0, &[b"LUKS\xba\xbe\0\x01"]),
    Magic::new("a LUKS2 container", START, 0, &[b"LUKS\xba\xbe\0\x02"]),
    // The second header follows the first, whose size is settled when the container is made.
    Magic::new(
        "a LUKS2 container",
        &[
            At(16 * KIB),
            At(32 * KIB),
            At(64 * KIB),
            At(128 * KIB),
            At(256 * KIB),
            At(512 * KIB),
            At(MIB),
            At(2 * MIB),
            At(4 * MIB),
        ],
        0,
        &[b"SKUL\xba\xbe\0\x02"],
    ),
    Magic::new("a BitLocker volume", START, 3, &[b"-FVE-FS-"]),
    Magic::new(
        "a BitLocker volume",
        START,
        424,
        &[b"\x3b\xd6\x67\x49\x29\x2e\xd8\x4a\x83\x99\xf6\xa3\x39\xe3\xd0\x01"],
    ),
];
