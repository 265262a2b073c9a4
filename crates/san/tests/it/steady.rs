//! A queue over a session's sockets allocates nothing in steady state, whatever its blocks, its depth and its connections.
//! What the target's threads do is not counted: only the thread of the queue.

use crate::prelude::*;
use allocation_counter::{AllocationInfo, measure};
use disk::{Arena, Completions, Io, RemoteAccess, Resolver};

const NAME: &str = "iqn.2026-11.example.wirespeed:steady";
const SIZE: u64 = 4 << 20;

/// I/Os before it counts, and then.
const BEFORE: u32 = 2000;
const COUNTED: u32 = 4000;

/// Reads at a depth, in blocks of `len`.
#[track_caller]
fn check(target: &TargetServer, len: u32, depth: u32, options: &str) {
    let url = format!("iscsi://{}/{NAME}/0{options}", target.addresses()[0]);
    let initiator = Initiator::named("iqn.2026-11.example.wirespeed:tests");
    let lun = initiator.find(&url, None).expect("it is there");
    let opener = initiator.opener(vec![RemoteAccess::Read(lun)]).expect("a LUN");
    let arena = Arena::new(depth, len).expect("memory");
    let mut queue = opener.open(&arena).expect("it lets us in");
    let mut batch = Vec::with_capacity(depth as usize);
    let mut done = Completions::with_capacity(depth as usize);
    batch.extend((0..depth).map(|slot| read(slot, slot, len)));
    let mut nth = 0;
    let mut carry = |ios: u32| {
        let until = nth + ios;
        while nth < until {
            assert_eq!(queue.submit(&batch), batch.len());
            batch.clear();
            queue.reap(1, clock::now().plus(Ns::secs(20)), &mut done);
            assert!(!done.is_empty(), "nothing came for too long");
            for completion in done.drain(..) {
                assert_eq!(completion.result, Ok(len));
                nth += 1;
                batch.push(read(completion.slot, nth * 7, len));
            }
        }
    };
    carry(BEFORE);
    let calls = measure(|| carry(COUNTED));
    assert_eq!(calls, AllocationInfo::default(), "{len} B, depth {depth}, {options:?}");
}

fn read(slot: u32, nth: u32, len: u32) -> Io {
    let offset = u64::from(nth) * u64::from(len) % (SIZE - u64::from(len)) / 512 * 512;
    Io { fua: false, slot, dir: Dir::Read, target: 0, offset, len }
}

#[test]
fn nothing_is_allocated_in_steady_state() {
    let volume = Volume::open(&"ram:4MiB".parse().expect("a volume"), "serial").expect("room");
    let portal = PortalConfig::new("127.0.0.1:0".parse().expect("an address"));
    let target = TargetServer::start(TargetSettings::new(NAME, vec![portal], vec![volume]));
    let target = target.expect("it starts");
    check(&target, 8192, 32, "");
    check(&target, 512, 256, "");
    check(&target, 128 << 10, 8, "");
    check(&target, 4096, 64, "?connections=4");
    check(&target, 4096, 16, "?header_digest=crc32c&data_digest=crc32c");
    target.stop().expect("it stops");
}
