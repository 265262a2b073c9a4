//! The Python package against the program: a reader of records, of JUnit's XML and of line protocol that shares no code with it.

use crate::prelude::*;

#[test]
fn the_python_package_agrees_with_the_program() {
    let mut version = Command::new("python3");
    version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    if !version.status().is_ok_and(|status| status.success()) {
        return println!("skipped: python3 is not installed (see packages.txt)");
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python");
    let tests = Command::new("python3")
        .args(["-B", "-m", "unittest", "discover", "-s", "tests"])
        .env("WIRESPEED", env!("CARGO_BIN_EXE_wirespeed"))
        .env("PYTHONPATH", "src")
        .current_dir(folder)
        .output()
        .expect("python3 is there");
    assert!(tests.status.success(), "{}", String::from_utf8_lossy(&tests.stderr));
}
