//! How far one clock is ahead of another, from the same traffic seen by both.
//!
//! Rates of one file are set against those of the other, shifted by every lag at which enough of both overlaps. Of samples of
//! unlike lengths the finer ones are averaged over the coarser. The evidence of a lag is the logarithm of a likelihood,
//! `-n ln(1 - r²)` with the correlation `r` over `n` samples. Samples are whitened first, by what they have in common with those
//! before them, and errors that are still alike count as fewer. All lags within a bound of the best are plausible: their range
//! is the interval. A lag elsewhere that fits what it overlaps as well makes the answer ambiguous.

/// Samples that both must have.
const LEAST: usize = 24;
/// A traffic whose samples vary by less than this part of their mean is flat.
const FLAT: f64 = 0.05;
/// Correlation and evidence of the best lag, at least.
const CORRELATED: f64 = 0.4;
const EVIDENCE: f64 = 40.0;
/// Lags with less evidence than the best by this much are not plausible; the interval is of those within the second.
const PLAUSIBLE: f64 = 14.0;
const INTERVAL: f64 = 6.63;
/// A further parameter must bring so much evidence: a drift, and a clock that was set.
const DRIFT: f64 = 10.83;
const SET: f64 = 30.0;
/// Samples that are looked at while lags are tried, and lags that are tried at most.
const TRIED: usize = 240;
const LAGS_MAX: usize = 40_000;
/// The largest lag in seconds: the zones of the earth lie up to 26 hours apart.
const FARTHEST: f64 = 26.0 * 3600.0;
/// Stamps are rounded to seconds.
const ROUNDED: f64 = 0.5;
/// A part of a sample that must be covered by the other file.
const COVERED: f64 = 0.9;
/// The share of the samples that must overlap at a lag.
const OVERLAP: f64 = 0.3;
/// Lags of which pairs are tried for a clock that was set, and lags that may be as good as the best.
const PEAKS: usize = 6;
const RIVALS: usize = 12;
/// The most that a clock is thought to drift, in parts of a million.
const DRIFT_MAX: f64 = 5_000.0;

/// Rates of a traffic in the intervals of a file, in seconds of its clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Start, end and rate of each interval, in order and without overlap.
    pub rows: Vec<(f64, f64, f64)>,
}

/// Why no offset is given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refusal {
    /// Too few samples.
    Short,
    /// The traffic hardly changes.
    Flat,
    /// Nothing in one file is like what is in the other.
    Unrelated,
    /// These offsets, in seconds, fit as well as each other.
    Ambiguous(f64, f64),
    /// The second has so many times the traffic of the first: it is not the same, however alike.
    Volumes(f64),
}

/// An offset: what the clock of the second file is ahead of that of the first, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offset {
    /// From this moment of the second clock on; `None` from the beginning.
    pub from: Option<f64>,
    /// At the moment `middle` of the second clock.
    pub seconds: f64,
    /// The least and the greatest that are plausible.
    pub interval: (f64, f64),
    /// What it gains, in parts of a million; 0 where that is not seen.
    pub ppm: f64,
    /// Half of the interval of that.
    pub ppm_error: f64,
    /// The moment in seconds at which the offset is this.
    pub middle: f64,
    /// Correlation at the offset.
    pub correlation: f64,
}

impl Offset {
    /// The offset at a moment of the second clock.
    pub fn at(&self, moment: f64) -> f64 {
        self.seconds + self.ppm * 1e-6 * (moment - self.middle)
    }
}

impl Series {
    /// The length that most samples have.
    fn length(&self) -> f64 {
        let mut all: Vec<f64> = self.rows.iter().map(|(from, to, _)| to - from).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(0.0)
    }

    fn is_flat(&self) -> bool {
        let n = self.rows.len() as f64;
        let mean = self.rows.iter().map(|row| row.2).sum::<f64>() / n;
        let square = self.rows.iter().map(|row| (row.2 - mean).powi(2)).sum::<f64>() / n;
        mean <= 0.0 || square.sqrt() < FLAT * mean
    }

    fn ends(&self) -> (f64, f64) {
        (self.rows.first().map_or(0.0, |row| row.0), self.rows.last().map_or(0.0, |row| row.1))
    }
}

