//! Guests that boot, with each adapter, and how they end.

use clock::Ns;
use guest::{Accelerator, Adapter, Backing, Drive, Guest, Image, KeptMemory, Kernel, Machine};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

const MIB: u64 = 1 << 20;

/// The example that this crate's tests are built beside.
fn first_process() -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    test.ancestors().nth(2).expect("a target directory").join("examples/first_process")
}

pub fn keeper() -> Vec<OsString> {
    ["setpriv", "--pdeathsig", "KILL", "--"].map(OsString::from).to_vec()
}

/// The kernel, or why the test is skipped; in CI it is always there.
pub fn kernel() -> Option<Kernel> {
    match Kernel::find(None) {
        Ok(kernel) => Some(kernel),
        Err(why) => {
            println!("skipped: {why}");
            assert!(std::env::var_os("CI").is_none(), "{why}");
            None
        }
    }
}

pub fn accelerator(kernel: &Kernel) -> Accelerator {
    static BEST: OnceLock<Accelerator> = OnceLock::new();
    *BEST.get_or_init(|| Accelerator::best(kernel).0)
}

fn machine(kernel: &Kernel, drives: Vec<Drive>) -> Machine {
    Machine {
        name: "test".to_owned(),
        memory: 128 * MIB,
        vcpus: 1,
        accelerator: accelerator(kernel),
        drives,
        ports: vec!["lines".to_owned()],
        network: None,
        kept: None,
    }
}

/// What a guest without room boots, which is packed tightest.
fn tightest(kernel: &Kernel, machine: &Machine) -> Image {
    let of_room =
        |room| Image::new(kernel, &first_process(), &machine.modules(), room).expect("an image");
    let image = of_room(0);
    assert!(image.memory() < of_room(u64::MAX).memory());
    image
}

/// A conversation in lines.
struct Lines {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
}

impl Lines {
    fn of(guest: &mut Guest) -> Lines {
        let writer = guest.port(0).expect("the port");
        writer.set_read_timeout(Some(Duration::from_secs(120))).expect("a timeout");
        Lines { reader: BufReader::new(writer.try_clone().expect("a clone")), writer }
    }

    fn ask(&mut self, line: &str) -> String {
        writeln!(self.writer, "{line}").expect("the guest reads");
        let mut answer = String::new();
        self.reader.read_line(&mut answer).expect("the guest answers");
        answer.trim_end().to_owned()
    }
}

#[test]
fn a_disk_is_found_by_its_serial_number_behind_every_adapter() {
    let Some(kernel) = kernel() else { return };
    let file = tempfile::NamedTempFile::new().expect("a file");
    file.as_file().set_len(8 * MIB).expect("its size");
    // Two behind each, of which the second one is read-only and of another size.
    let of = |(number, adapter): (u64, Adapter)| {
        let null = Backing::Null { size: (4 + number) * MIB };
        let backing = Backing::File { path: file.path().to_owned(), direct: false };
        let read_only = adapter.may_be_read_only();
        [
            Drive {
                adapter,
                controller: 0,
                serial: format!("NULL{number}"),
                backing: null,
                read_only: false,
            },
            Drive { adapter, controller: 0, serial: format!("FILE{number}"), backing, read_only },
        ]
    };
    let drives: Vec<Drive> = (0..).zip(Adapter::ALL).flat_map(of).collect();
    // Two writers of one file would be refused.
    let drives: Vec<Drive> = drives.into_iter().filter(|drive| drive.serial != "FILE6").collect();
    let machine = machine(&kernel, drives.clone());
    let image = Image::new(&kernel, &first_process(), &machine.modules(), machine.memory)
        .expect("an image");
    let mut guest = Guest::start(&machine, &image, &keeper()).unwrap_or_else(|why| panic!("{why}"));
    let mut lines = Lines::of(&mut guest);
    for (number, drive) in (0..).zip(&drives) {
        let answer = lines.ask(&format!("disk {}", drive.serial));
        let (device, bytes) = answer.split_once(' ').unwrap_or_default();
        let size = if drive.serial.starts_with("FILE") { 8 } else { 4 + number / 2 } * MIB;
        let adapter = drive.adapter;
        assert!(device.starts_with("/dev/"), "{adapter}: {answer}\n{}", guest.console());
        assert_eq!(bytes, size.to_string(), "{adapter}: {answer}");
    }
    drop(lines);
    let ended = guest.wait(Ns::secs(60)).expect("it can be waited for");
    assert!(ended.is_some_and(|status| status.success()), "{}", guest.console());
}

