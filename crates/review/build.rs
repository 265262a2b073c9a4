//! Packs the script of plotly.js, which the crate of that name carries, so that the program holds it compressed and
//! nothing else of the crate.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::{self, Write as _};
use std::path::PathBuf;

fn main() -> io::Result<()> {
    // In a tag, followed by a second one for formulas, which no chart has.
    let tags = plotly::Plot::offline_js_sources();
    let start = tags.find('>').map_or(0, |at| at + 1);
    let end = tags.find("</script>").unwrap_or(tags.len());
    let script = tags.get(start..end).unwrap_or_default();
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::new(6));
    packed.write_all(script.as_bytes())?;
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    std::fs::write(out.join("plotly.js.z"), packed.finish()?)?;
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}
