//! Many comparisons at once: where each has one chance in twenty to be wrong, one in twenty is.

/// The p-values of a family, adjusted by Holm's rule: where an adjusted one is below α it is significant, and the chance
/// that any of the family is so without cause is below α. In the order given.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        least = least.max(p_values[at] * (p_values.len() - rank) as f64).min(1.0);
        adjusted[at] = least;
    }
    adjusted
}
