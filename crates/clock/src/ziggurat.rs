//! The layers of a ziggurat under the exponential density (G. Marsaglia and W. W. Tsang 2000): 256 of equal area, of which all
//! but the lowest are rectangles. The lowest is a rectangle and the tail beyond it.

use std::sync::LazyLock;

/// Number of layers.
const LAYERS: usize = 256;
/// Where the tail begins: the number for which the area of the top layer is that of all others.
pub const TAIL: f64 = 7.697_117_470_131_05;

/// The layers, from the lowest up.
pub struct Ziggurat {
    /// Widths; that of the lowest is as if its whole area were a rectangle.
    pub x: [f64; LAYERS + 1],
    /// The density at these widths: the lower and, one further, the upper edge of each layer.
    pub y: [f64; LAYERS + 1],
}

impl Ziggurat {
    /// The layers, computed once.
    #[inline]
    pub fn get() -> &'static Ziggurat {
        static LAID: LazyLock<Ziggurat> = LazyLock::new(Ziggurat::laid);
        &LAID
    }

    fn laid() -> Ziggurat {
        let density = |x: f64| (-x).exp();
        // The rectangle below the tail's beginning, and the tail.
        let area = density(TAIL) * (TAIL + 1.0);
        let mut x = [0.0; LAYERS + 1];
        (x[0], x[1]) = (area / density(TAIL), TAIL);
        for layer in 2..LAYERS {
            let upper = density(x[layer - 1]) + area / x[layer - 1];
            x[layer] = -upper.ln();
        }
        Ziggurat { x, y: x.map(density) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layers_meet_the_top_of_the_density() {
        let Ziggurat { x, y } = Ziggurat::get();
        let area = x[0] * y[1];
        assert!((y[LAYERS] - 1.0).abs() < 1e-12 && x[LAYERS] == 0.0);
        for layer in 1..LAYERS {
            assert!(x[layer + 1] < x[layer]);
            let of = x[layer] * (y[layer + 1] - y[layer]);
            assert!((of / area - 1.0).abs() < 1e-9, "layer {layer} has an area of {of} for {area}");
        }
    }
}
