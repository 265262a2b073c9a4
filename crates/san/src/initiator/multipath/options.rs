//! Multipath options of a URL: the path policy, and how long an I/O waits while no path is usable.

use clock::Ns;
use std::fmt;
use std::num::NonZeroU64;
use units::{Bytes, parse_duration};

/// How long an I/O waits for a path where there are several, unless the URL says otherwise.
const WAIT: Ns = Ns::secs(30);

/// The longest time that a URL can name.
const LONGEST: Ns = Ns::secs(24 * 3600);

/// The shortest time after which a silent path or a command is given up: every hiccup would be taken for a failure.
const LIMIT_MIN: Ns = Ns::millis(200);

/// Which path carries an I/O. Whatever it says, a path in a better access state (ALUA) goes before one in a worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathPolicy {
    /// The first of the URL's portals that can be used; I/O goes back to it as soon as it can be used again.
    Fixed,
    /// Each in turn, for as many I/Os or bytes as the URL says.
    #[default]
    RoundRobin,
    /// The one with the fewest commands under way.
    LeastQueue,
    /// One at a time: the one in use, until it fails. I/O stays with the path that it went to.
    ActivePassive,
}

/// All policies, as URLs name them.
const POLICIES: [(&str, PathPolicy); 4] = [
    ("fixed", PathPolicy::Fixed),
    ("round-robin", PathPolicy::RoundRobin),
    ("least-queue", PathPolicy::LeastQueue),
    ("active-passive", PathPolicy::ActivePassive),
];

/// After how much it is another path's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathSwitchAfter {
    /// So many I/Os.
    Ios(NonZeroU64),
    /// So many bytes, or one I/O where it is longer.
    Bytes(NonZeroU64),
}

impl Default for PathSwitchAfter {
    fn default() -> PathSwitchAfter {
        PathSwitchAfter::Ios(NonZeroU64::MIN)
    }
}

/// How the paths to a LUN are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathOptions {
    /// Which path carries an I/O.
    pub policy: PathPolicy,
    /// When it is another's turn, in turns.
    pub switch_after: PathSwitchAfter,
    /// How long an I/O waits while no path can carry it; `None`: as long as is usual for so many paths.
    pub no_path_retry: Option<Ns>,
    /// The silence with commands under way after which a path is lost; `None`: the initiator's.
    pub path_timeout: Option<Ns>,
    /// How long a command may take before it is aborted; `None`: the initiator's limit.
    pub command_timeout: Option<Ns>,
}

impl PathOptions {
    /// The names of its options, for messages.
    pub(in crate::initiator) const NAMES: &str =
        "`policy`, `switch_after`, `no_path_retry`, `path_timeout` and `command_timeout`";

    /// How long an I/O waits while none of so many paths can carry it. The only path of a LUN is not waited for unless the
    /// URL says so: where there is no other, a failure tells more than a wait.
    pub fn wait(&self, paths: usize) -> Ns {
        self.no_path_retry.unwrap_or(if paths > 1 { WAIT } else { Ns::ZERO })
    }

    /// Takes in an option; `None` where it is none of these.
    pub(in crate::initiator) fn set(
        &mut self,
        name: &str,
        value: &str,
    ) -> Option<Result<(), String>> {
        let taken = match name {
            "policy" => policy(value).map(|policy| self.policy = policy),
            "switch_after" => switch_after(value).map(|after| self.switch_after = after),
            "no_path_retry" => time(name, value).map(|time| self.no_path_retry = Some(time)),
            "path_timeout" => limit(name, value).map(|time| self.path_timeout = Some(time)),
            "command_timeout" => limit(name, value).map(|time| self.command_timeout = Some(time)),
            _ => return None,
        };
        Some(taken)
    }
}

fn policy(value: &str) -> Result<PathPolicy, String> {
    let known = POLICIES.iter().find(|(name, _)| *name == value);
    known.map(|(_, policy)| *policy).ok_or_else(|| {
        let near = POLICIES
            .iter()
            .map(|(name, _)| (strsim::damerau_levenshtein(name, value), name))
            .min()
            .filter(|(distance, _)| *distance <= 3);
        let meant = near.map_or(String::new(), |(_, name)| format!("; did you mean `{name}`?"));
        format!(
            "`policy` is `fixed`, `round-robin`, `least-queue` or `active-passive`, not `{value}`{meant}"
        )
    })
}

