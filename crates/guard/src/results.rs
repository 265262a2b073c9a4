//! Files of results, such as reviews: one is replaced only where it holds, byte for byte, what Wirespeed wrote there. The
//! digest of that stands in an extended attribute; where there are none, no file of results is replaced.

use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The extended attribute.
const MARK: &str = "user.wirespeed-results";

/// Marks a file of results as it is now.
/// # Errors
///
/// The file cannot be read, or its file system keeps no extended attributes.
pub fn mark_results(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    let digest = digest(&file)?;
    Ok(fsetxattr(&file, MARK, digest.as_bytes(), XattrFlags::empty())?)
}

/// Whether a file is empty, or holds what Wirespeed wrote there and nothing else.
/// # Errors
///
/// The file cannot be read.
pub fn are_results(path: &Path) -> io::Result<bool> {
    let file = File::open(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut mark = [0; 64];
    match fgetxattr(&file, MARK, &mut mark[..]) {
        Ok(len) => Ok(mark[..len] == *digest(&file)?.as_bytes()),
        Err(_) => Ok(false),
    }
}

/// In hexadecimal.
fn digest(mut file: &File) -> io::Result<String> {
    let (mut digest, mut part) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut part)? {
            0 => return Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            n => digest.update(&part[..n]),
        }
    }
}
