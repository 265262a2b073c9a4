//! Programs as a guest has them: what of a file is loaded, and the shared libraries that it asks for.
//!
//! A statically linked program needs none. For others the dynamic loader that the program names says which they are.

use crate::initramfs::Initramfs;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, elf};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use thiserror::Error;

/// Why a program cannot be put into a guest.
#[derive(Debug, Error)]
#[error("the program {path} cannot be put into a guest: {why}")]
pub struct ProgramError {
    path: String,
    why: String,
}

/// A file of a guest, with its absolute path there. Each may be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFile {
    path: PathBuf,
    content: Vec<u8>,
}

impl GuestFile {
    /// A file with this content.
    pub fn new(path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) -> GuestFile {
        GuestFile { path: path.into(), content: content.into() }
    }

    /// A file of the host, under the path that it has there.
    /// # Errors
    /// It cannot be read.
    pub fn of_host(path: &Path) -> Result<GuestFile, ProgramError> {
        Ok(GuestFile::new(path, read(path)?))
    }
}

/// The part of an executable that is loaded: without symbols and what helps to debug, which may be most of the file.
/// # Errors
/// It cannot be read or is no executable of this architecture.
pub fn loadable(path: &Path) -> Result<Vec<u8>, ProgramError> {
    let mut bytes = read(path)?;
    let file = parsed(path, &bytes)?;
    let end = file.elf_program_headers().iter().map(|segment| {
        let endian = file.endian();
        segment.p_offset(endian).saturating_add(segment.p_filesz(endian))
    });
    let end = end.max().unwrap_or(0).min(bytes.len() as u64) as usize;
    bytes.truncate(end);
    // The table of sections lies behind: there is none any more.
    let header = std::mem::size_of::<elf::FileHeader64<Endianness>>();
    let (offset, counts) = (0x28..0x30, 0x3c..0x40);
    if bytes.len() < header {
        return Err(fail(path, "it ends within its header"));
    }
    bytes[offset].fill(0);
    bytes[counts].fill(0);
    Ok(bytes)
}

/// The libraries that an executable is linked with, its loader among them; none where it is linked statically.
/// # Errors
/// It cannot be read, or a library is missing.
pub fn libraries(path: &Path) -> Result<Vec<GuestFile>, ProgramError> {
    let bytes = read(path)?;
    let file = parsed(path, &bytes)?;
    let endian = file.endian();
    let segments = file.elf_program_headers().iter();
    let interpreter = segments
        .filter_map(|segment| segment.interpreter(endian, bytes.as_slice()).ok().flatten())
        .next();
    let Some(interpreter) = interpreter else { return Ok(Vec::new()) };
    let loader = PathBuf::from(OsStr::from_bytes(interpreter));
    let said = Command::new(&loader).arg("--list").arg(path).output();
    let said =
        said.map_err(|why| fail(path, format!("{} does not run: {why}", loader.display())))?;
    if !said.status.success() {
        return Err(fail(path, String::from_utf8_lossy(&said.stderr).trim()));
    }
    let mut known = BTreeSet::from([loader.clone()]);
    let mut out = vec![GuestFile::of_host(&loader)?];
    // `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f…)`
    for line in String::from_utf8_lossy(&said.stdout).lines() {
        let Some((_, found)) = line.split_once("=> ") else { continue };
        let found = found.rsplit_once(" (").map_or(found, |(found, _)| found);
        let found = PathBuf::from(found.trim());
        if found.is_absolute() && known.insert(found.clone()) {
            out.push(GuestFile::of_host(&found)?);
        }
    }
    Ok(out)
}

/// Adds files with their directories to an archive, each path once.
/// # Errors
/// The archive cannot be written.
pub(crate) fn add<W: Write>(files: &[GuestFile], archive: &mut Initramfs<W>) -> io::Result<()> {
    let mut directories: BTreeSet<PathBuf> = BTreeSet::new();
    for file in files {
        directories.extend(file.path.ancestors().skip(1).map(Path::to_owned));
    }
    let relative = |path: &Path| path.to_string_lossy().trim_start_matches('/').to_owned();
    for directory in directories.iter().map(|path| relative(path)).filter(|path| !path.is_empty()) {
        archive.directory(&directory)?;
    }
    let mut known = BTreeSet::new();
    let mut first = files.iter().filter(|file| known.insert(file.path.as_path()));
    first.try_for_each(|file| archive.file(&relative(&file.path), 0o755, &file.content))
}

fn read(path: &Path) -> Result<Vec<u8>, ProgramError> {
    fs::read(path).map_err(|why| fail(path, why))
}

fn parsed<'a>(path: &Path, bytes: &'a [u8]) -> Result<ElfFile64<'a>, ProgramError> {
    let file = ElfFile64::<Endianness>::parse(bytes).map_err(|why| fail(path, why))?;
    match file.elf_header().e_machine(file.endian()) {
        elf::EM_X86_64 => Ok(file),
        _ => Err(fail(path, "guests are machines of x86_64, and it is for another processor")),
    }
}

fn fail(path: &Path, why: impl ToString) -> ProgramError {
    ProgramError { path: path.display().to_string(), why: why.to_string() }
}
