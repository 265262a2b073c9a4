//! A running guest: QEMU's process, its control channel, the ports, the last lines of its console.

use crate::init;
use crate::initramfs::{Initramfs, Packing};
use crate::kernel::Kernel;
use crate::machine::{Machine, Wiring};
use crate::modules::{Module, ModuleError, ModuleTree};
use crate::program::{self, GuestFile, ProgramError};
use crate::qmp::Qmp;
use crate::relay::Relay;
use clock::Ns;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fs, thread};
use thiserror::Error;

/// How long QEMU may take to connect, and a guest to switch itself off before it is killed.
const CONNECTS: Ns = Ns::secs(20);
const GRACE: Ns = Ns::secs(10);
const POLL: Ns = Ns::millis(5);
/// Bytes of the console that are kept, the last ones.
const CONSOLE_MAX: usize = 16 << 10;

/// Why a guest cannot be started or has ended.
#[derive(Debug, Error)]
pub enum GuestError {
    /// A module is missing.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// The program cannot be put into a guest.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// QEMU is not there.
    #[error("{program} cannot be started: {why}; on Debian it is in the package qemu-system-x86")]
    NoQemu {
        /// The program.
        program: String,
        /// Why.
        why: io::Error,
    },
    /// QEMU has ended before its guest ran.
    #[error("the guest {name} did not start: {how}")]
    Ended {
        /// Which.
        name: String,
        /// How QEMU ended, and what it said.
        how: String,
    },
    /// A file or socket of the host.
    #[error("{what}: {why}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        why: io::Error,
    },
}

/// The image that guests of one kind boot, in a file that vanishes with it.
pub struct Image {
    kernel: Kernel,
    file: fs::File,
    packing: Packing,
    /// Bytes unpacked, and as the guest gets it.
    sizes: [u64; 2],
}

/// Bytes of memory that a kernel takes for itself, its modules and the first process.
const KERNEL_MEMORY: u64 = 84 << 20;

impl Image {
    /// Writes an initramfs: the program with its libraries, these modules, and all that they need. `room` is the memory of a guest
    /// that boots it, in bytes: where that is scarce, the image is packed tighter.
    /// # Errors
    /// A module is missing, the program cannot be read, or the image cannot be written.
    pub fn new(
        kernel: &Kernel,
        executable: &Path,
        modules: &[&str],
        room: u64,
    ) -> Result<Image, GuestError> {
        let first = program::loadable(executable)?;
        Image::of_files(kernel, &first, &program::libraries(executable)?, modules, room)
    }

    /// Writes an initramfs with this first process, these files and modules, and all modules that these need. `room` is the
    /// memory of a guest that boots it, in bytes: where that is scarce, the image is packed tighter.
    /// # Errors
    /// A module is missing, or the image cannot be written.
    pub fn of_files(
        kernel: &Kernel,
        first: &[u8],
        files: &[GuestFile],
        modules: &[&str],
        room: u64,
    ) -> Result<Image, GuestError> {
        let loaded = ModuleTree::of(kernel)?.closure(modules)?;
        let io = |why| GuestError::Io { what: "writing the guests' image".to_owned(), why };
        let archive = archive(first, files, &loaded).map_err(io)?;
        let packed = |packing| Image::packed(kernel, &archive, packing).map_err(io);
        let fast = packed(Packing::Lz4)?;
        if fast.memory() > room { packed(Packing::Gzip) } else { Ok(fast) }
    }

    /// Writes an archive into a file that vanishes with the image.
    fn packed(kernel: &Kernel, archive: &[u8], packing: Packing) -> io::Result<Image> {
        let file = rustix::fs::memfd_create("initramfs", rustix::fs::MemfdFlags::CLOEXEC)?;
        let file = fs::File::from(file);
        packing.write(archive, &mut io::BufWriter::new(&file))?;
        let sizes = [archive.len() as u64, file.metadata()?.len()];
        Ok(Image { kernel: kernel.clone(), file, packing, sizes })
    }

