//! Processor cycles of threads, where the hardware counts them (perf_event_open(2)). Most virtual machines have no such
//! counters, and a kernel may keep them from users (`kernel.perf_event_paranoid`): then there is no figure, and none is made
//! up of clock rates, which change while one looks.

use std::io;
use std::mem::size_of;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// `struct perf_event_attr` as far as its first version goes (`PERF_ATTR_SIZE_VER0`); zero says nothing.
#[repr(C)]
#[derive(Default)]
struct PerfEventAttr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config_1: u64,
}

/// `linux/perf_event.h`.
const HARDWARE: u32 = 0;
const CPU_CYCLES: u64 = 0;
const TIME_ENABLED_AND_RUNNING: u64 = 1 | 2;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// The cycles of some threads, in user mode and in the kernel, from the moment on at which this was made.
pub(crate) struct Cycles(Vec<OwnedFd>);

impl Cycles {
    /// Counts for these threads of this process; `None` where that cannot be done for all of them.
    pub(crate) fn of(threads: &[i32]) -> Option<Cycles> {
        let counters: io::Result<Vec<OwnedFd>> = threads.iter().map(|id| open(*id)).collect();
        counters.ok().filter(|counters| !counters.is_empty()).map(Cycles)
    }

    /// All of them together so far. What a shared counter did not see is made up in proportion to the time.
    pub(crate) fn total(&self) -> Option<u64> {
        self.0.iter().try_fold(0u64, |sum, counter| {
            let mut bytes = [0u8; 24];
            let got = rustix::io::read(counter, &mut bytes).ok()?;
            (got == bytes.len()).then(|| sum.saturating_add(scaled(&bytes)))
        })
    }
}

/// The count, the time for which it was wanted, and the time for which the hardware had room for it.
fn scaled(bytes: &[u8; 24]) -> u64 {
    let [count, wanted, had] =
        [0, 8, 16].map(|at| u128::from(u64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]))));
    u64::try_from((count * wanted).checked_div(had).unwrap_or(0)).unwrap_or(u64::MAX)
}

fn open(thread: i32) -> io::Result<OwnedFd> {
    let attributes = PerfEventAttr {
        kind: HARDWARE,
        size: size_of::<PerfEventAttr>() as u32,
        config: CPU_CYCLES,
        read_format: TIME_ENABLED_AND_RUNNING,
        flags: EXCLUDE_HYPERVISOR,
        ..PerfEventAttr::default()
    };
    let (any_processor, no_group): (libc::c_int, libc::c_int) = (-1, -1);
    // SAFETY: the attributes are readable for the size that they tell, and outlive the call.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            thread,
            any_processor,
            no_group,
            CLOSE_ON_EXEC,
        )
    };
    let fd = RawFd::try_from(fd).map_err(io::Error::other)?;
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just handed out this descriptor, to us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Where the kernel names a hardware's counters, or does not.
    const COUNTERS: [&str; 2] =
        ["/sys/bus/event_source/devices/cpu", "/sys/bus/event_source/devices/cpu_core"];

    #[test]
    fn cycles_are_told_only_where_hardware_counts_them() {
        let me = rustix::thread::gettid().as_raw_nonzero().get();
        let cycles = Cycles::of(&[me]);
        if !COUNTERS.iter().any(|path| Path::new(path).exists()) {
            assert!(cycles.is_none(), "nothing here can count them");
            assert!(open(me).is_err());
        }
        // Counters may be there and not be ours to read.
        if let Some(cycles) = cycles {
            let before = cycles.total().expect("it counts");
            let mut rng = clock::Rng::keyed(1, &[]);
            (0..100_000).for_each(|_| {
                rng.next_u64();
            });
            assert!(cycles.total().expect("it counts") > before);
        }
        assert!(Cycles::of(&[]).is_none(), "no thread, no figure");
        assert!(Cycles::of(&[me, -7]).is_none(), "all of them or none");
    }

    #[test]
    fn a_shared_counter_is_scaled() {
        let told = |three: [u64; 3]| {
            let bytes: Vec<u8> = three.iter().flat_map(|n| n.to_ne_bytes()).collect();
            scaled(&bytes.try_into().expect("three numbers"))
        };
        assert_eq!(told([600, 10, 10]), 600);
        assert_eq!(told([600, 10, 5]), 1_200);
        assert_eq!(told([0, 10, 0]), 0, "it never ran");
        assert_eq!(told([u64::MAX, u64::MAX, 1]), u64::MAX);
    }
}