/// What the clock of `second` is ahead of that of `first`: one offset, or two where it was set between.
/// # Errors
/// Why no offset can be given.
pub fn offsets(first: &Series, second: &Series) -> Result<Vec<Offset>, Refusal> {
    // The finer file is averaged over the samples of the coarser.
    let swapped = first.length() > second.length();
    let (fine, coarse) = if swapped { (second, first) } else { (first, second) };
    if fine.rows.len().min(coarse.rows.len()) < LEAST {
        return Err(Refusal::Short);
    }
    if fine.is_flat() || coarse.is_flat() {
        return Err(Refusal::Flat);
    }
    let pair = Pair::of(fine, coarse);
    let (one, peaks) = pair.whole();
    let found = match (pair.set(&peaks, one.as_ref().map_or(0.0, |one| one.1)), one) {
        (Some(two), _) => Ok(two),
        (None, one) => one.map(|one| vec![one.0]),
    };
    let turned = |offset: Offset| Offset {
        from: offset.from.map(|from| from - offset.at(from)),
        seconds: -offset.seconds,
        interval: (-offset.interval.1, -offset.interval.0),
        ppm: -offset.ppm,
        middle: offset.middle - offset.seconds,
        ..offset
    };
    match (swapped, found) {
        (false, found) => found,
        (true, Ok(all)) => Ok(all.into_iter().map(turned).collect()),
        (true, Err(Refusal::Ambiguous(a, b))) => Err(Refusal::Ambiguous(-b, -a)),
        (true, Err(why)) => Err(why),
    }
}

/// Two files of which one is averaged over the samples of the other.
struct Pair {
    /// Edges of the finer file with what had passed, and what time was covered, until then.
    edges: Vec<(f64, f64, f64)>,
    coarse: Vec<(f64, f64, f64)>,
    step: f64,
    length: f64,
    range: (f64, f64),
    middle: f64,
    /// What a sample has in common with the one before it.
    alike: f64,
}

/// What a lag shows.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    count: usize,
    correlation: f64,
    evidence: f64,
}

impl Pair {
    fn of(fine: &Series, coarse: &Series) -> Pair {
        let mut edges = Vec::with_capacity(fine.rows.len() * 2);
        let (mut passed, mut covered) = (0.0, 0.0);
        for (from, to, rate) in &fine.rows {
            edges.push((*from, passed, covered));
            passed += rate * (to - from);
            covered += to - from;
            edges.push((*to, passed, covered));
        }
        let (length, short) = (coarse.length(), fine.length());
        let (a, b) = (fine.ends(), coarse.ends());
        let overlap = OVERLAP * (a.1 - a.0).min(b.1 - b.0);
        let range = ((b.0 - a.1 + overlap).max(-FARTHEST), (b.1 - a.0 - overlap).min(FARTHEST));
        let step = (short / 2.0).max(length / 4.0).max((range.1 - range.0) / LAGS_MAX as f64);
        let values: Vec<f64> = coarse.rows.iter().map(|row| row.2).collect();
        let (coarse, middle) = (coarse.rows.clone(), (b.0 + b.1) / 2.0);
        Pair { edges, coarse, step, length, range, middle, alike: alike(&values) }
    }

    /// What had passed in the finer file until a moment, and the time that was covered.
    fn until(&self, moment: f64) -> (f64, f64) {
        let after = self.edges.partition_point(|edge| edge.0 <= moment);
        let (Some(before), Some(next)) =
            (after.checked_sub(1).map(|at| self.edges[at]), self.edges.get(after))
        else {
            let end = if after == 0 { self.edges.first() } else { self.edges.last() };
            return end.map_or((0.0, 0.0), |edge| (edge.1, edge.2));
        };
        let share = (moment - before.0) / (next.0 - before.0).max(1e-9);
        (before.1 + share * (next.1 - before.1), before.2 + share * (next.2 - before.2))
    }

    /// What the finer file shows of a sample of the coarser one, at an offset and a drift.
    fn mean(&self, row: &(f64, f64, f64), offset: f64, drift: f64) -> Option<f64> {
        let back = |moment: f64| moment - offset - drift * (moment - self.middle);
        let (from, to) = (back(row.0), back(row.1));
        let ((before, dark), (after, light)) = (self.until(from), self.until(to));
        let covered = light - dark;
        (covered >= COVERED * (to - from)).then(|| (after - before) / covered)
    }