fn switch_after(value: &str) -> Result<PathSwitchAfter, String> {
    let plain = value.bytes().all(|byte| byte.is_ascii_digit());
    let number = if plain { value.parse().ok() } else { Bytes::parse(value).ok().map(|b| b.0) };
    match number.and_then(NonZeroU64::new) {
        Some(ios) if plain => Ok(PathSwitchAfter::Ios(ios)),
        Some(bytes) => Ok(PathSwitchAfter::Bytes(bytes)),
        None => Err(format!(
            "`switch_after` is a number of I/Os, as in `8`, or a size, as in `1MiB`, not `{value}`"
        )),
    }
}

fn time(name: &str, value: &str) -> Result<Ns, String> {
    let wrong = || format!("`{name}` is a time up to 24h, as in `30s` or `0s`, not `{value}`");
    let time = parse_duration(value).map_err(|_| wrong())?;
    let time = u64::try_from(time.as_nanos()).map(Ns).map_err(|_| wrong())?;
    if time > LONGEST { Err(wrong()) } else { Ok(time) }
}

impl fmt::Display for PathPolicy {
    /// As URLs name it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = POLICIES.iter().find(|(_, policy)| policy == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

/// A time that is long enough to be judged by.
fn limit(name: &str, value: &str) -> Result<Ns, String> {
    match time(name, value)? {
        time if time < LIMIT_MIN => Err(format!("`{name}` is at least 200ms, not `{value}`")),
        time => Ok(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, value: &str, wanted: PathOptions) {
        let mut options = PathOptions::default();
        assert_eq!(options.set(name, value), Some(Ok(())), "{name}={value}");
        assert_eq!(options, wanted);
    }

    fn number(n: u64) -> NonZeroU64 {
        NonZeroU64::new(n).expect("not zero")
    }

    #[test]
    fn options_are_read() {
        let none = PathOptions::default();
        for (name, policy) in POLICIES {
            check("policy", name, PathOptions { policy, ..none });
            assert_eq!(policy.to_string(), name);
        }
        let after = |switch_after| PathOptions { switch_after, ..none };
        check("switch_after", "8", after(PathSwitchAfter::Ios(number(8))));
        check("switch_after", "1MiB", after(PathSwitchAfter::Bytes(number(1 << 20))));
        check("no_path_retry", "0s", PathOptions { no_path_retry: Some(Ns::ZERO), ..none });
        check("path_timeout", "2s", PathOptions { path_timeout: Some(Ns::secs(2)), ..none });
        assert_eq!(PathOptions::default().set("depth", "1"), None);
    }

    #[test]
    fn errors_say_what_is_valid() {
        for (name, value, problem) in [
            ("policy", "roundrobin", "did you mean `round-robin`?"),
            ("policy", "", "is `fixed`, `round-robin`"),
            ("switch_after", "0", "a number of I/Os"),
            ("switch_after", "", "a number of I/Os"),
            ("switch_after", "99999999999999999999", "a number of I/Os"),
            ("switch_after", "1 parsec", "a number of I/Os"),
            ("no_path_retry", "30", "as in `30s`"),
            ("no_path_retry", "25h", "up to 24h"),
            ("path_timeout", "10ms", "at least 200ms"),
            ("command_timeout", "0s", "at least 200ms"),
        ] {
            let told = PathOptions::default().set(name, value).expect("known").expect_err(value);
            assert!(told.contains(problem) && told.contains(name), "{told}");
        }
    }

    #[test]
    fn only_where_there_are_several_paths_one_is_waited_for() {
        let plain = PathOptions::default();
        assert_eq!((plain.wait(1), plain.wait(2)), (Ns::ZERO, WAIT));
        let said = PathOptions { no_path_retry: Some(Ns::secs(1)), ..plain };
        assert_eq!((said.wait(1), said.wait(2)), (Ns::secs(1), Ns::secs(1)));
    }
}
