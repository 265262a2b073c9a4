//! Arbitrary commands in any order: no panic, no byte beyond the room, no cartridge lost or doubled.

use crate::invariants::hold;
use crate::rig::{Rig, nexus};
use iscsi::scsi::PassedCommand;
use proptest::prelude::*;
use tape::Library;

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_command_breaks_a_library(
        calls in prop::collection::vec(
            (0..3_usize, any::<prop::sample::Index>(), any::<[u8; 16]>(), any::<u8>(), 0..4000_u32),
            1..60,
        ),
        data in prop::collection::vec(any::<u8>(), 4000),
    ) {
        let rig = Rig::loaded();
        for (unit, which, bytes, thin, length) in calls {
            let specs = Library::commands(unit);
            let spec = &specs[which.index(specs.len())];
            // Only bits that the command evaluates, and seldom high ones, so that most commands are executed.
            let mut cdb: [u8; 16] = std::array::from_fn(|at| bytes[at] & spec.usage[at]);
            if thin & 3 != 0 {
                cdb.iter_mut().skip(2).for_each(|byte| *byte &= 0x0f);
            }
            (cdb[0], cdb[1]) = (spec.opcode, spec.action.unwrap_or(cdb[1] & !0x10));
            let (data_in, data_out) = if spec.sends { (0, length) } else { (length, 0) };
            let command = PassedCommand { cdb, nexus: nexus(thin & 1), data_in, data_out };
            hold(&rig.library, unit, &command, &data[..data_out as usize]);
        }
    }
}
