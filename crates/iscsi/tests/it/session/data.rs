//! Data of reads and writes, for every combination of the negotiated parameters.

use iscsi::pdu::{Lun, Residual};
use iscsi::target::SessionParams;

use super::initiator::{Initiator, blocks, pattern};
use super::rig::{BLOCK, Rig, Setup};

/// Writes of several sizes run concurrently; then everything is read back at once and compared with a model.
#[track_caller]
fn check(setup: Setup, grain: usize) {
    let mut rig = Rig::new(setup);
    rig.grain = grain;
    let mut initiator = Initiator::new(&rig);
    let mut model = vec![0; blocks(64)];
    let sizes: [(u32, u16); 5] = [(0, 1), (3, 9), (20, 2), (25, 33), (60, 1)];
    let mut tags = Vec::new();
    for (lba, count) in sizes {
        let data = pattern(blocks(count), lba);
        model[lba as usize * BLOCK..][..data.len()].copy_from_slice(&data);
        tags.push(initiator.write(&mut rig, 0, lba, count, &data));
    }
    initiator.run(&mut rig);
    for tag in tags.drain(..) {
        let end = initiator.outcome(tag);
        assert_eq!((end.status, end.residual), (0, Residual::None), "{setup:?}");
    }
    assert!(rig.memory[&Lun::new(0)].starts_with(&model), "{setup:?}");
    for (lba, count) in [(0, 64), (3, 1), (25, 33)] {
        tags.push(initiator.read(&mut rig, 0, lba, count, blocks(count) as u32));
    }
    initiator.run(&mut rig);
    for ((lba, count), tag) in [(0, 64), (3, 1), (25, 33)].into_iter().zip(tags) {
        let end = initiator.outcome(tag);
        assert_eq!((end.status, end.residual), (0, Residual::None), "{setup:?}");
        assert!(end.data == model[lba * BLOCK..][..blocks(count)], "{setup:?}");
    }
    assert_eq!(rig.session.tasks(), 0, "every place was given back");
    assert!(initiator.is_idle() && rig.events.is_empty(), "{:?}", rig.events);
}

#[test]
fn data_arrives_with_any_parameters() {
    let mut combinations = 0;
    for bits in 0..16 {
        for (first_burst, max_burst) in [(512, 512), (512, 4096), (1500, 5000), (8192, 262_144)] {
            for max_outstanding_r2t in [1, 2, 8] {
                for (max_receive, max_send) in [(512, 8192), (1023, 700), (65536, 65536)] {
                    let session = SessionParams {
                        initial_r2t: bits & 1 != 0,
                        immediate_data: bits & 2 != 0,
                        first_burst,
                        max_burst,
                        max_outstanding_r2t,
                        ..Setup::default().session
                    };
                    let (header_digest, data_digest) = (bits & 4 != 0, bits & 8 != 0);
                    let setup = Setup {
                        session,
                        header_digest,
                        data_digest,
                        max_receive,
                        max_send,
                        ..Setup::default()
                    };
                    check(setup, [usize::MAX, 611][combinations % 2]);
                    combinations += 1;
                }
            }
        }
    }
    assert_eq!(combinations, 16 * 4 * 3 * 3);
}
