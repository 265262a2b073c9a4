//! Anderson's acceleration of a fixed point: from the last few iterates and how far each was off it makes the next one, such
//! that it would be right if the map were linear (Anderson 1965; Walker and Ni 2011). It needs far fewer iterations than
//! steps in the direction of the map where these converge slowly.

use std::collections::VecDeque;

/// Iterates that are remembered.
const MEMORY: usize = 6;
/// Relative to the greatest pivot: a smaller one says nothing.
const NOTHING: f64 = 1e-12;

/// Iterates and how far off they were.
#[derive(Default)]
pub struct Accelerator {
    last: Option<(Vec<f64>, Vec<f64>)>,
    /// Differences between successive iterates, and between how far they were off.
    steps: VecDeque<(Vec<f64>, Vec<f64>)>,
}

impl Accelerator {
    /// Begins anew: the map has changed, or is not smooth here.
    pub fn forget(&mut self) {
        self.last = None;
        self.steps.clear();
    }

    /// The next iterate after `at`, which is `off` by so much, with these weights, and a step of this share.
    pub fn next(&mut self, at: &[f64], off: &[f64], weights: &[f64], step: f64) -> Vec<f64> {
        if let Some((at_last, off_last)) = self.last.take() {
            if self.steps.len() == MEMORY {
                self.steps.pop_front();
            }
            let less = |now: &[f64], mut then: Vec<f64>| {
                then.iter_mut().zip(now).for_each(|(then, now)| *then = now - *then);
                then
            };
            self.steps.push_back((less(at, at_last), less(off, off_last)));
        }
        self.last = Some((at.to_vec(), off.to_vec()));
        let mut next: Vec<f64> = at.iter().zip(off).map(|(at, off)| at + step * off).collect();
        for ((moved, turned), part) in self.steps.iter().zip(self.parts(off, weights)) {
            for (next, (moved, turned)) in next.iter_mut().zip(moved.iter().zip(turned)) {
                *next -= part * (moved + step * turned);
            }
        }
        next
    }

    /// How much of each remembered step would have been too much: the least squares of what is off.
    fn parts(&self, off: &[f64], weights: &[f64]) -> Vec<f64> {
        let dot = |a: &[f64], b: &[f64]| -> f64 {
            a.iter().zip(b).zip(weights).map(|((a, b), weight)| a * b * weight * weight).sum()
        };
        let rows = self.steps.iter().map(|(_, turned)| {
            let mut row: Vec<f64> =
                self.steps.iter().map(|(_, other)| dot(turned, other)).collect();
            row.push(dot(turned, off));
            row
        });
        solve(rows.collect())
    }
}

/// Solves a small system of equations, each with its right side last. An unknown that they do not determine is zero.
fn solve(mut rows: Vec<Vec<f64>>) -> Vec<f64> {
    let count = rows.len();
    let most = (0..count).map(|at| rows[at][at].abs()).fold(0.0, f64::max);
    let mut solved = vec![false; count];
    for _ in 0..count {
        // The matrix is symmetric and has no negative eigenvalue: pivots lie on its diagonal.
        let open = (0..count).filter(|row| !solved[*row]);
        let Some(pivot) = open.max_by(|a, b| rows[*a][*a].total_cmp(&rows[*b][*b])) else { break };
        if rows[pivot][pivot] <= NOTHING * most {
            break;
        }
        solved[pivot] = true;
        let of_pivot = rows[pivot].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(number, _)| *number != pivot) {
            let factor = row[pivot] / of_pivot[pivot];
            row.iter_mut().zip(&of_pivot).for_each(|(value, of)| *value -= factor * of);
        }
    }
    let part = |row: usize| if solved[row] { rows[row][count] / rows[row][row] } else { 0.0 };
    (0..count).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A linear map of three unknowns, whose plain iteration converges by 1% a step or not at all.
    fn off(at: &[f64]) -> Vec<f64> {
        let map = [[0.99, 0.02, 0.0], [0.0, 0.9, 0.1], [0.0, 0.0, -1.5]];
        let row = |row: &[f64; 3]| row.iter().zip(at).map(|(a, b)| a * b).sum::<f64>();
        (0..3).map(|number| row(&map[number]) + 1.0 - at[number]).collect()
    }

    #[test]
    fn a_linear_map_is_solved_in_as_many_steps_as_it_has_unknowns() {
        let mut accelerator = Accelerator::default();
        let mut at = vec![0.0; 3];
        for _ in 0..5 {
            at = accelerator.next(&at, &off(&at), &[1.0; 3], 0.5);
        }
        // By hand: z = 1 / 2.5, y = (1 + 0.1 z) / 0.1, x = (1 + 0.02 y) / 0.01.
        for (found, expected) in at.iter().zip([120.8, 10.4, 0.4]) {
            assert!((found - expected).abs() < 1e-6 * expected, "{found}, not {expected}");
        }
        accelerator.forget();
        assert_eq!(accelerator.next(&[1.0], &[2.0], &[1.0], 0.5), [2.0]);
    }

    #[test]
    fn what_equations_do_not_determine_is_zero() {
        let rows = vec![vec![2.0, 2.0, 4.0], vec![2.0, 2.0, 4.0]];
        let found = solve(rows);
        assert_eq!(found.iter().sum::<f64>(), 2.0, "{found:?}");
        assert_eq!(solve(vec![vec![0.0, 0.0]]), [0.0]);
    }
}