#[test]
fn a_guest_stops_goes_on_moves_without_losing_a_line_loses_its_power_and_panics() {
    let Some(kernel) = kernel() else { return };
    let file = tempfile::NamedTempFile::new().expect("a file");
    file.as_file().set_len(8 * MIB).expect("its size");
    let backing = Backing::File { path: file.path().to_owned(), direct: false };
    let serial = "MOVES".to_owned();
    let disk = |adapter| Drive {
        adapter,
        controller: 0,
        serial: serial.clone(),
        backing: backing.clone(),
        read_only: false,
    };
    let mut machine = machine(&kernel, vec![disk(Adapter::Pvscsi)]);
    let kept = || Some(KeptMemory::new(64 * MIB).expect("memory"));
    machine.kept = kept();
    let image = tightest(&kernel, &machine);
    let mut guest = Guest::start(&machine, &image, &keeper()).expect("a guest");
    let mut lines = Lines::of(&mut guest);
    assert!(lines.ask("disk MOVES").ends_with(" 8388608"), "{}", guest.console());
    guest.control().execute("stop", Value::Null).expect("it stops");
    let status = guest.control().execute("query-status", Value::Null).expect("a status");
    assert_eq!(status["status"], "paused");
    guest.control().execute("cont", Value::Null).expect("it goes on");
    assert_eq!(lines.ask("again"), "again");
    assert_eq!([lines.ask("count"), lines.ask("count")], ["1", "2"], "{}", guest.console());
    let events = guest.control().events().expect("events");
    let names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    assert!(names.contains(&"STOP") && names.contains(&"RESUME"), "{names:?}");
    let first = guest.process();
    // What is asked meanwhile, more than once a migration, is answered in order.
    let (over, is_over) = std::sync::mpsc::channel::<()>();
    let asking = std::thread::spawn(move || {
        let mut asked = 0;
        while is_over.try_recv() != Err(std::sync::mpsc::TryRecvError::Disconnected) || asked < 50 {
            asked += 1;
            assert_eq!(lines.ask(&format!("line {asked}")), format!("line {asked}"));
        }
        lines
    });
    let patience = Ns::secs(120);
    machine.kept = kept();
    let moved = guest.relocate(&machine, &image, &keeper(), patience).expect("it moves");
    drop(over);
    let mut lines = asking.join().unwrap_or_else(|_| panic!("{}", guest.console()));
    assert_ne!(guest.process(), first);
    assert!(!std::path::Path::new(&format!("/proc/{first}")).exists(), "the first QEMU is there");
    assert!(moved.copied > MIB && moved.stood_still < moved.total, "{moved:?}");
    assert!(lines.ask("disk MOVES").ends_with(" 8388608"), "{}", guest.console());
    // One that is not the same machine takes nothing over, and the guest goes on where it is.
    machine.drives[0] = disk(Adapter::VirtioScsi);
    let second = guest.process();
    let why = guest.relocate(&machine, &image, &keeper(), patience).expect_err("another machine");
    assert!(!why.to_string().is_empty());
    assert_eq!(guest.process(), second);
    guest.control().execute("cont", Value::Null).expect("it goes on");
    assert_eq!([lines.ask("still here"), lines.ask("count")], ["still here", "3"]);
    // What it keeps is there after its power was lost, wherever it was.
    machine.drives[0] = disk(Adapter::Pvscsi);
    guest.kill();
    assert_eq!(lines.reader.read_line(&mut String::new()).expect("the end"), 0);
    guest.boot_again(&machine, &image, &keeper()).unwrap_or_else(|why| panic!("{why}"));
    assert_ne!(guest.process(), second);
    let mut lines = Lines::of(&mut guest);
    assert_eq!(lines.ask("count"), "4", "{}", guest.console());
    assert!(lines.ask("disk MOVES").ends_with(" 8388608"), "{}", guest.console());
    writeln!(lines.writer, "die").expect("the guest reads");
    assert!(guest.wait(Ns::secs(60)).expect("it can be waited for").is_some());
    assert!(guest.console().contains("Attempted to kill init"), "{}", guest.console());
}

#[test]
fn what_cannot_start_says_why() {
    let Some(kernel) = kernel() else { return };
    let mut machine = machine(&kernel, Vec::new());
    let image = Image::new(&kernel, &first_process(), &machine.modules(), machine.memory)
        .expect("an image");
    machine.drives.push(Drive {
        adapter: Adapter::Nvme,
        controller: 0,
        serial: "GONE".to_owned(),
        backing: Backing::File { path: "/nowhere/disk".into(), direct: false },
        read_only: false,
    });
    let why = Guest::start(&machine, &image, &keeper()).err().expect("no guest").to_string();
    assert!(why.contains("/nowhere/disk") && why.contains("No such file"), "{why}");
    let none = Image::new(&kernel, &first_process(), &["no-such-module"], u64::MAX);
    let why = none.err().expect("no image").to_string();
    assert!(why.contains("no module no_such_module"), "{why}");
    let missing = Kernel::find(Some("/nowhere".as_ref())).expect_err("no kernel").to_string();
    assert!(missing.contains("/nowhere"), "{missing}");
}
