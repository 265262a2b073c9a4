//! The command descriptor blocks that an initiator of block devices sends (SPC-4, SBC-3).

/// A command descriptor block of up to 16 bytes, zero-padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cdb(pub [u8; 16]);

impl Cdb {
    /// Builds a CDB from the bytes of a shorter command.
    pub const fn of<const N: usize>(bytes: [u8; N]) -> Cdb {
        const { assert!(N <= 16) };
        let mut cdb = [0; 16];
        let mut n = 0;
        while n < N {
            cdb[n] = bytes[n];
            n += 1;
        }
        Cdb(cdb)
    }

    /// TEST UNIT READY.
    pub const TEST_UNIT_READY: Cdb = Cdb([0; 16]);

    /// Standard INQUIRY data.
    pub const fn inquiry(len: u16) -> Cdb {
        let [high, low] = len.to_be_bytes();
        Cdb::of([0x12, 0, 0, high, low, 0])
    }

    /// A page of vital product data.
    pub const fn vital(page: u8, len: u16) -> Cdb {
        let [high, low] = len.to_be_bytes();
        Cdb::of([0x12, 1, page, high, low, 0])
    }

    /// READ CAPACITY (10): 8 bytes.
    pub const READ_CAPACITY_10: Cdb = Cdb::of([0x25]);

    /// READ CAPACITY (16).
    pub const fn read_capacity_16(len: u32) -> Cdb {
        let [a, b, c, d] = len.to_be_bytes();
        Cdb::of([0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d, 0, 0])
    }

    /// REPORT LUNS: all of them.
    pub const fn report_luns(len: u32) -> Cdb {
        let [a, b, c, d] = len.to_be_bytes();
        Cdb::of([0xa0, 0, 0, 0, 0, 0, a, b, c, d, 0, 0])
    }

    /// MODE SENSE (6): the current values of a mode page, without block descriptors.
    pub const fn mode_sense_6(page: u8, len: u8) -> Cdb {
        Cdb::of([0x1a, 0x08, page, 0, len, 0])
    }

    /// PERSISTENT RESERVE IN.
    pub const fn persistent_reserve_in(action: u8, len: u16) -> Cdb {
        let [high, low] = len.to_be_bytes();
        Cdb::of([0x5e, action, 0, 0, 0, 0, 0, high, low, 0])
    }

    /// PERSISTENT RESERVE OUT with a parameter list of 24 bytes.
    pub const fn persistent_reserve_out(action: u8, kind: u8) -> Cdb {
        Cdb::of([0x5f, action, kind, 0, 0, 0, 0, 0, 24, 0])
    }

    /// REPORT TARGET PORT GROUPS, without an extended header.
    pub const fn report_target_port_groups(len: u32) -> Cdb {
        let [a, b, c, d] = len.to_be_bytes();
        Cdb::of([0xa3, 0x0a, 0, 0, 0, 0, a, b, c, d, 0, 0])
    }

    /// SYNCHRONIZE CACHE (10) of the whole unit.
    pub const SYNCHRONIZE: Cdb = Cdb::of([0x35]);

    /// READ of `blocks` blocks from `lba`: READ (10) if that suffices, otherwise READ (16).
    #[inline]
    pub fn read(lba: u64, blocks: u32) -> Cdb {
        Cdb::transfer(0x28, 0x88, lba, blocks)
    }

    /// WRITE of `blocks` blocks to `lba`: WRITE (10) if that suffices, otherwise WRITE (16).
    #[inline]
    pub fn write(lba: u64, blocks: u32) -> Cdb {
        Cdb::transfer(0x2a, 0x8a, lba, blocks)
    }

    /// The same write with FUA: it ends once the blocks are on the medium.
    #[inline]
    pub const fn forced(mut self) -> Cdb {
        self.0[1] |= 0x08;
        self
    }

