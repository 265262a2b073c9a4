//! The pages of the labs are as the program makes them: `docs/ledger.md` wholly, of `docs/labs.md` what the estimator says of
//! every claim, one lab in full (a simulation depends on its seed alone), and for the rest a digest of all that decides it.

use crate::prelude::*;

/// The lab that is simulated anew: the one that takes least.
const SMALLEST: &str = "lab1-xen-4gb";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn document(name: &str) -> String {
    let path = root().join("docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("docs/{name} is missing: make labs"))
}

/// What a command prints, run in the root of the workspace with no settings of the user.
fn output(command: &mut Command) -> String {
    let nowhere = std::env::temp_dir().join("wirespeed-no-settings");
    let output = command
        .current_dir(root())
        .env("XDG_CONFIG_HOME", nowhere)
        .output()
        .expect("a program that starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn files() -> Vec<String> {
    output(Command::new("scripts/labs").arg("--files")).lines().map(str::to_owned).collect()
}

fn score(args: &[&str], files: &[String]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirespeed"));
    output(command.args(["score", "--quiet"]).args(args).args(files))
}

/// Both texts are equal, or else the first lines that differ are shown.
#[track_caller]
fn same(page: &str, found: &str, made: &str) {
    let differ = found.lines().zip(made.lines()).find(|(found, made)| found != made);
    let lines = differ.unwrap_or(("the end", "more or less"));
    assert!(
        found == made,
        "docs/{page} is stale: make labs\n  it has {}\n  it is  {}",
        lines.0,
        lines.1
    );
}

fn chapter(page: &str, lab: &str) -> String {
    let heading = format!("\n## {lab}\n");
    let (_, rest) = page.split_once(&heading).unwrap_or_else(|| panic!("no {lab}: make labs"));
    let end = ["\n## ", "\n# ", "\n<!--"].iter().filter_map(|mark| rest.find(mark)).min();
    rest[..end.unwrap_or(rest.len())].trim().to_owned()
}

/// What rows of claims say up to the estimator's answer.
fn estimated(page: &str) -> Vec<String> {
    let is_claim = |line: &&str| line.starts_with("| ") && line.matches(" | ").count() == 9;
    let head = |line: &str| line.split(" | ").take(4).collect::<Vec<_>>().join(" | ");
    page.lines().filter(is_claim).map(head).collect()
}

/// Labs whose ledger takes long where the program is not optimised; the digest stands for them.
const SLOW: [&str; 3] = ["lab2-how-many-vms", "lab4-million-iops", "lab4-one-vm"];

/// The name of a scenario's lab.
fn lab(file: &str) -> String {
    Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn quick() -> Vec<String> {
    let quick: Vec<String> =
        files().into_iter().filter(|file| !SLOW.contains(&lab(file).as_str())).collect();
    assert!(!quick.is_empty(), "there are labs");
    quick
}

#[test]
fn the_ledger_is_fresh() {
    let quick = quick();
    let (page, made) = (document("ledger.md"), score(&["--ledger"], &quick));
    for lab in quick.iter().map(|file| lab(file)) {
        same("ledger.md", &chapter(&page, &lab), &chapter(&made, &lab));
    }
    let chapters = page.matches("\n## ").count();
    assert_eq!(chapters, files().len(), "docs/ledger.md lacks a lab: make labs");
}

#[test]
fn what_the_estimator_says_is_fresh() {
    let quick = quick();
    let (page, made) = (document("labs.md"), score(&["--estimate"], &quick));
    for lab in quick.iter().map(|file| lab(file)) {
        let rows = |page: &str| estimated(&chapter(page, &lab)).join("\n");
        same("labs.md", &rows(&page), &rows(&made));
    }
}

#[test]
fn a_lab_comes_out_the_same_digit_for_digit() {
    let file = format!("scenarios/{SMALLEST}.toml");
    let made = score(&[], &[file]);
    same("labs.md", &chapter(&document("labs.md"), SMALLEST), &chapter(&made, SMALLEST));
}

#[test]
fn what_decides_the_figures_is_what_it_was() {
    let digest = output(Command::new("scripts/labs").arg("--digest"));
    let found = document("labs.md");
    let shown = found.split_once("<!-- digest ").and_then(|(_, rest)| rest.split_once(" -->"));
    let shown = shown.map_or("none", |(digest, _)| digest);
    assert_eq!(shown, digest.trim(), "docs/labs.md is stale: make labs");
}
