//! Moments as other programs write them, in UTC: an export must not depend on where it is made.

const DAY_S: u64 = 86_400;
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// The Unix epoch was a Thursday.
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// A moment, from nanoseconds since the Unix epoch.
pub(crate) struct Civil {
    year: u64,
    /// From 0.
    month: usize,
    /// From 1.
    day: u64,
    second: u64,
    millisecond: u64,
    weekday: usize,
}

impl Civil {
    pub fn of(wall_ns: u64) -> Civil {
        let seconds = wall_ns / 1_000_000_000;
        let mut days = seconds / DAY_S;
        let weekday = (days % 7) as usize;
        let mut year = 1970;
        while days >= days_of(year) {
            days -= days_of(year);
            year += 1;
        }
        let mut month = 0;
        while days >= length(month, year) {
            days -= length(month, year);
            month += 1;
        }
        let millisecond = wall_ns / 1_000_000 % 1000;
        Civil { year, month, day: days + 1, second: seconds % DAY_S, millisecond, weekday }
    }

    fn clock(&self) -> (u64, u64, u64) {
        (self.second / 3600, self.second / 60 % 60, self.second % 60)
    }

    /// `Sat Nov 21 08:16:28 2026`, as `ctime` writes it.
    pub fn ctime(&self) -> String {
        let (h, m, s) = self.clock();
        let (weekday, month) = (WEEKDAYS[self.weekday], MONTHS[self.month]);
        format!("{weekday} {month} {:2} {h:02}:{m:02}:{s:02} {}", self.day, self.year)
    }

    /// `2026-11-21T08:16:28`, as ISO 8601 has it.
    pub fn iso(&self) -> String {
        let (h, m, s) = self.clock();
        format!("{:04}-{:02}-{:02}T{h:02}:{m:02}:{s:02}", self.year, self.month + 1, self.day)
    }

    /// `2026-11-21 08:16:28:725`, as Iometer writes it.
    pub fn iometer(&self) -> String {
        let (h, m, s) = self.clock();
        let date = format!("{:04}-{:02}-{:02}", self.year, self.month + 1, self.day);
        format!("{date} {h:02}:{m:02}:{s:02}:{:03}", self.millisecond)
    }
}

fn leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of(year: u64) -> u64 {
    365 + u64::from(leap(year))
}

fn length(month: usize, year: u64) -> u64 {
    match month {
        1 => 28 + u64::from(leap(year)),
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let check = |seconds: u64, ctime: &str, iometer: &str| {
            let civil = Civil::of(seconds * 1_000_000_000 + 725_999_999);
            assert_eq!((&civil.ctime()[..], &civil.iometer()[..]), (ctime, iometer));
        };
        check(0, "Thu Jan  1 00:00:00 1970", "1970-01-01 00:00:00:725");
        check(951_782_400, "Tue Feb 29 00:00:00 2000", "2000-02-29 00:00:00:725");
        check(1_795_248_988, "Sat Nov 21 08:16:28 2026", "2026-11-21 08:16:28:725");
        check(4_107_542_399, "Sun Feb 28 23:59:59 2100", "2100-02-28 23:59:59:725");
        check(4_107_542_400, "Mon Mar  1 00:00:00 2100", "2100-03-01 00:00:00:725");
        assert_eq!(Civil::of(u64::MAX).year, 2554);
    }
}
