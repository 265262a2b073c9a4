//! Which kernel a guest boots: one that is named, the newest one of this machine whose modules are there, or one that was
//! unpacked from the distribution's package.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::{env, fs, io};
use thiserror::Error;

/// The variable that names a kernel's root or image, as an argument of the program does.
pub const VARIABLE: &str = "WIRESPEED_KERNEL";

/// A kernel image with its modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The compressed image that QEMU loads.
    pub image: PathBuf,
    /// The directory `lib/modules/VERSION`.
    pub modules: PathBuf,
    /// The version, as in the name of that directory.
    pub version: String,
}

/// Why there is no kernel.
#[derive(Debug, Error)]
pub enum KernelError {
    /// None was found.
    #[error(
        "no kernel for guests was found in {searched}; install a kernel with its modules, on Debian the package \
         linux-image-amd64, or name one by {VARIABLE}=PATH (an image, or a directory that holds boot and lib/modules)"
    )]
    None {
        /// Where it was looked for.
        searched: String,
    },
    /// An image has no modules beside it.
    #[error("the kernel {image} has no modules: {modules} is not a directory")]
    NoModules {
        /// The image.
        image: String,
        /// Where they should be.
        modules: String,
    },
    /// An image that the user may not read, or that is not there.
    #[error("the kernel {image} cannot be read: {why}")]
    Unreadable {
        /// The image.
        image: String,
        /// Why.
        why: io::Error,
    },
    /// A file that is no kernel image.
    #[error("{image} is no Linux kernel image for x86; such a file is called vmlinuz or bzImage")]
    NoKernel {
        /// The file.
        image: String,
    },
}

impl Kernel {
    /// The kernel to boot: the one that is named, by argument or by [`VARIABLE`], else the newest under `/`.
    /// # Errors
    /// There is none, or the one named cannot be used.
    pub fn find(named: Option<&Path>) -> Result<Kernel, KernelError> {
        let variable = env::var_os(VARIABLE).map(PathBuf::from);
        match named.map(Path::to_owned).or(variable) {
            Some(path) if path.is_dir() => Kernel::newest(&path),
            Some(image) => Kernel::of_image(&image),
            None => Kernel::newest(Path::new("/")),
        }
    }

    /// The newest kernel under a root directory.
    fn newest(root: &Path) -> Result<Kernel, KernelError> {
        let (boot, modules) = (root.join("boot"), root.join("lib/modules"));
        let images = fs::read_dir(&boot).into_iter().flatten().flatten();
        let versions = images.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some(name.strip_prefix("vmlinuz-")?.to_owned())
        });
        let mut complete: Vec<String> =
            versions.filter(|version| modules.join(version).join("kernel").is_dir()).collect();
        complete.sort_by(|a, b| by_version(a, b));
        let searched = || format!("{} and {}", boot.display(), modules.display());
        let version = complete.pop().ok_or_else(|| KernelError::None { searched: searched() })?;
        let kernel = Kernel {
            image: boot.join(format!("vmlinuz-{version}")),
            modules: modules.join(&version),
            version,
        };
        checked(kernel)
    }

    /// The kernel of an image, whose modules lie in the same root or in this machine's.
    fn of_image(image: &Path) -> Result<Kernel, KernelError> {
        let unreadable = |why| KernelError::Unreadable { image: image.display().to_string(), why };
        let image = image.canonicalize().map_err(unreadable)?;
        let name = image.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let version = name.split_once('-').map_or(name, |(_, version)| version).to_owned();
        let root = image.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
        let modules = [root, Path::new("/")].map(|root| root.join("lib/modules").join(&version));
        let Some(found) = modules.iter().find(|modules| modules.join("kernel").is_dir()) else {
            let [modules, _] = modules.map(|modules| modules.display().to_string());
            return Err(KernelError::NoModules { image: image.display().to_string(), modules });
        };
        checked(Kernel { modules: found.clone(), image, version })
    }
}

/// The kernel, if its image can be read and is one.
fn checked(kernel: Kernel) -> Result<Kernel, KernelError> {
    /// Where the boot protocol has its magic number (`boot.rst` of the kernel's documentation).
    const MAGIC: std::ops::Range<usize> = 0x202..0x206;
    let image = kernel.image.display().to_string();
    match read_start(&kernel.image, MAGIC.end) {
        Err(why) => Err(KernelError::Unreadable { image, why }),
        Ok(start) if start.get(MAGIC) != Some(b"HdrS") => Err(KernelError::NoKernel { image }),
        Ok(_) => Ok(kernel),
    }
}

fn read_start(path: &Path, bytes: usize) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(fs::File::open(path)?, bytes as u64), &mut start)?;
    Ok(start)
}

/// Compares versions as people do: runs of digits as numbers.
fn by_version(a: &str, b: &str) -> Ordering {
    let parts = |version: &str| -> Vec<(u64, String)> {
        let split = version.split(|c: char| !c.is_ascii_alphanumeric());
        split
            .map(|part| {
                let digits =
                    part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
                (part[..digits].parse().unwrap_or(0), part[digits..].to_owned())
            })
            .collect()
    };
    parts(a).cmp(&parts(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        let newer =
            [("6.1.0-9-amd64", "6.1.0-56-amd64"), ("5.10.0-30", "6.1.0-1"), ("6.9.1", "6.10")];
        for (a, b) in newer {
            assert_eq!(by_version(a, b), Ordering::Less, "{a} {b}");
        }
    }
}