    /// UNMAP with a parameter list of one descriptor, [`unmap_list`].
    pub const UNMAP: Cdb = Cdb::of([0x42, 0, 0, 0, 0, 0, 0, 0, UNMAP_LIST as u8, 0]);

    /// WRITE SAME (16) of `blocks` blocks. With `unmap` they are deallocated; with `no_data` (NDOB) the block to be repeated
    /// is one of zeroes and is not sent.
    pub fn write_same(lba: u64, blocks: u32, unmap: bool, no_data: bool) -> Cdb {
        let mut cdb = [0; 16];
        (cdb[0], cdb[1]) = (0x93, u8::from(unmap) << 3 | u8::from(no_data));
        cdb[2..10].copy_from_slice(&lba.to_be_bytes());
        cdb[10..14].copy_from_slice(&blocks.to_be_bytes());
        Cdb(cdb)
    }

    /// REPORT SUPPORTED OPERATION CODES: one operation code.
    pub const fn supported_command(opcode: u8, len: u32) -> Cdb {
        let [a, b, c, d] = len.to_be_bytes();
        Cdb::of([0xa3, 0x0c, 1, opcode, 0, 0, a, b, c, d, 0, 0])
    }

    #[inline]
    fn transfer(short: u8, long: u8, lba: u64, blocks: u32) -> Cdb {
        let mut cdb = [0; 16];
        match (u32::try_from(lba), u16::try_from(blocks)) {
            (Ok(lba), Ok(blocks)) => {
                cdb[0] = short;
                cdb[2..6].copy_from_slice(&lba.to_be_bytes());
                cdb[7..9].copy_from_slice(&blocks.to_be_bytes());
            }
            _ => {
                cdb[0] = long;
                cdb[2..10].copy_from_slice(&lba.to_be_bytes());
                cdb[10..14].copy_from_slice(&blocks.to_be_bytes());
            }
        }
        Cdb(cdb)
    }
}

/// Bytes of a parameter list of UNMAP with one descriptor.
pub const UNMAP_LIST: usize = 24;

/// The parameter list of UNMAP for `blocks` blocks from `lba`.
pub fn unmap_list(lba: u64, blocks: u32) -> [u8; UNMAP_LIST] {
    let mut list = [0; UNMAP_LIST];
    // The length of what follows these two bytes, and of the descriptors.
    (list[1], list[3]) = (UNMAP_LIST as u8 - 2, 16);
    list[8..16].copy_from_slice(&lba.to_be_bytes());
    list[16..20].copy_from_slice(&blocks.to_be_bytes());
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SBC-3, tables 78, 79 and 109.
    #[test]
    fn what_moves_no_data_is_as_the_standard_has_it() {
        assert_eq!(Cdb::UNMAP, Cdb::of([0x42, 0, 0, 0, 0, 0, 0, 0, 24, 0]));
        let list = [0, 22, 0, 16, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0x10, 0, 0, 0, 0, 0];
        assert_eq!(unmap_list(0x1_0203_0405, 0x1000), list);
        let same = [0x93, 9, 0, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0x10, 0, 0, 0];
        assert_eq!(Cdb::write_same(0x1_0203_0405, 0x1000, true, true), Cdb(same));
        assert_eq!(Cdb::write_same(0, 1, false, false).0[..2], [0x93, 0]);
    }

    #[test]
    fn transfers_use_the_shortest_cdb() {
        let short = [0x28, 0, 0x12, 0x34, 0x56, 0x78, 0, 0xff, 0xff, 0];
        assert_eq!(Cdb::read(0x1234_5678, 0xffff), Cdb::of(short));
        let long = [0x8a, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0];
        assert_eq!(Cdb::write(1 << 32, 8), Cdb::of(long));
        let forced = [0x2a, 8, 0, 0, 0, 1, 0, 0, 2, 0];
        assert_eq!(Cdb::write(1, 2).forced(), Cdb::of(forced));
        assert_eq!(Cdb::read(0, 0x1_0000).0[..14], [0x88, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]);
    }
}