    /// Whitened samples of both at an offset.
    fn both(&self, offset: f64, drift: f64, every: usize) -> Vec<(f64, f64)> {
        let mut last: Option<(usize, f64)> = None;
        let pair = |at: usize| {
            let (before, row) = (&self.coarse[at - 1], &self.coarse[at]);
            let now = self.mean(row, offset, drift);
            let then = match last {
                Some((known, mean)) if known + 1 == at => Some(mean),
                _ => now.and_then(|_| self.mean(before, offset, drift)),
            };
            last = now.map(|mean| (at, mean));
            let near = row.0 - before.1 < self.length / 10.0;
            let (now, then) = now.zip(then).filter(|_| near)?;
            Some((now - self.alike * then, row.2 - self.alike * before.2))
        };
        (1..self.coarse.len()).step_by(every).filter_map(pair).collect()
    }

    fn seen(&self, offset: f64, drift: f64, every: usize) -> Seen {
        let all = self.both(offset, drift, every);
        let whole = self.coarse.len().div_ceil(every);
        if (all.len() as f64) < (OVERLAP * whole as f64).max(LEAST as f64 / 2.0) {
            return Seen::default();
        }
        let correlation = correlation(&all).max(0.0);
        let left = (1.0 - correlation * correlation).max(1e-9);
        Seen { count: all.len(), correlation, evidence: -((all.len() * every) as f64) * left.ln() }
    }

    /// The part of the samples that counts, since neighbours err alike.
    fn independent(&self, offset: f64, drift: f64) -> f64 {
        let all = self.both(offset, drift, 1);
        let (x, y, slope) = line(&all);
        let errors: Vec<f64> = all.iter().map(|(a, b)| b - y - slope * (a - x)).collect();
        let alike = alike(&errors);
        (1.0 - alike) / (1.0 + alike)
    }

    /// One offset for the whole time with its evidence, and the lags that stand out.
    fn whole(&self) -> (Result<(Offset, f64), Refusal>, Vec<f64>) {
        let every = self.coarse.len().div_ceil(TRIED);
        let lags = ((self.range.1 - self.range.0) / self.step).max(0.0) as usize + 1;
        let scan = |drift: f64| -> Vec<(f64, Seen)> {
            let lag = |n: usize| self.range.0 + n as f64 * self.step;
            (0..lags).map(|n| (lag(n), self.seen(lag(n), drift, every))).collect()
        };
        let scanned = scan(0.0);
        let peaks = peaks(&scanned, self.length, PEAKS, |seen| seen.evidence);
        let mut found = self.judged(&scanned, 0.0);
        if found.is_err() {
            // A clock that gains or loses several samples hides its own peak.
            let (from, to) = (self.coarse[0].0, self.coarse[self.coarse.len() - 1].1);
            for samples in [2.0, -2.0, 5.0, -5.0] {
                let drift = samples * self.length / (to - from).max(1.0);
                if drift.abs() <= DRIFT_MAX * 1e-6 && found.is_err() {
                    found = self.judged(&scan(drift), drift).or(found);
                }
            }
        }
        (found, peaks)
    }

