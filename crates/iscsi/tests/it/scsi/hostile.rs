//! The invariants of the device server hold for any input: see `invariants`.

use iscsi::scsi::Device;
use proptest::prelude::*;

use crate::scsi::invariants;
use crate::scsi::rig::{LARGE, READ_ONLY, Rig, THICK, THIN};

const LUNS: [u64; 6] = [THIN, THICK, READ_ONLY, LARGE, 0xc101 << 48, 7 << 48];

/// Mostly the known operation codes, sometimes others.
fn cdb() -> impl Strategy<Value = [u8; 16]> {
    let known: Vec<u8> = (0x00..=0x5f).chain(0x83..=0xb7).collect();
    let opcode = prop_oneof![9 => proptest::sample::select(known), 1 => any::<u8>()];
    let sparse = prop_oneof![3 => Just(0_u8), 1 => any::<u8>(), 1 => 0..0x20_u8];
    (opcode, proptest::collection::vec(sparse, 15)).prop_map(|(opcode, rest)| {
        let mut cdb = [0; 16];
        cdb[0] = opcode;
        cdb[1..].copy_from_slice(&rest);
        cdb
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold(
        calls in proptest::collection::vec(
            (0..LUNS.len(), any::<bool>(), cdb(), 0..5000_u32, proptest::collection::vec(any::<u8>(), 0..128)),
            1..80,
        ),
    ) {
        let rig = Rig::new();
        let device: &Device = &rig.device;
        for (lun, first, cdb, expected, bytes) in calls {
            let nexus = if first { &rig.a } else { &rig.b };
            invariants::hold(device, LUNS[lun], nexus, &cdb, expected, &bytes);
        }
    }
}
