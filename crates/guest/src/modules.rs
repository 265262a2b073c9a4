//! The modules that a guest's kernel needs, in the order in which they load.
//!
//! What a module needs stands in the module itself (`depends=` in its section `.modinfo`): `modules.dep` exists only after
//! `depmod` has run, which it has not in an unpacked package.

use crate::kernel::Kernel;
use object::{Object, ObjectSection};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Bytes of one module at most, decompressed.
const MODULE_MAX: u64 = 64 << 20;

/// A module, ready to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its name, with underscores.
    pub name: String,
    /// The ELF file.
    pub content: Vec<u8>,
}

/// Why modules cannot be had.
#[derive(Debug, Error)]
pub enum ModuleError {
    /// The kernel has no such module, and it is not built in.
    #[error(
        "the kernel {version} has no module {name}; kernels for clouds lack adapters of real hardware: on Debian take \
         linux-image-amd64"
    )]
    Missing {
        /// The module.
        name: String,
        /// The kernel's version.
        version: String,
    },
    /// A module's file cannot be read.
    #[error("the module {path} cannot be read: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
}

/// Finds modules of a kernel.
pub struct ModuleTree {
    version: String,
    files: BTreeMap<String, PathBuf>,
    builtin: BTreeSet<String>,
}

impl ModuleTree {
    /// The modules of a kernel.
    /// # Errors
    /// Their directory cannot be read.
    pub fn of(kernel: &Kernel) -> Result<ModuleTree, ModuleError> {
        let mut files = BTreeMap::new();
        walk(&kernel.modules.join("kernel"), &mut files)?;
        // Absent where all are modules.
        let builtin =
            fs::read_to_string(kernel.modules.join("modules.builtin")).unwrap_or_default();
        let builtin = builtin.lines().filter_map(|line| module_name(Path::new(line))).collect();
        Ok(ModuleTree { version: kernel.version.clone(), files, builtin })
    }

    /// Whether the kernel has a module, or what it does built in.
    pub fn has(&self, name: &str) -> bool {
        let name = canonical(name);
        self.files.contains_key(&name) || self.builtin.contains(&name)
    }

    /// These modules and all that they need, each after what it needs. What is built in is left out.
    /// # Errors
    /// A module is missing or cannot be read.
    pub fn closure(&self, wanted: &[&str]) -> Result<Vec<Module>, ModuleError> {
        let mut loaded = Vec::new();
        let mut known = BTreeSet::new();
        for name in wanted {
            self.add(&canonical(name), &mut known, &mut loaded)?;
        }
        Ok(loaded)
    }

    fn add(
        &self,
        name: &str,
        known: &mut BTreeSet<String>,
        loaded: &mut Vec<Module>,
    ) -> Result<(), ModuleError> {
        if self.builtin.contains(name) || !known.insert(name.to_owned()) {
            return Ok(());
        }
        let missing =
            || ModuleError::Missing { name: name.to_owned(), version: self.version.clone() };
        let path = self.files.get(name).ok_or_else(missing)?;
        let content = read(path)?;
        for needed in needs(&content).map_err(|why| unreadable(path, why))? {
            self.add(&needed, known, loaded)?;
        }
        loaded.push(Module { name: name.to_owned(), content });
        Ok(())
    }
}

fn unreadable(path: &Path, why: impl ToString) -> ModuleError {
    ModuleError::Unreadable { path: path.display().to_string(), why: why.to_string() }
}

/// A module's name as the kernel spells it: files have dashes in places where it has underscores.
fn canonical(name: &str) -> String {
    name.replace('-', "_")
}

/// The name of the module in a file such as `virtio-console.ko.xz`.
fn module_name(path: &Path) -> Option<String> {
    let (name, extension) = path.file_name()?.to_str()?.split_once(".ko")?;
    matches!(extension, "" | ".xz" | ".zst" | ".gz").then(|| canonical(name))
}

fn walk(directory: &Path, files: &mut BTreeMap<String, PathBuf>) -> Result<(), ModuleError> {
    let entries = fs::read_dir(directory).map_err(|why| unreadable(directory, why))?;
    for entry in entries {
        let entry = entry.map_err(|why| unreadable(directory, why))?;
        let path = entry.path();
        match module_name(&path) {
            Some(name) => drop(files.insert(name, path)),
            None if entry.file_type().is_ok_and(|kind| kind.is_dir()) => walk(&path, files)?,
            None => {}
        }
    }
    Ok(())
}

/// A module's ELF file, decompressed.
fn read(path: &Path) -> Result<Vec<u8>, ModuleError> {
    let fail = |why: String| unreadable(path, why);
    let packed = fs::read(path).map_err(|why| fail(why.to_string()))?;
    let mut content = Vec::new();
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("xz") => {
            lzma_rs::xz_decompress(&mut packed.as_slice(), &mut Bounded(&mut content))
                .map_err(|why| fail(format!("{why:?}")))?;
        }
        Some("zst") => {
            let reader = ruzstd::decoding::StreamingDecoder::new(packed.as_slice());
            let reader = reader.map_err(|why| fail(why.to_string()))?;
            reader
                .take(MODULE_MAX)
                .read_to_end(&mut content)
                .map_err(|why| fail(why.to_string()))?;
        }
        Some("gz") => return Err(fail("it is compressed by gzip; unpack it".to_owned())),
        _ => content = packed,
    }
    Ok(content)
}

/// A buffer of [`MODULE_MAX`] bytes at most.
struct Bounded<'a>(&'a mut Vec<u8>);

impl io::Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() as u64 + bytes.len() as u64 > MODULE_MAX {
            return Err(io::Error::other("it is larger than any module"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The modules that a module names as needed: at once, or softly before it.
fn needs(content: &[u8]) -> Result<Vec<String>, String> {
    let file = object::File::parse(content).map_err(|why| format!("it is no ELF file: {why}"))?;
    let section = file.section_by_name(".modinfo").ok_or("it has no section .modinfo")?;
    let info = section.data().map_err(|why| why.to_string())?;
    let mut needed = Vec::new();
    for entry in info.split(|byte| *byte == 0) {
        let Ok(entry) = std::str::from_utf8(entry) else { continue };
        if let Some(names) = entry.strip_prefix("depends=") {
            needed.extend(names.split(',').filter(|name| !name.is_empty()).map(canonical));
        }
    }
    Ok(needed)
}