    /// Bytes of memory that a guest needs at least to boot it, in whole MiB: at one moment it is there packed and unpacked.
    pub fn memory(&self) -> u64 {
        let needed = KERNEL_MEMORY + self.packing.buffer() + self.sizes.iter().sum::<u64>();
        needed.next_multiple_of(1 << 20)
    }
}

/// What an image holds, not yet packed.
fn archive(first: &[u8], files: &[GuestFile], modules: &[Module]) -> io::Result<Vec<u8>> {
    let mut archive = Initramfs::new(Vec::new());
    for directory in ["dev", "proc", "sys", "tmp", "guest", &init::MODULES[1..]] {
        archive.directory(directory)?;
    }
    archive.device("dev/console", 5, 1)?;
    archive.file("init", 0o755, first)?;
    program::add(files, &mut archive)?;
    let mut order = String::new();
    for module in modules {
        let path = format!("{}/{}", &init::MODULES[1..], module.name);
        archive.file(&path, 0o644, &module.content)?;
        order.push_str(&module.name);
        order.push('\n');
    }
    archive.file(&init::ORDER[1..], 0o644, order.as_bytes())?;
    archive.file(&init::MARK[1..], 0o644, b"guest\n")?;
    archive.finish()
}

/// A guest that runs. It ends when this is dropped, and when this process ends.
pub struct Guest {
    name: String,
    pub(crate) child: Child,
    pub(crate) qmp: Qmp,
    pub(crate) ports: Vec<Relay>,
    pub(crate) console: Arc<Mutex<Vec<u8>>>,
    status: Option<ExitStatus>,
}

/// A QEMU that has connected.
pub(crate) struct Launched {
    pub child: Child,
    pub qmp: Qmp,
    pub ports: Vec<UnixStream>,
}

/// Becomes QEMU, in a process that ends when its parent does: what a keeper's command runs. Returns only on failure.
pub fn become_kept(program: &OsString, arguments: &[OsString]) -> io::Error {
    let parent = getppid();
    if let Err(why) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return why.into();
    }
    if getppid() != parent {
        return io::Error::other("the parent has ended");
    }
    Command::new(program).args(arguments).exec()
}

impl Guest {
    /// Starts a guest. `keeper` is the command, without QEMU's, that ends QEMU when this thread's process ends
    /// ([`become_kept`]); it is started on this thread, which must live as long as the guest.
    /// # Errors
    /// QEMU is not there, refuses the machine or ends at once.
    pub fn start(
        machine: &Machine,
        image: &Image,
        keeper: &[OsString],
    ) -> Result<Guest, GuestError> {
        let console = Arc::default();
        let launched = Guest::launch(machine, image, keeper, &console, &[])?;
        let Launched { child, qmp, ports } = launched;
        let name = machine.name.clone();
        let mut guest = Guest { name, child, qmp, ports: Vec::new(), console, status: None };
        guest.take_ports(ports)?;
        Ok(guest)
    }

    fn take_ports(&mut self, ports: Vec<UnixStream>) -> Result<(), GuestError> {
        let relays = ports.into_iter().map(Relay::new).collect::<io::Result<_>>();
        self.ports = relays
            .map_err(|why| GuestError::Io { what: format!("the ports of {}", self.name), why })?;
        Ok(())
    }

    /// Boots it again after [`Guest::kill`], on the same disks and with the memory that it keeps. Its ports are new ones.
    /// # Errors
    /// As for [`Guest::start`].
    pub fn boot_again(
        &mut self,
        machine: &Machine,
        image: &Image,
        keeper: &[OsString],
    ) -> Result<(), GuestError> {
        self.kill();
        let launched = Guest::launch(machine, image, keeper, &self.console, &[])?;
        let Launched { child, qmp, ports } = launched;
        (self.child, self.qmp, self.status) = (child, qmp, None);
        self.take_ports(ports)
    }

