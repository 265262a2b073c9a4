//! Packs the script of plotly.js, which the crate `plotly` carries, so that the program holds it compressed.
//!
//! The crate is read and never built, which with the twenty crates that it alone needs would take some twenty seconds of a processor. For
//! that it is a dependency for a machine without a system, where nothing is ever built, and Cargo says where its source is.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::env::var_os;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The machine without a system, as the manifest's condition has it.
const PLATFORM: &str = "x86_64-unknown-none";
/// The script, within the crate.
const SCRIPT: &str = "resource/plotly.min.js";

fn main() -> io::Result<()> {
    // What is at hand is found without a network.
    let source = source(&["--offline"]).or_else(|_| source(&[]))?;
    let script = std::fs::read(source.join(SCRIPT))?;
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::new(6));
    packed.write_all(&script)?;
    let out = var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    std::fs::write(out.join("plotly.js.z"), packed.finish()?)?;
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=Cargo.toml");
    Ok(())
}

/// Where the source of the crate is; Cargo fetches it where it is not there yet.
fn source(options: &[&str]) -> io::Result<PathBuf> {
    let own = var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let mut command = Command::new(var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", PLATFORM]);
    command.arg("--manifest-path").arg(own.join("Cargo.toml")).args(options);
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(io::Error::other(format!("cargo metadata: {said}")));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    // Every package has the path of its manifest.
    let manifests =
        text.split("\"manifest_path\":\"").skip(1).filter_map(|at| at.split('"').next());
    let folders = manifests.filter_map(|path| Path::new(path).parent());
    let is_plotly = |folder: &&Path| {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let version = name.strip_prefix("plotly").map(|rest| rest.trim_start_matches('-'));
        version.is_some_and(|v| v.is_empty() || v.starts_with(|c: char| c.is_ascii_digit()))
            && folder.join(SCRIPT).is_file()
    };
    let found = folders.into_iter().find(is_plotly).map(Path::to_owned);
    found.ok_or_else(|| io::Error::other("Cargo.lock has no crate `plotly` with its script"))
}
