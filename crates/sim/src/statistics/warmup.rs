//! Where a warm-up ends: MSER-5 (White, Cobb and Spratt 2000). The observations are averaged by fives, and as many of the
//! first are left out as make the standard error of the rest least.

/// How many observations are averaged before the rule looks at them.
const GROUP: usize = 5;

/// How many of the first observations belong to the warm-up: a multiple of five, and at most half of all.
///
/// Beyond half the rule is known to be misled by the few that are left; a minimum there means that the run was too short.
pub fn mser5(observations: &[f64]) -> usize {
    let groups: Vec<f64> = observations
        .chunks_exact(GROUP)
        .map(|group| group.iter().sum::<f64>() / GROUP as f64)
        .collect();
    let (mut best, mut chosen) = (f64::INFINITY, 0);
    // From behind, so that sums of what is kept grow by one group at a time (Welford's update, which does not cancel).
    let (mut mean, mut squares) = (0.0, 0.0);
    for left_out in (0..groups.len()).rev() {
        let kept = (groups.len() - left_out) as f64;
        let apart = groups[left_out] - mean;
        mean += apart / kept;
        squares += apart * (groups[left_out] - mean);
        let error = squares / (kept * kept);
        if left_out <= groups.len() / 2 && error <= best {
            (best, chosen) = (error, left_out);
        }
    }
    chosen * GROUP
}
