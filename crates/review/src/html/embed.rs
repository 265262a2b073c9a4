//! Embedded parts of the self-contained page: style, scripts, data, and the policy that permits only these scripts.
//!
//! The policy names each script by its digest (W3C, *Content Security Policy Level 3*, §6.7.2). Should a word of a record
//! ever get through as markup, the browser would refuse to run it, and to fetch anything for it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use maud::{Markup, PreEscaped, html};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::Read as _;
use std::sync::LazyLock;

/// The style of every page: its own, the colours of its charts, and those of its map.
pub const STYLE: &str = concat!(
    include_str!("../../assets/page.css"),
    include_str!("../../assets/charts.css"),
    include_str!("../../assets/map.css")
);

/// A script with its digest.
pub(super) struct Script {
    text: String,
    digest: String,
}

impl Script {
    fn new(text: &str) -> Script {
        Script { text: text.to_owned(), digest: digest(text) }
    }
}

/// The scripts of every page, in the order in which they run: plotly's, and the page's own.
pub(super) fn scripts() -> &'static [Script; 2] {
    static SCRIPTS: LazyLock<[Script; 2]> = LazyLock::new(|| {
        let own =
            concat!(include_str!("../../assets/page.js"), include_str!("../../assets/map.js"));
        [Script::new(&plotly()), Script::new(own)]
    });
    &SCRIPTS
}

/// Plotly's own script, which `build.rs` packed.
fn plotly() -> String {
    let packed: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plotly.js.z"));
    let mut script = String::new();
    // What was packed by the build can be unpacked; a test reads it.
    let _ = ZlibDecoder::new(packed).read_to_string(&mut script);
    script
}

/// The policy, the style, and a page's name.
pub(super) fn head(title: &str) -> Markup {
    let digests: Vec<&str> = scripts().iter().map(|script| script.digest.as_str()).collect();
    // Plotly sets styles as it draws, and makes pictures of charts for who asks for them.
    let policy = format!(
        "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'",
        digests.join(" ")
    );
    html! {
        meta charset="utf-8";
        meta http-equiv="Content-Security-Policy" content=(policy);
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="color-scheme" content="light dark";
        meta name="generator" content=(concat!("wirespeed ", env!("CARGO_PKG_VERSION")));
        // An own icon, so that no browser asks a server for one.
        link rel="icon" href="data:,";
        title { (title) }
        style { (PreEscaped(STYLE)) }
    }
}

/// A script of the page.
pub(super) fn script(script: &Script) -> Markup {
    html! { script { (PreEscaped(&script.text)) } }
}

/// Data for the scripts. No `<` is left in it, so that nothing in it can end its element.
pub(super) fn data(id: &str, value: &Value) -> Markup {
    let text = value.to_string().replace('<', "\\u003c");
    html! { script id=(id) type="application/json" { (PreEscaped(text)) } }
}

fn digest(script: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_its_element() {
        let foreign = serde_json::json!({ "</script><script>alert(1)": "<!--" });
        let text = data("d", &foreign).into_string();
        assert_eq!(text.matches('<').count(), 2, "{text}");
    }

    #[test]
    fn digests_are_those_of_the_policy() {
        // The example of the W3C's specification.
        let known = "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='";
        assert_eq!(digest("alert('Hello, world.');"), known);
    }

    #[test]
    fn plotlys_own_script_and_no_other() {
        let script = plotly();
        assert!(script.contains("plotly.js v") && !script.contains("</script"));
        // The one for formulas would be two million more.
        assert!((1_000_000..5_500_000).contains(&script.len()), "{} bytes", script.len());
    }
}
