//! The system's clocks. No other module of Wirespeed reads them.

#![allow(clippy::disallowed_methods, reason = "the one place where clocks are read")]

use crate::Ns;

/// CPU time in user and kernel mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In user mode.
    pub user: Ns,
    /// In the kernel on behalf of this thread or process.
    pub system: Ns,
}

impl CpuTime {
    /// The CPU time used since `earlier`.
    pub fn since(self, earlier: CpuTime) -> CpuTime {
        CpuTime { user: self.user.since(earlier.user), system: self.system.since(earlier.system) }
    }
}

/// Monotonic time. Costs about 20 ns (no system call if the vDSO provides it).
#[inline]
pub fn now() -> Ns {
    Ns(read(libc::CLOCK_MONOTONIC))
}

/// Wall-clock time in nanoseconds since the Unix epoch, for provenance only: it may jump.
pub fn wall_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// CPU time of the calling thread; a system call.
pub fn thread_cpu() -> CpuTime {
    usage(libc::RUSAGE_THREAD)
}

/// CPU time of the calling thread up to this moment, which [`thread_cpu`] may know late; a system call.
pub fn thread_time() -> Ns {
    Ns(read(libc::CLOCK_THREAD_CPUTIME_ID))
}

/// CPU time of the whole process; a system call.
pub fn process_cpu() -> CpuTime {
    usage(libc::RUSAGE_SELF)
}

/// Time that the machine was suspended since it started, which [`now`] does not count.
pub fn suspended() -> Ns {
    let monotonic = read(libc::CLOCK_MONOTONIC);
    Ns(read(libc::CLOCK_BOOTTIME).saturating_sub(monotonic))
}

/// What keeps the wall clock, as the kernel knows it: chrony, ntpd and timesyncd tell it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Discipline {
    /// Something keeps it, and says so.
    pub synchronized: bool,
    /// The most by which it may be wrong.
    pub error_max: Ns,
    /// By how many millionths it is made faster.
    pub frequency_ppm: f64,
}

/// What keeps the wall clock; `None` where the kernel does not say.
pub fn discipline() -> Option<Discipline> {
    // SAFETY: an all-zero timex asks and changes nothing, and adjtimex fills it.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: `state` is writable.
    let clock = unsafe { libc::adjtimex(&mut state) };
    let synchronized = state.status & libc::STA_UNSYNC == 0 && clock != libc::TIME_ERROR;
    (clock >= 0).then(|| Discipline {
        synchronized,
        error_max: Ns(u64::try_from(state.maxerror).unwrap_or(0) * 1_000),
        // In units of 2^-16 ppm.
        frequency_ppm: state.freq as f64 / 65_536.0,
    })
}

/// Sleeps until the monotonic clock has reached `at`; returns at once if it already has.
pub fn sleep_until(at: Ns) {
    let spec = libc::timespec {
        tv_sec: (at.0 / 1_000_000_000) as libc::time_t,
        tv_nsec: (at.0 % 1_000_000_000) as libc::c_long,
    };
    loop {
        // SAFETY: `spec` is a valid timespec; an absolute sleep needs no remainder.
        let rc = unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_MONOTONIC,
                libc::TIMER_ABSTIME,
                &spec,
                std::ptr::null_mut(),
            )
        };
        if rc != libc::EINTR {
            return;
        }
    }
}

fn read(id: libc::clockid_t) -> u64 {
    let mut spec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `spec` is writable; the clocks used here exist on every Linux.
    let rc = unsafe { libc::clock_gettime(id, &mut spec) };
    debug_assert_eq!(rc, 0);
    spec.tv_sec as u64 * 1_000_000_000 + spec.tv_nsec as u64
}

fn usage(who: libc::c_int) -> CpuTime {
    // SAFETY: an all-zero rusage is valid, and getrusage fills it.
    let mut ru: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `ru` is writable and `who` is one of the constants above.
    let rc = unsafe { libc::getrusage(who, &mut ru) };
    debug_assert_eq!(rc, 0);
    let ns = |t: libc::timeval| Ns(t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000);
    CpuTime { user: ns(ru.ru_utime), system: ns(ru.ru_stime) }
}
