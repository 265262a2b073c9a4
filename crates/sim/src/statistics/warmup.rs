//! The end of a warm-up by MSER-5 (White, Cobb and Spratt 2000): observations are averaged in groups of five, and as
//! many initial groups are discarded as minimize the standard error of the rest.

/// Observations averaged into one group.
const GROUP: usize = 5;

/// How many initial observations belong to the warm-up: a multiple of five, at most half of all.
///
/// Beyond half, the few that are left mislead the rule; a minimum there means that the run was too short.
pub fn mser5(observations: &[f64]) -> usize {
    let groups: Vec<f64> = observations
        .chunks_exact(GROUP)
        .map(|group| group.iter().sum::<f64>() / GROUP as f64)
        .collect();
    let (mut best, mut chosen) = (f64::INFINITY, 0);
    // From the end, so that the sums of what is kept grow by one group at a time (Welford's update, which does not
    // cancel).
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