    /// The best of scanned lags, if no other is as plausible.
    fn judged(&self, scanned: &[(f64, Seen)], drift: f64) -> Result<(Offset, f64), Refusal> {
        let by = |a: &&(f64, Seen), b: &&(f64, Seen)| a.1.evidence.total_cmp(&b.1.evidence);
        let Some((lag, _)) = scanned.iter().max_by(by) else { return Err(Refusal::Short) };
        let (lag, drift) = self.refined(*lag, drift);
        let best = self.seen(lag, drift, 1);
        let independent = self.independent(lag, drift);
        let evidence = best.evidence * independent;
        if best.correlation < CORRELATED || evidence < EVIDENCE {
            return Err(Refusal::Unrelated);
        }
        // What the evidence lacks at another lag, over what both overlap.
        let left = (1.0 - best.correlation * best.correlation).max(1e-9);
        let less = |lag: f64| {
            let seen = self.seen(lag, drift, 1);
            let more = (1.0 - seen.correlation * seen.correlation).max(1e-9) / left;
            if seen.count == 0 {
                f64::INFINITY
            } else {
                seen.count as f64 * independent * more.ln()
            }
        };
        let beside = 1.5 * self.length + 2.0 * self.step;
        let elsewhere = |other: &f64| (other - lag).abs() > beside;
        let rivals = peaks(scanned, self.length, RIVALS, |seen| seen.correlation);
        let rivals = rivals.into_iter().map(|other| self.near(other, drift, self.step).0);
        if let Some(other) = rivals.filter(elsewhere).find(|other| less(*other) < PLAUSIBLE) {
            return Err(Refusal::Ambiguous(lag.min(other), lag.max(other)));
        }
        let edge = |way: f64| {
            let fine = self.length / 64.0;
            let mut steps = 0.0;
            while steps * fine <= beside && less(lag + way * steps * fine) < INTERVAL {
                steps += 1.0;
            }
            way * (steps * fine + ROUNDED)
        };
        let (low, high) = (lag + edge(-1.0), lag + edge(1.0));
        if high - low > 2.0 * beside {
            return Err(Refusal::Ambiguous(low, high));
        }
        let (ppm, ppm_error) = self.drift(lag, drift, independent);
        let offset = Offset {
            from: None,
            seconds: lag,
            interval: (low, high),
            ppm,
            ppm_error,
            middle: self.middle,
            correlation: best.correlation,
        };
        Ok((offset, evidence))
    }

    /// The best lag near one with its evidence.
    fn near(&self, lag: f64, drift: f64, mut step: f64) -> (f64, f64) {
        let mut best = (lag, self.seen(lag, drift, 1).evidence);
        while step > self.length / 128.0 {
            let sides = [best.0 - step, best.0 + step];
            let of = sides.map(|lag| (lag, self.seen(lag, drift, 1).evidence));
            let better = if of[0].1 >= of[1].1 { of[0] } else { of[1] };
            if better.1 > best.1 { best = better } else { step /= 2.0 }
        }
        best
    }

    /// The best lag near one, and the drift where it brings enough.
    fn refined(&self, lag: f64, drift: f64) -> (f64, f64) {
        let plain = self.near(lag, drift, self.step);
        let span = (self.coarse[self.coarse.len() - 1].1 - self.coarse[0].0).max(1.0);
        let mut best = (plain.0, drift, plain.1);
        let mut step = 2.0 * self.length / span;
        while step > self.length / 64.0 / span {
            let sides = [best.1 - step, best.1 + step].map(|drift| {
                let found = self.near(best.0, drift, self.length / 8.0);
                (found.0, drift, found.1)
            });
            let better = if sides[0].2 >= sides[1].2 { sides[0] } else { sides[1] };
            if better.2 > best.2 && better.1.abs() <= DRIFT_MAX * 1e-6 {
                best = better;
            } else {
                step /= 2.0;
            }
        }
        let independent = self.independent(best.0, best.1);
        match (best.2 - plain.1) * independent > DRIFT || drift != 0.0 {
            true => (best.0, best.1),
            false => (plain.0, 0.0),
        }
    }

    /// A drift in parts of a million with half of its interval.
    fn drift(&self, lag: f64, drift: f64, independent: f64) -> (f64, f64) {
        if drift == 0.0 {
            return (0.0, 0.0);
        }
        let best = self.seen(lag, drift, 1).evidence;
        let span = (self.coarse[self.coarse.len() - 1].1 - self.coarse[0].0).max(1.0);
        let fine = self.length / 64.0 / span;
        let mut steps = 1.0;
        let less = |by: f64| (best - self.seen(lag, drift + by, 1).evidence) * independent;
        while steps < 2_000.0 && less(steps * fine).min(less(-steps * fine)) < INTERVAL {
            steps += 1.0;
        }
        (drift * 1e6, (steps * fine + ROUNDED / span) * 1e6)
    }

