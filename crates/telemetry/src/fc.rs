//! What the names of Fibre Channel's speeds carry.

/// Bytes a second of one Gbit/s of a speed's name: 8GFC carries 850 MB/s each way.
const GBIT: f64 = 106.25e6;

/// Bytes a second, each way, of a speed as Linux names it: `8 Gbit`. `None` for any other text, such as `unknown`.
pub fn fc_speed(text: &str) -> Option<f64> {
    let gbit: f64 = text.trim().strip_suffix(" Gbit")?.parse().ok()?;
    (gbit > 0.0).then_some(gbit * GBIT)
}
