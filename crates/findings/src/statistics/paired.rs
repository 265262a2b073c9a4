//! The location of a few paired differences, without an assumption about their distribution but symmetry: the estimate of
//! J. L. Hodges and E. L. Lehmann (*Ann. Math. Stat.* 34, 1963), and the interval that inverts the signed-rank test of F. Wilcoxon
//! (*Biometrics Bulletin* 1, 1945). A round that something else disturbed moves neither far.

/// Up to so many differences the distribution of the statistic is counted; beyond it is normal for all purposes.
const COUNTED: usize = 60;

/// A location with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Location {
    /// The median of the means of all pairs of differences, each with itself among them.
    pub value: f64,
    /// The interval's ends.
    pub low: f64,
    /// The interval's ends.
    pub high: f64,
}

/// The location of differences, with an interval of at least this confidence (0 to 1). `None` where so few differences
/// allow none, or one is no number.
pub fn location(differences: &[f64], confidence: f64) -> Option<Location> {
    if !differences.iter().all(|d| d.is_finite()) {
        return None;
    }
    let beyond = rank(differences.len(), (1.0 - confidence) / 2.0)?;
    let mut pairs: Vec<f64> = Vec::with_capacity(differences.len().pow(2) / 2 + 1);
    for (i, a) in differences.iter().enumerate() {
        pairs.extend(differences[i..].iter().map(|b| (a + b) / 2.0));
    }
    pairs.sort_by(f64::total_cmp);
    let middle = pairs.len() / 2;
    let value = match pairs.len() % 2 {
        0 => (pairs[middle - 1] + pairs[middle]) / 2.0,
        _ => pairs[middle],
    };
    Some(Location { value, low: pairs[beyond], high: pairs[pairs.len() - 1 - beyond] })
}

/// How many pairs lie beyond an end of the interval: the largest sum of signed ranks that is so improbable, and one more sum is
/// not. `None` where even none at all is more probable.
fn rank(n: usize, tail: f64) -> Option<usize> {
    let pairs = n * (n + 1) / 2;
    if n > COUNTED {
        let (mean, count) = (pairs as f64 / 2.0, n as f64);
        let deviation = (count * (count + 1.0) * (2.0 * count + 1.0) / 24.0).sqrt();
        let below = mean - super::quantile(1.0 - tail, f64::INFINITY) * deviation - 0.5;
        return Some(below.max(0.0) as usize);
    }
    // The subsets of the ranks 1 to n by their sums.
    let mut subsets = vec![0.0; pairs + 1];
    subsets[0] = 1.0;
    for rank in 1..=n {
        for sum in (rank..=pairs).rev() {
            subsets[sum] += subsets[sum - rank];
        }
    }
    let all = 2_f64.powi(n as i32);
    let mut below = 0.0;
    let within = subsets.iter().take_while(|count| {
        below += **count / all;
        below <= tail
    });
    // Sums from 0 to the critical one; as many pairs as the critical one says lie beyond.
    within.count().checked_sub(1)
}