    /// Starts a QEMU for a machine, with these options more.
    pub(crate) fn launch(
        machine: &Machine,
        image: &Image,
        keeper: &[OsString],
        console: &Arc<Mutex<Vec<u8>>>,
        options: &[&str],
    ) -> Result<Launched, GuestError> {
        let name = machine.name.clone();
        let io = |what: &str| {
            let what = format!("{what} of the guest {}", machine.name);
            move |why| GuestError::Io { what, why }
        };
        let qmp = Door::open().map_err(io("the control channel"))?;
        let doors: Vec<Door> = machine
            .ports
            .iter()
            .map(|_| Door::open())
            .collect::<io::Result<_>>()
            .map_err(io("the ports"))?;
        let addresses: Vec<String> = doors.iter().map(|door| door.name.clone()).collect();
        let image_file = image_path(&image.file);
        let wiring = Wiring {
            kernel: &image.kernel,
            initramfs: Path::new(&image_file),
            qmp: &qmp.name,
            ports: &addresses,
        };
        let mut line = keeper.to_vec();
        line.push(QEMU.into());
        line.extend(machine.arguments(&wiring));
        line.extend(options.iter().map(OsString::from));
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // A group of its own: a Ctrl-C at the terminal is for the coordinator.
        let started = command.process_group(0).spawn();
        let program = line[0].to_string_lossy().into_owned();
        let mut child = started.map_err(|why| GuestError::NoQemu { program, why })?;
        let console = Arc::clone(console);
        if let Some(output) = child.stderr.take() {
            listen(output, Arc::clone(&console)).map_err(io("the console"))?;
        }
        let mut starting = Starting { name, child, console };
        let control = starting.connected(&qmp)?;
        let ports: Vec<UnixStream> =
            doors.iter().map(|door| starting.connected(door)).collect::<Result<_, _>>()?;
        match Qmp::open(control) {
            Ok(qmp) => Ok(Launched { child: starting.child, qmp, ports }),
            Err(why) => Err(starting.over(why.to_string())),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of QEMU's process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// The host's end of a port, once.
    pub fn port(&mut self, number: usize) -> Option<UnixStream> {
        self.ports.get_mut(number)?.host()
    }

    /// QEMU's control channel.
    pub fn control(&mut self) -> &mut Qmp {
        &mut self.qmp
    }

    /// What the console last showed, with what QEMU itself said.
    pub fn console(&self) -> String {
        String::from_utf8_lossy(&lock(&self.console)).into_owned()
    }

    /// The line of the console that says why the guest ended, or its last lines.
    pub fn last_output(&self) -> String {
        last_output(&self.console())
    }

    /// How QEMU ended, if it has.
    /// # Errors
    /// It cannot be waited for.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = self.child.try_wait()?;
        }
        Ok(self.status)
    }

    /// Waits until the guest has switched itself off, for so long.
    /// # Errors
    /// It cannot be waited for.
    pub fn wait(&mut self, patience: Ns) -> io::Result<Option<ExitStatus>> {
        let deadline = clock::now().plus(patience);
        loop {
            let ended = self.ended()?;
            if ended.is_some() || clock::now() >= deadline {
                return Ok(ended);
            }
            clock::sleep_until(clock::now().plus(POLL));
        }
    }

