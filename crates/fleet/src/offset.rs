//! Clock offsets between the coordinator and its agents.
//!
//! Each end of a conversation knows its own monotonic clock. Moments cross in the agent's: the coordinator, which alone
//! knows both, translates the epoch and every moment that it names to an agent, and what an agent says of its clock back.
//! What an agent reports is counted from the epoch that it was given, so that intervals, counters and events need no
//! translation. An offset is fixed for a step: were the epoch and the step's moments translated by different offsets, cuts
//! would not lie at whole seconds.

use clock::Ns;
use std::collections::BTreeMap;

/// By how much an agent's clock may run faster or slower than the coordinator's, as a share of a million. Quartz stays within
/// 100; a virtual machine that calibrated its clock on a busy processor needs more.
const DRIFT_PPM: u64 = 1_000;

/// Bounds that are kept for the drift; where there are more, of each two neighbours the tighter stays.
const MARKS_MAX: usize = 64;

/// For how long a clock is watched before its drift is said.
const DRIFT_AFTER: Ns = Ns::secs(5);

/// Questions that may be open at a time; an older one's answer is not waited for any more.
const OPEN_MAX: usize = 16;

/// What a coordinator knows of an agent's clock beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentClock {
    /// The offset.
    Known(ClockOffset),
    /// Nothing: it is measured by exchanges, for as long as the conversation lasts.
    Measured,
}

/// An agent's clock relative to the coordinator's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// By how many nanoseconds it is ahead; negative where it is behind.
    pub ahead_ns: i64,
    /// By how much this may be wrong, either way.
    pub within: Ns,
}

impl ClockOffset {
    /// Both ends read the same clock: threads and processes of one machine.
    pub const SAME: ClockOffset = ClockOffset { ahead_ns: 0, within: Ns::ZERO };

    /// A moment of the coordinator's clock, on the agent's.
    #[must_use]
    pub fn to_theirs(self, ours: Ns) -> Ns {
        Ns(ours.0.saturating_add_signed(self.ahead_ns))
    }

    /// Whether the agent's clock may have shown `theirs` between these moments of the coordinator's.
    pub fn may_show(self, theirs: Ns, after: Ns, before: Ns) -> bool {
        let (first, last) = (self.to_theirs(after), self.to_theirs(before));
        first.since(self.within) <= theirs && theirs <= last.plus(self.within)
    }
}

/// By how much an agent's clock runs faster than the coordinator's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockDrift {
    /// In millionths; negative where it runs slower.
    pub ppm: f64,
    /// By how much this may be wrong, either way.
    pub within_ppm: f64,
}

/// Between what an answer showed the offset to be.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: Ns,
    least: i64,
    most: i64,
}

impl Mark {
    fn width(&self) -> i64 {
        self.most - self.least
    }
}

/// Measures an offset by exchanges: the agent's clock was read between the question and the arrival of the answer.
///
/// Each answer bounds the offset from both sides, however long its way took. The bounds of the last answers widen by
/// [`DRIFT_PPM`] as they age, and are intersected with those of each new one.
#[derive(Debug, Default)]
pub(crate) struct OffsetMeter {
    next: u64,
    /// Questions without an answer yet, and when each was asked.
    open: BTreeMap<u64, Ns>,
    /// The least and the most that the clock was ahead, and when.
    bounds: Option<(i64, i64, Ns)>,
    answers: u64,
    /// The tightest bounds of each span of time since the clock last stepped, for the drift.
    marks: Vec<Mark>,
    /// The length of these spans.
    span: Ns,
}

/// What an answer showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockAnswer {
    /// Bounds that agree with those before.
    Agrees,
    /// The clock was set, or stood still, since the answer before: so much it is off what it was, in nanoseconds.
    Stepped(i64),
    /// Nothing: the question is not known.
    Unasked,
}

impl OffsetMeter {
    /// The number of a question that is asked now.
    pub fn ask(&mut self, now: Ns) -> u64 {
        let number = self.next;
        self.next += 1;
        self.open.insert(number, now);
        while self.open.len() > OPEN_MAX {
            self.open.pop_first();
        }
        number
    }