    /// Two offsets where the clock was set once, if that fits better than one offset by enough.
    fn set(&self, peaks: &[f64], evidence: f64) -> Option<Vec<Offset>> {
        let rows = &self.coarse;
        if rows.len() < 2 * LEAST {
            return None;
        }
        // Squared differences of standard scores at each peak; 2 where nothing is alike, and where nothing overlaps.
        let scores = |lag: f64| -> Vec<f64> {
            let pairs: Vec<Option<(f64, f64)>> =
                rows.iter().map(|row| Some((self.mean(row, lag, 0.0)?, row.2))).collect();
            let known: Vec<(f64, f64)> = pairs.iter().flatten().copied().collect();
            let (x, y, _) = line(&known);
            let wide = |of: fn(&(f64, f64)) -> f64, mean: f64| {
                let square: f64 = known.iter().map(|pair| (of(pair) - mean).powi(2)).sum();
                (square / known.len().max(1) as f64).sqrt().max(1e-12)
            };
            let (wx, wy) = (wide(|p| p.0, x), wide(|p| p.1, y));
            let score = |pair: &Option<(f64, f64)>| {
                pair.map_or(2.0, |(a, b)| ((a - x) / wx - (b - y) / wy).powi(2).min(8.0))
            };
            pairs.iter().map(score).collect()
        };
        let all: Vec<Vec<f64>> = peaks.iter().map(|lag| scores(*lag)).collect();
        let mut best: Option<(f64, usize)> = None;
        for (j, before) in all.iter().enumerate() {
            for after in all.iter().enumerate().filter(|(k, _)| *k != j).map(|(_, of)| of) {
                let mut sum: f64 = after.iter().sum();
                for at in 0..rows.len() {
                    sum += before[at] - after[at];
                    let inside = (LEAST..rows.len() - LEAST).contains(&(at + 1));
                    if inside && best.is_none_or(|(least, _)| sum < least) {
                        best = Some((sum, at + 1));
                    }
                }
            }
        }
        let split = best?.1;
        let part = |rows: &[(f64, f64, f64)]| {
            let length = self.length;
            let (from, to) = (rows[0].0, rows[rows.len() - 1].1);
            let of = Pair {
                edges: self.edges.clone(),
                coarse: rows.to_vec(),
                middle: (from + to) / 2.0,
                ..Pair { edges: Vec::new(), coarse: Vec::new(), length, ..*self }
            };
            of.whole().0.ok()
        };
        let (first, second) = (part(&rows[..split])?, part(&rows[split..])?);
        let apart =
            first.0.interval.1 < second.0.interval.0 || second.0.interval.1 < first.0.interval.0;
        let far = (first.0.seconds - second.0.seconds).abs() > 2.0 * self.length;
        let from = Some(rows[split].0);
        (apart && far && first.1 + second.1 > evidence + SET)
            .then(|| vec![first.0, Offset { from, ..second.0 }])
    }
}

/// The lags that stand out by something, the best first, none beside another.
fn peaks(scanned: &[(f64, Seen)], length: f64, most: usize, by: fn(&Seen) -> f64) -> Vec<f64> {
    let mut order: Vec<&(f64, Seen)> = scanned.iter().filter(|(_, seen)| seen.count > 0).collect();
    order.sort_by(|a, b| by(&b.1).total_cmp(&by(&a.1)));
    let mut out: Vec<f64> = Vec::new();
    for (lag, _) in order {
        if out.iter().all(|other| (other - lag).abs() > 2.0 * length) {
            out.push(*lag);
        }
        if out.len() == most {
            break;
        }
    }
    out
}

/// What numbers have in common with those before them, 0 to 0.95.
fn alike(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let square: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let next: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if square > 0.0 { (next / square).clamp(0.0, 0.95) } else { 0.0 }
}

/// Means of both and the slope of the second on the first.
fn line(all: &[(f64, f64)]) -> (f64, f64, f64) {
    let n = all.len().max(1) as f64;
    let (x, y) =
        (all.iter().map(|p| p.0).sum::<f64>() / n, all.iter().map(|p| p.1).sum::<f64>() / n);
    let both: f64 = all.iter().map(|(a, b)| (a - x) * (b - y)).sum();
    let square: f64 = all.iter().map(|(a, _)| (a - x) * (a - x)).sum();
    (x, y, if square > 0.0 { both / square } else { 0.0 })
}

fn correlation(all: &[(f64, f64)]) -> f64 {
    let (x, y, _) = line(all);
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| all.iter().map(of).sum::<f64>();
    let both = sum(&|(a, b)| (a - x) * (b - y));
    let squares = sum(&|(a, _)| (a - x) * (a - x)) * sum(&|(_, b)| (b - y) * (b - y));
    if squares > 0.0 { both / squares.sqrt() } else { 0.0 }
}
