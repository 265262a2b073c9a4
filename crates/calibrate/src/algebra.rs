//! Small symmetric matrices: the normal equations of a fit with few figures.

/// A symmetric matrix, by rows.
pub(crate) type Matrix = Vec<Vec<f64>>;

/// JᵀJ from the rows of J.
pub(crate) fn normal(jacobian: &[Vec<f64>], columns: usize) -> Matrix {
    let mut all = vec![vec![0.0; columns]; columns];
    for row in jacobian {
        for i in 0..columns {
            for j in 0..columns {
                all[i][j] += row[i] * row[j];
            }
        }
    }
    all
}

/// The solution of `a` x = `b` by Cholesky decomposition; `None` where `a` is not positive definite.
pub(crate) fn solve(a: &Matrix, b: &[f64]) -> Option<Vec<f64>> {
    let n = b.len();
    let mut l = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let done: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
            let rest = a[i][j] - done;
            if i == j {
                if rest.is_nan() || rest <= 0.0 {
                    return None;
                }
                l[i][i] = rest.sqrt();
            } else {
                l[i][j] = rest / l[j][j];
            }
        }
    }
    let mut x = b.to_vec();
    for i in 0..n {
        let done: f64 = (0..i).map(|k| l[i][k] * x[k]).sum();
        x[i] = (x[i] - done) / l[i][i];
    }
    for i in (0..n).rev() {
        let done: f64 = (i + 1..n).map(|k| l[k][i] * x[k]).sum();
        x[i] = (x[i] - done) / l[i][i];
    }
    x.iter().all(|x| x.is_finite()).then_some(x)
}

/// The inverse; `None` where the matrix is not positive definite.
pub(crate) fn inverse(a: &Matrix) -> Option<Matrix> {
    let n = a.len();
    let unit = |i: usize| (0..n).map(|j| f64::from(u8::from(i == j))).collect::<Vec<f64>>();
    (0..n).map(|i| solve(a, &unit(i))).collect()
}

/// Eigenvalues in ascending order, each with its vector, by Jacobi rotations: accurate after a few sweeps for matrices
/// of this size.
pub(crate) fn eigen(a: &Matrix) -> Vec<(f64, Vec<f64>)> {
    const SWEEPS: usize = 50;
    let n = a.len();
    let mut a = a.clone();
    let mut v: Matrix =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for _ in 0..SWEEPS {
        let off: f64 =
            (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i][j].abs()).sum();
        if off < 1e-14 {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, &mut v, p, q);
            }
        }
    }
    let mut all: Vec<(f64, Vec<f64>)> =
        (0..n).map(|i| (a[i][i], v.iter().map(|row| row[i]).collect())).collect();
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    all
}

/// Makes the element (p, q) zero.
fn rotate(a: &mut Matrix, v: &mut Matrix, p: usize, q: usize) {
    if a[p][q].abs() < 1e-300 {
        return;
    }
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    for row in a.iter_mut().chain(v.iter_mut()) {
        let (x, y) = (row[p], row[q]);
        row[p] = c * x - s * y;
        row[q] = s * x + c * y;
    }
    let both = |f: fn(f64, f64, f64, f64) -> f64| -> Vec<f64> {
        a[p].iter().zip(&a[q]).map(|(x, y)| f(c, s, *x, *y)).collect()
    };
    let rows = (both(|c, s, x, y| c * x - s * y), both(|c, s, x, y| s * x + c * y));
    (a[p], a[q]) = rows;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    }

    #[test]
    fn a_system_is_solved_and_a_singular_one_is_not() {
        let a = vec![vec![4.0, 2.0], vec![2.0, 3.0]];
        let x = solve(&a, &[2.0, 5.0]).expect("it is positive definite");
        near(x[0], -0.5);
        near(x[1], 2.0);
        let inverse = inverse(&a).expect("the same");
        near(inverse[0][0], 3.0 / 8.0);
        near(inverse[0][1], -0.25);
        assert_eq!(solve(&vec![vec![1.0, 1.0], vec![1.0, 1.0]], &[1.0, 1.0]), None);
        assert_eq!(solve(&vec![vec![f64::NAN]], &[1.0]), None);
    }

    #[test]
    fn eigenvalues_ascend() {
        let found = eigen(&vec![vec![2.0, 1.0, 0.0], vec![1.0, 2.0, 0.0], vec![0.0, 0.0, 7.0]]);
        for ((value, vector), expected) in found.iter().zip([1.0, 3.0, 7.0]) {
            near(*value, expected);
            near(vector.iter().map(|x| x * x).sum(), 1.0);
        }
    }
}