    /// Takes in an answer that arrives now.
    pub fn answered(&mut self, number: u64, theirs: Ns, now: Ns) -> ClockAnswer {
        let Some(asked) = self.open.remove(&number) else { return ClockAnswer::Unasked };
        // Messages keep their order: an earlier question is not answered any more.
        self.open.retain(|open, _| *open > number);
        self.answers += 1;
        let ahead = |ours: Ns| theirs.0 as i64 - ours.0 as i64;
        let (least, most) = (ahead(now), ahead(asked));
        let (mut bounds, mut answer) = ((least, most, now), ClockAnswer::Agrees);
        if let Some((before_least, before_most)) = self.aged(now) {
            if before_least > most || before_most < least {
                let off =
                    if before_least > most { most - before_least } else { least - before_most };
                answer = ClockAnswer::Stepped(off);
                self.marks.clear();
            } else {
                bounds = (least.max(before_least), most.min(before_most), now);
            }
        }
        self.bounds = Some(bounds);
        self.mark(Mark { at: Ns(asked.0.midpoint(now.0)), least, most });
        answer
    }

    /// Keeps the tightest bounds of each span.
    fn mark(&mut self, mark: Mark) {
        match self.marks.last_mut() {
            Some(last) if mark.at.since(last.at) < self.span => {
                if mark.width() < last.width() {
                    *last = mark;
                }
            }
            _ => self.marks.push(mark),
        }
        if self.marks.len() > MARKS_MAX {
            let tighter = |pair: &[Mark]| pair.iter().min_by_key(|mark| mark.width()).copied();
            self.marks = self.marks.chunks(2).filter_map(tighter).collect();
            self.span = Ns((self.span.0 * 2).max(Ns::secs(1).0));
        }
    }

    /// By how much the clock runs faster: no steeper and no flatter line lies between all bounds. `None` before there is
    /// enough to say, and where no line does.
    pub fn drift(&self) -> Option<ClockDrift> {
        let (first, last) = (self.marks.first()?, self.marks.last()?);
        if last.at.since(first.at) < DRIFT_AFTER {
            return None;
        }
        let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
        for (n, after) in self.marks.iter().enumerate() {
            for before in &self.marks[..n] {
                let time = after.at.since(before.at).0 as f64;
                if time > 0.0 {
                    least = least.max((after.least - before.most) as f64 / time);
                    most = most.min((after.most - before.least) as f64 / time);
                }
            }
        }
        let (ppm, within_ppm) = ((least + most) / 2.0 * 1e6, (most - least) / 2.0 * 1e6);
        (within_ppm >= 0.0 && within_ppm.is_finite()).then_some(ClockDrift { ppm, within_ppm })
    }

    /// Waits for no answer to what was asked so far.
    pub fn forget_open(&mut self) {
        self.open.clear();
    }

    /// Since when a question has been without an answer.
    pub fn waits_since(&self) -> Option<Ns> {
        self.open.first_key_value().map(|(_, asked)| *asked)
    }

    /// Answers so far.
    pub fn answers(&self) -> u64 {
        self.answers
    }

    /// The offset as it is known now.
    pub fn offset(&self, now: Ns) -> Option<ClockOffset> {
        let (least, most) = self.aged(now)?;
        let half = (most - least) / 2;
        Some(ClockOffset { ahead_ns: least + half, within: Ns(half.unsigned_abs() + 1) })
    }

