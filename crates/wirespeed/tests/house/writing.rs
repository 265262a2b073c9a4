//! That nothing is opened for writing beside the write guard: the rooms that touch targets and volumes open files of their
//! own in few places, and each is listed here.

use crate::{Breach, Source, caught, none, rust_sources};

/// The rooms that open targets, volumes and what lies beside them.
const ROOMS: [&str; 2] = ["crates/disk/src/", "crates/san/src/"];

/// The state of a verification, reservations that outlive a restart, and the sign that a claim's holder lives are no targets.
/// The last is a test's device.
const OWN_FILES: [&str; 4] = [
    "crates/disk/src/verify/state_file.rs",
    "crates/san/src/server/persistence.rs",
    "crates/san/src/initiator/keys.rs",
    "crates/disk/src/fill.rs",
];

const WAYS: [&str; 6] =
    ["RDWR", "WRONLY", "OpenOptions", "File::create", "File::options", "fs::write("];

fn opened(source: &Source) -> Vec<Breach> {
    let Source { path, text } = source;
    if !ROOMS.iter().any(|room| path.starts_with(room)) || OWN_FILES.contains(&path.as_str()) {
        return Vec::new();
    }
    // A test's scratch files stand below the code.
    let code = text.lines().take_while(|line| *line != "#[cfg(test)]");
    let writes = |line: &str| WAYS.iter().any(|way| line.contains(way));
    let found = (1..).zip(code).filter(|(_, line)| writes(line));
    found.map(|(line, _)| source.breach(line, "what can be written is `guard`'s to open")).collect()
}

#[test]
fn only_the_guard_opens_for_writing() {
    none(rust_sources().flat_map(opened));
}

#[test]
fn a_way_around_the_guard_is_caught() {
    let check = |path: &str, text: &str, expected: &[&str]| {
        caught(opened(&Source::sample(path, text)), expected);
    };
    check("crates/disk/src/x.rs", "use a;\nopen(path, OFlags::RDWR)\n", &["x.rs:2: what can"]);
    check("crates/san/src/x.rs", "File::create(path)\n", &["x.rs:1"]);
    check("crates/disk/src/x.rs", "x();\n#[cfg(test)]\nfs::write(path, b\"\")\n", &[]);
    check("crates/disk/src/verify/state_file.rs", "OFlags::RDWR\n", &[]);
    check("crates/record/src/x.rs", "File::create(path)\n", &[]);
}
