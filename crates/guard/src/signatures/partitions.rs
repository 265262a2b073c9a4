//! The rows of partition tables and disk labels.

use super::Offset::{At, Before};
use super::{Magic, checks};

/// What is named only where nothing else begins in the same sector.
pub const BOOT_SECTOR: &str = "a boot sector or an empty MBR partition table";

const BOOT_MARK: &[&[u8]] = &[b"\x55\xaa"];

/// In the order in which they are named.
pub const ROWS: &[Magic] = &[
    // The second block, for each size of a logical block, and the last one.
    Magic::new(
        "a GPT partition table",
        &[
            At(512),
            At(1024),
            At(2048),
            At(4096),
            Before { unit: 512, back: 512 },
            Before { unit: 4096, back: 4096 },
        ],
        0,
        &[b"EFI PART"],
    ),
    Magic::new("a protective MBR", &[At(0)], 510, BOOT_MARK).only_if(checks::protective_mbr),
    Magic::new("an MBR partition table", &[At(0)], 510, BOOT_MARK).only_if(checks::mbr),
    Magic::new(BOOT_SECTOR, &[At(0)], 510, BOOT_MARK).only_if(checks::boot_sector),
    Magic::new("an Apple partition map", &[At(512), At(1024), At(2048), At(4096)], 0, &[b"PM\0\0"])
        .only_if(checks::apple_map),
    Magic::new(
        "a BSD disklabel",
        &[At(0), At(64), At(128), At(512), At(4096)],
        0,
        &[b"\x57\x45\x56\x82", b"\x82\x56\x45\x57"],
    )
    .only_if(checks::bsd_label),
    Magic::new("a Sun disk label", &[At(0)], 508, &[b"\xda\xbe"]).only_if(checks::sun_label),
    Magic::new("a Solaris x86 partition table", &[At(512)], 12, &[b"\xee\xde\x0d\x60"]),
    Magic::new("an SGI disk label", &[At(0)], 0, &[b"\x0b\xe5\xa9\x41"]),
    Magic::new("an AIX disk label", &[At(0)], 0, &[b"\xc9\xc2\xd4\xc1"]),
    Magic::new("an Amiga rigid disk block", &[At(0)], 0, &[b"RDSK"]).every(512, 15),
    // "VOL1", "LNX1" and "CMS1" in EBCDIC.
    Magic::new(
        "a DASD volume label",
        &[At(512), At(8192)],
        0,
        &[b"\xe5\xd6\xd3\xf1", b"\xd3\xd5\xe7\xf1", b"\xc3\xd4\xe2\xf1"],
    ),
    // The first copy, the last one, and the one before the database at the end of the disk is closed. The volume manager
    // of Windows comes from Veritas and shares its header, which lies anywhere in the first sectors there.
    Magic::new("a private region of Windows LDM or Veritas VxVM", &[At(0)], 0, &[b"PRIVHEAD"])
        .every(512, 511),
    Magic::new(
        "a private region of Windows LDM or Veritas VxVM",
        &[Before { unit: 512, back: 512 }, Before { unit: 512, back: (2048 - 1856) * 512 }],
        0,
        &[b"PRIVHEAD"],
    ),
];
