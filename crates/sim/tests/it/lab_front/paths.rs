//! Several paths: the effect of policies, and of a path failure.

use super::rig::{Rig, Ways};
use super::{fibre, figure, lab, near};
use scenario::{Policy, SwitchAfter};
use workload::Dir::Read;

const TWO: Ways = &[(
    "vm1",
    &[
        "vm1.cpu vm1.scsi0 vm1.disk0 esx.cpu esx.hba.a/1 esx.hba esx.hba:0 esx.hba:0-a a:0",
        "vm1.cpu vm1.scsi0 vm1.disk0 esx.cpu esx.hba.a/1 esx.hba esx.hba:1 esx.hba:1-a a:1",
    ],
)];

/// An 8Gb port is twice a 4Gb port; two ports by turns are twice one.
#[test]
fn twice_the_speed_and_twice_the_ports() {
    let figures = [figure("port_rate", "4gfc"), figure("lun_queue", "64")].concat();
    let lab = lab("4gfc", &figures, "");
    let block = 65_536;
    let loads = [(0, Read, block, 60)];
    let run = |policy| Rig { lab: &lab, ways: TWO, policy, loads: &loads, ..Rig::default() }.run();
    let fixed = run(Policy::Fixed);
    near("one of two", fixed.rate(0, block), 413.3, 0.01);
    assert_eq!(fixed.wires("esx.hba:1"), (0.0, 0.0));
    for ios in [1, 10] {
        let seen = run(Policy::RoundRobin(SwitchAfter::Ios(ios)));
        near("by turns", seen.rate(0, block), 826.5, 0.02);
        near("evenly", seen.wires("esx.hba:0").0, seen.wires("esx.hba:1").0, 0.03);
    }
    near("the shorter queue", run(Policy::LeastQueue).rate(0, block), 826.5, 0.02);
}

/// I/Os leave a failed path for one that is up, and return when it recovers; without another path, everything waits for
/// it.
#[test]
fn failed_paths_are_avoided() {
    let lab = fibre("4gfc");
    let loads = [(0, Read, 65_536, 16)];
    let run = |what, back| {
        let failure = Some((what, 0, back));
        Rig { lab: &lab, ways: TWO, loads: &loads, failure, ..Rig::default() }.run()
    };
    for what in ["esx.hba:0", "esx.hba:0-a", "a:0"] {
        let seen = run(what, 100_000);
        assert_eq!(seen.wires("esx.hba:0").0, 0.0, "{what}");
        near(what, seen.rate(0, 65_536), 413.3, 0.02);
        let seen = run(what, 100);
        assert_eq!(seen.wires("esx.hba:1").0, 0.0, "{what}");
        near(what, seen.rate(0, 65_536), 413.3, 0.02);
    }
    assert_eq!(run("esx.hba", 100_000).iops(0), 0.0, "both paths go through the adapter");
}