    /// The bounds, as far as they may have moved by now.
    fn aged(&self, now: Ns) -> Option<(i64, i64)> {
        let (least, most, at) = self.bounds?;
        let drift = (now.since(at).0 / 1_000_000 * DRIFT_PPM + DRIFT_PPM) as i64;
        Some((least - drift, most + drift))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanges_bound_an_offset_from_both_sides() {
        let mut meter = OffsetMeter::default();
        assert_eq!(meter.offset(Ns(0)), None);
        // Ahead by 1000 ms; the ways take 3 ms and 5 ms.
        let ms = Ns::millis;
        let number = meter.ask(ms(100));
        assert_eq!(meter.waits_since(), Some(ms(100)));
        assert_eq!(meter.answered(number, ms(1103), ms(108)), ClockAnswer::Agrees);
        assert_eq!(meter.waits_since(), None);
        let found = meter.offset(ms(108)).expect("an offset");
        assert_eq!((found.ahead_ns, found.within.0 / 1_000), (999_000_000, 4_001));
        // A slow answer makes nothing worse, but for the drift; a quick one makes it better.
        let slow = meter.ask(ms(200));
        meter.answered(slow, ms(1250), ms(300));
        assert!(meter.offset(ms(300)).is_some_and(|now| now.within < Ns(4_300_000)));
        let quick = meter.ask(ms(400));
        meter.answered(quick, ms(1400), ms(401));
        let found = meter.offset(ms(401)).expect("an offset");
        assert!(found.within < Ns(510_000) && (found.ahead_ns - 1_000_000_000).abs() < 510_000);
        // What was never asked says nothing.
        assert_eq!(meter.answered(77, ms(0), ms(402)), ClockAnswer::Unasked);
    }

    #[test]
    fn a_clock_that_stood_still_is_noticed() {
        let mut meter = OffsetMeter::default();
        let ms = Ns::millis;
        for (asked, theirs) in [(0, 500), (1000, 1500)] {
            let number = meter.ask(ms(asked));
            assert_eq!(meter.answered(number, ms(theirs), ms(asked + 1)), ClockAnswer::Agrees);
        }
        let number = meter.ask(ms(5000));
        let ClockAnswer::Stepped(off) = meter.answered(number, ms(2500), ms(5001)) else {
            panic!("three seconds were not noticed");
        };
        assert!((-3_000_000_000..-2_900_000_000).contains(&off), "{off}");
        assert!(meter.offset(ms(5001)).is_some_and(|now| now.ahead_ns < -2_499_000_000));
    }

    /// A clock that runs at its own speed, over a way whose delay scatters: the true drift lies within what is said.
    #[test]
    fn a_drift_is_found_within_its_bounds() {
        let mut rng = clock::Rng::keyed(7, &[]);
        for true_ppm in [-80.0, -3.0, 0.0, 12.5, 400.0] {
            let mut meter = OffsetMeter::default();
            let shown = |ours: f64| 5e9 + ours * (1.0 + true_ppm / 1e6);
            let mut known = Vec::new();
            for n in 0..1_200_u64 {
                let asked = n as f64 * 5e8;
                let mut way = || 50e3 + rng.exp(2e6);
                let (there, back) = (way(), way());
                let number = meter.ask(Ns(asked as u64));
                let now = Ns((asked + there + back) as u64);
                let answer = meter.answered(number, Ns(shown(asked + there) as u64), now);
                assert_eq!(answer, ClockAnswer::Agrees, "{true_ppm}");
                if [30, 120, 1_199].contains(&n) {
                    known.push(meter.drift().expect("it was watched for long enough"));
                }
            }
            for one in &known {
                assert!((one.ppm - true_ppm).abs() <= one.within_ppm + 0.01, "{true_ppm}: {one:?}");
            }
            assert!(
                known[2].within_ppm < 2.0 && known[2].within_ppm < known[0].within_ppm,
                "{known:?}"
            );
        }
    }

    /// No line lies between the bounds of a clock that changed its speed: nothing is said.
    #[test]
    fn a_clock_without_one_speed_has_no_drift() {
        let mut meter = OffsetMeter::default();
        for n in 0..600_u64 {
            let asked = Ns::millis(500 * n);
            let fast = 0.0008 * asked.0.saturating_sub(Ns::secs(150).0) as f64;
            let number = meter.ask(asked);
            meter.answered(number, Ns(asked.0 + 100_000 + fast as u64), asked.plus(Ns(200_000)));
        }
        assert_eq!(meter.drift(), None);
    }

    #[test]
    fn moments_cross_by_the_offset() {
        let offset = |ahead_ns| ClockOffset { ahead_ns, within: Ns(3) };
        for (ahead, ours, theirs) in [(0, 7, 7), (5, 7, 12), (-5, 7, 2), (-9, 7, 0)] {
            assert_eq!(offset(ahead).to_theirs(Ns(ours)), Ns(theirs));
        }
        assert_eq!(offset(5).to_theirs(Ns::MAX), Ns::MAX);
    }

    #[test]
    fn clock_readings_are_checked_within_the_bounds() {
        let offset = ClockOffset { ahead_ns: -100, within: Ns(3) };
        for (theirs, may) in [(896, false), (897, true), (900, true), (923, true), (924, false)] {
            assert_eq!(offset.may_show(Ns(theirs), Ns(1000), Ns(1020)), may, "{theirs}");
        }
        assert!(!ClockOffset::SAME.may_show(Ns(5), Ns(10), Ns(20)));
        assert!(!ClockOffset::SAME.may_show(Ns::MAX, Ns(10), Ns(20)));
    }
}