    /// Ends QEMU at once, as a power failure does.
    pub fn kill(&mut self) {
        if self.status.is_none() {
            // An error means that it has ended.
            let _ = self.child.kill();
            self.status = self.child.wait().ok();
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // The ports close first: a guest that lives switches itself off.
        self.ports.clear();
        if !matches!(self.wait(GRACE), Ok(Some(_))) {
            self.kill();
        }
    }
}

/// The program.
pub const QEMU: &str = "qemu-system-x86_64";

/// QEMU's version.
/// # Errors
/// It is not there.
pub fn qemu_version() -> Result<String, GuestError> {
    let said = Command::new(QEMU).arg("--version").output();
    let said = said.map_err(|why| GuestError::NoQemu { program: QEMU.to_owned(), why })?;
    let text = String::from_utf8_lossy(&said.stdout);
    let version = text.split_once("version ").and_then(|(_, rest)| rest.split([' ', '\n']).next());
    Ok(version.unwrap_or("of an unknown version").to_owned())
}

/// The path under which a file without a name is opened by a child.
fn image_path(file: &fs::File) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

/// A QEMU that has not connected yet.
struct Starting {
    name: String,
    child: Child,
    console: Arc<Mutex<Vec<u8>>>,
}

impl Starting {
    /// The connection that QEMU makes.
    fn connected(&mut self, door: &Door) -> Result<UnixStream, GuestError> {
        let deadline = clock::now().plus(CONNECTS);
        loop {
            match door.accept(self.child.id()) {
                Ok(Some(stream)) => return Ok(stream),
                Ok(None) => {}
                Err(why) => return Err(self.over(why.to_string())),
            }
            match self.child.try_wait() {
                Ok(Some(status)) => return Err(self.over(format!("QEMU ended with {status}"))),
                Err(why) => return Err(self.over(why.to_string())),
                Ok(None) => {}
            }
            if clock::now() >= deadline {
                return Err(self.over(format!(
                    "QEMU did not connect within {} s",
                    CONNECTS.0 / 1_000_000_000
                )));
            }
            clock::sleep_until(clock::now().plus(POLL));
        }
    }

    fn over(&mut self, how: String) -> GuestError {
        self.kill();
        // What it said comes by another thread.
        clock::sleep_until(clock::now().plus(Ns::millis(50)));
        let said = last_output(&String::from_utf8_lossy(&lock(&self.console)));
        let how = if said.is_empty() { how } else { format!("{how}; it said: {said}") };
        GuestError::Ended { name: self.name.clone(), how }
    }

    fn kill(&mut self) {
        // Errors mean that it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A socket that waits for one connection, under an abstract name: nothing of it stays on a file system.
struct Door {
    name: String,
    listener: UnixListener,
}

impl Door {
    fn open() -> io::Result<Door> {
        let mut random = [0; 16];
        clock::unpredictable(&mut random)?;
        let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let name = format!("wirespeed-{name}");
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        listener.set_nonblocking(true)?;
        Ok(Door { name, listener })
    }

    /// A connection of this process; those of others are closed.
    fn accept(&self, process: u32) -> io::Result<Option<UnixStream>> {
        match self.listener.accept() {
            Ok((stream, _)) => {
                let peer = rustix::net::sockopt::socket_peercred(&stream)?;
                if peer.pid.as_raw_nonzero().get().unsigned_abs() != process {
                    return Ok(None);
                }
                stream.set_nonblocking(false)?;
                Ok(Some(stream))
            }
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(why) => Err(why),
        }
    }
}

/// Keeps the last bytes of what comes.
fn listen(mut output: impl Read + Send + 'static, console: Arc<Mutex<Vec<u8>>>) -> io::Result<()> {
    let keep = move || {
        let mut chunk = [0; 1024];
        while let Ok(count @ 1..) = output.read(&mut chunk) {
            let mut kept = lock(&console);
            kept.extend_from_slice(&chunk[..count]);
            let surplus = kept.len().saturating_sub(CONSOLE_MAX);
            kept.drain(..surplus);
        }
    };
    thread::Builder::new().name("guest-console".to_owned()).spawn(keep).map(drop)
}

fn lock(console: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    console.lock().unwrap_or_else(PoisonError::into_inner)
}

fn last_output(console: &str) -> String {
    const LINES: usize = 4;
    let lines: Vec<&str> = console.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    // What follows a panic is a list of registers.
    let panic = lines.iter().position(|line| line.contains("Kernel panic"));
    let end = panic.map_or(lines.len(), |line| line + 1);
    lines[end.saturating_sub(LINES)..end].join("; ")
}
