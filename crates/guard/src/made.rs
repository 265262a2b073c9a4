//! A disk that was made for this run under a serial number: a volume of an array that the run serves, or what a guest's host
//! was granted. The number is drawn for the run and cannot be guessed, so that no other disk is taken for it.

use std::fs;
use std::path::Path;

/// The unit serial number of a whole disk, from its directory in `/sys`: SCSI and ATA disks publish page 80h of their vital
/// product data, others a text. `None` for a partition, which is not what was made.
pub(crate) fn serial_of(node: &Path) -> Option<String> {
    if node.join("partition").exists() {
        return None;
    }
    if let Ok(page) = fs::read(node.join("device/vpd_pg80")) {
        let length = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
        let text = page.get(4..4 + length)?;
        return Some(String::from_utf8_lossy(text).trim().to_owned());
    }
    let read = |file| fs::read_to_string(node.join(file)).ok();
    let text = ["serial", "device/serial"].into_iter().find_map(read)?;
    Some(text.trim().to_owned())
}

/// Whether a disk is the very one that was made under this number, and nothing uses it.
/// # Errors
///
/// Why it is not.
pub(crate) fn is_made(
    made_as: &str,
    found: Option<&str>,
    what: &str,
    uses: &[String],
) -> Result<(), String> {
    if found != Some(made_as) {
        let found = found.map_or("none".to_owned(), |found| format!("`{found}`"));
        return Err(format!(
            "it is {what}, whose serial number is {found}, and not the disk that was made for this run"
        ));
    }
    match uses.is_empty() {
        true => Ok(()),
        false => Err(format!("it was made for this run, but {}", uses.join("; "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_serial_number_is_read_wherever_a_disk_publishes_it() {
        let root = tempfile::tempdir().expect("a directory");
        let node = |name: &str, files: &[(&str, &[u8])]| {
            let node = root.path().join(name);
            fs::create_dir_all(node.join("device")).expect("a node");
            files.iter().for_each(|(file, text)| fs::write(node.join(file), text).expect("a file"));
            serial_of(&node)
        };
        let page = b"\0\x80\0\x06WS12  ";
        assert_eq!(node("sda", &[("device/vpd_pg80", page)]).as_deref(), Some("WS12"));
        assert_eq!(node("cut", &[("device/vpd_pg80", &page[..7])]), None);
        assert_eq!(node("vda", &[("serial", b"WS34\n")]).as_deref(), Some("WS34"));
        assert_eq!(node("nvme0n1", &[("device/serial", b" WS56 ")]).as_deref(), Some("WS56"));
        assert_eq!(node("sda1", &[("partition", b"1"), ("serial", b"WS34\n")]), None);
        assert_eq!(node("loop0", &[]), None);
    }

    #[test]
    fn only_the_disk_of_the_number_is_made_for_the_run() {
        let none: [String; 0] = [];
        assert_eq!(is_made("WS1", Some("WS1"), "a disk", &none), Ok(()));
        for other in [Some("WS2"), Some(""), None] {
            let why = is_made("WS1", other, "a disk", &none).expect_err("another disk");
            assert!(why.contains("not the disk that was made"), "{why}");
        }
        let why = is_made("WS1", Some("WS1"), "a disk", &["it is mounted".to_owned()]);
        assert!(why.is_err_and(|why| why.contains("it is mounted")));
    }
}
