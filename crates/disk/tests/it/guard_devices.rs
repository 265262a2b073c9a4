//! Hundreds of attempts to write where nobody should, on real loop devices: mounted, in use as swap, held by others,
//! partitioned, carrying something, named with a stale token, reached by a link. None goes through, and nothing changes.
//!
//! Needs root and loop devices; where they are missing each test says so, which is a failure in CI.

use crate::common::*;
use crate::prelude::*;
use std::cell::Cell;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::process::{Command, Output, Stdio};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

const MIB: u64 = 1 << 20;
const SIZE: u64 = 64 * MIB;

/// A loop device over a sparse file of its own.
struct Loop {
    folder: TempDir,
    device: PathBuf,
    /// Set when the device was given up: what has its number then is another test's.
    lost: Cell<bool>,
}

impl Loop {
    /// `None`, with a line that says so, where there can be none.
    fn new() -> Option<Loop> {
        let folder = tempfile::tempdir().expect("a directory");
        let backing = folder.path().join("backing");
        File::create(&backing).and_then(|f| f.set_len(SIZE)).expect("room");
        match run_tool("losetup", &["--find", "--show", "--partscan", path(&backing)]) {
            Some(device) => {
                let device = PathBuf::from(device.trim());
                Some(Loop { folder, device, lost: Cell::new(false) })
            }
            None => {
                println!("skipped: no loop devices here (root and `losetup` are needed)");
                None
            }
        }
    }

    fn backing(&self) -> PathBuf {
        self.folder.path().join("backing")
    }

    fn spec(&self) -> TargetSpec {
        file(&self.device, None)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if !self.lost.get() {
            let _ = Command::new("losetup").args(["-d", path(&self.device)]).status();
        }
    }
}

/// Something that is undone in the end, whatever happens: a command.
struct Undo(&'static str, Vec<String>);

impl Drop for Undo {
    fn drop(&mut self) {
        let _ = settled(
            || Command::new(self.0).args(&self.1).output().map_err(drop),
            |output| output.as_ref().is_ok_and(is_busy),
        );
    }
}

/// A mounted file system, which no other test may copy into a namespace of its own while it is there: in the copy it would
/// stay mounted, and its device in use, after it was unmounted here.
struct Mounted {
    /// Unmounts first.
    _mount: Undo,
    _shared: RwLockReadGuard<'static, ()>,
}

/// Held by all that mount, and alone by whoever copies the mounts.
static MOUNTS: RwLock<()> = RwLock::new(());

/// Asks again, for some seconds, what a moment may change: a process that another test has just forked holds all that this
/// process had open, an exclusive open of a device among that, until it becomes another program; and one with a namespace
/// of its own keeps what was mounted when it began.
fn settled<T>(mut ask: impl FnMut() -> T, passing: impl Fn(&T) -> bool) -> T {
    let limit = clock::now().plus(Ns::secs(30));
    loop {
        let answer = ask();
        if !passing(&answer) || clock::now() >= limit {
            return answer;
        }
        clock::sleep_until(clock::now().plus(Ns::millis(50)));
    }
}

/// Whether a command failed because something is in use.
fn is_busy(output: &Output) -> bool {
    let words = String::from_utf8_lossy(&output.stderr);
    !output.status.success() && (words.contains("busy") || words.contains("in use"))
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// What a command printed; `None` where it is missing or failed.
fn run_tool(name: &str, args: &[&str]) -> Option<String> {
    let run = || Command::new(name).args(args).output();
    let output = settled(run, |output| output.as_ref().is_ok_and(is_busy)).ok()?;
    let text = || String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then(text)
}

/// A command that this test cannot do without.
#[track_caller]
fn must(name: &str, args: &[&str]) -> String {
    run_tool(name, args).unwrap_or_else(|| panic!("`{name} {}` works", args.join(" ")))
}

fn mkfs(device: &Path) {
    must("mkfs.ext4", &["-q", "-F", path(device)]);
}

/// Mounted so that the file system itself writes nothing: what changes would be our doing.
fn mount(device: &Path, at: &Path) -> Mounted {
    let shared = MOUNTS.read().unwrap_or_else(PoisonError::into_inner);
    Mounted { _mount: mount_unshared(device, at), _shared: shared }
}

fn mount_unshared(device: &Path, at: &Path) -> Undo {
    fs::create_dir_all(at).expect("a directory");
    must("mount", &["-o", "ro", path(device), path(at)]);
    Undo("umount", vec![path(at).to_owned()])
}

/// The token that `plan` prints.
#[track_caller]
fn token(spec: &TargetSpec) -> String {
    let examined = inspect(spec, true).examined.expect("not our own").expect("readable");
    examined.token
}

fn with_token(spec: &TargetSpec) -> TargetSpec {
    TargetSpec { write_token: Some(token(spec)), ..spec.clone() }
}

fn overwrite(spec: &TargetSpec) -> TargetSpec {
    TargetSpec { overwrite: true, ..with_token(spec) }
}

fn digest(of: &Path) -> u64 {
    let mut file = File::open(of).expect("readable");
    let mut hasher = DefaultHasher::new();
    let mut block = vec![0; 1 << 20];
    loop {
        match file.read(&mut block).expect("readable") {
            0 => return hasher.finish(),
            n => block[..n].hash(&mut hasher),
        }
    }
}

fn attempt(engine: &mut DiskEngine, spec: &TargetSpec) -> Result<Outcome, EngineError> {
    let mut step = step(spec.clone(), 2, random(4 * KIB, 50.0, closed(4)), Ns::millis(50));
    (step.warmup, step.cooldown) = (Ns::ZERO, Ns::ZERO);
    run_on(engine, &step)
}

/// Plan and run refuse this, in these words, on engines old and new, and not a byte of `guarded` changes.
#[track_caller]
fn check_refused(spec: &TargetSpec, guarded: &Path, words: &str) {
    let before = digest(guarded);
    let mut engine = DiskEngine::new(Pinning::Never);
    for _ in 0..3 {
        let run = settled(|| attempt(&mut engine, spec).map(drop), |got| is_held(got, words));
        let plan = settled(|| inspect(spec, true).fate.map(drop), |got| is_held(got, words));
        for result in [run, plan] {
            match result {
                Err(EngineError::Refused(why)) => {
                    assert!(why.contains(words), "{words:?} in {why}")
                }
                other => panic!("expected a refusal with {words:?}, got {other:?}"),
            }
        }
    }
    assert_eq!(digest(guarded), before, "changed by a refused attempt");
}

/// Whether the refusal is for an open or a mount of another process, and another reason is looked for.
fn is_held<T>(got: &Result<T, EngineError>, words: &str) -> bool {
    // Another test's losetup opens every loop device while it looks for a free one.
    let reasons = ["exclusively", "mounted at", "open for writing by"];
    let passing = |why: &str| reasons.iter().any(|reason| why.contains(reason));
    let held = |why: &str| passing(why) && !why.contains(words);
    matches!(got, Err(EngineError::Refused(why)) if held(why))
}

/// No way of asking helps: without a token, with it, with both flags, with another's.
#[track_caller]
fn check_closed(spec: &TargetSpec, guarded: &Path, words: &str) {
    let stray = TargetSpec { write_token: Some("ws-00000-00000".into()), ..spec.clone() };
    for spec in [spec.clone(), with_token(spec), overwrite(spec), stray] {
        check_refused(&spec, guarded, words);
    }
}

#[track_caller]
fn check_granted(spec: &TargetSpec) {
    let run = || attempt(&mut DiskEngine::new(Pinning::Never), spec);
    // On a machine that stands still for the whole of a short load, nothing is done, and nothing is shown.
    let nothing =
        |got: &Result<_, EngineError>| got.as_ref().is_ok_and(|of: &Outcome| of.ops() == 0);
    let passing = |got: &Result<_, EngineError>| is_held(got, "a grant") || nothing(got);
    let outcome = settled(run, passing).expect("a grant");
    assert_eq!((outcome.verdict.clone(), outcome.errors()), (Ok(()), 0));
    assert!(outcome.ops() > 0);
}

#[test]
fn a_device_is_not_written_unasked_and_not_made() {
    let Some(device) = Loop::new() else { return };
    check_refused(&device.spec(), &device.backing(), "the block device");
    let sized = file(&device.device, Some(MIB));
    check_refused(&sized, &device.backing(), "a block device");
    let report = inspect(&device.spec(), false);
    assert_eq!(report.what, "a block device");
    assert_eq!(report.size, Some(SIZE));
}

#[test]
fn an_empty_device_is_written_with_its_token_and_with_nothing_else() {
    let Some(device) = Loop::new() else { return };
    let spec = device.spec();
    check_refused(&spec, &device.backing(), "the block device loop");
    check_refused(&spec, &device.backing(), "67108864 bytes");
    for wrong in ["", "yes", "ws-", "ws-zzzzz-zzzzz", "WS-0000"] {
        let spec = TargetSpec { write_token: Some(wrong.into()), overwrite: true, ..spec.clone() };
        check_refused(&spec, &device.backing(), "no token");
    }
    check_granted(&with_token(&spec));
    // What Wirespeed wrote itself is no data that anybody misses.
    check_granted(&with_token(&spec));
}

#[test]
fn a_granted_device_is_filled_before_its_first_load() {
    let Some(device) = Loop::new() else { return };
    let demand = workload::IoDemand::of(&random(4 * KIB, 50.0, closed(4)));
    check_granted(&TargetSpec { demand, ..with_token(&device.spec()) });
    let bytes = fs::read(device.backing()).expect("readable");
    let mut blocks: Vec<&[u8]> = bytes.chunks(4096).collect();
    assert!(blocks.iter().all(|block| block.iter().any(|byte| *byte != 0)), "unwritten blocks");
    blocks.sort();
    blocks.dedup();
    assert_eq!(blocks.len() as u64, SIZE / 4096, "repeated blocks");
}

#[test]
fn steps_and_workers_share_an_exclusive_grant() {
    let Some(device) = Loop::new() else { return };
    let spec = with_token(&device.spec());
    let mut engine = DiskEngine::new(Pinning::Never);
    for _ in 0..3 {
        settled(|| attempt(&mut engine, &spec), |got| is_held(got, "a grant")).expect("a grant");
        let claim = must_fail("mount", &[path(&device.device), path(device.folder.path())]);
        assert!(claim, "mounted between two steps");
    }
    drop(engine);
    mkfs(&device.device);
    drop(mount(&device.device, &device.folder.path().join("m")));
}

/// Whether a command fails, as it should.
fn must_fail(name: &str, args: &[&str]) -> bool {
    Command::new(name).args(args).stderr(Stdio::null()).status().is_ok_and(|s| !s.success())
}

#[test]
fn a_mounted_device_is_closed() {
    let Some(device) = Loop::new() else { return };
    mkfs(&device.device);
    let at = device.folder.path().join("a place\twith blanks");
    let alone = MOUNTS.write().unwrap_or_else(PoisonError::into_inner);
    let mounted = mount_unshared(&device.device, &at);
    check_closed(&device.spec(), &device.device, "mounted at");
    // Seen from another namespace only, it is mounted all the same.
    let mut elsewhere = Command::new("unshare")
        .args(["--mount", "sleep", "60"])
        .spawn()
        .expect("root has namespaces");
    let hidden = (0..100).any(|_| {
        clock::sleep_until(clock::now().plus(Ns::millis(20)));
        let own = fs::read_link("/proc/self/ns/mnt").ok();
        fs::read_link(format!("/proc/{}/ns/mnt", elsewhere.id())).is_ok_and(|ns| Some(ns) != own)
    });
    drop(mounted);
    assert!(hidden, "a namespace of its own");
    check_closed(&device.spec(), &device.device, "a place\twith blanks");
    let _ = elsewhere.kill();
    let _ = elsewhere.wait();
    drop(alone);
    check_refused(&with_token(&device.spec()), &device.backing(), "ext");
    check_granted(&overwrite(&device.spec()));
}

#[test]
fn a_device_mounted_between_plan_and_run_is_closed() {
    let Some(device) = Loop::new() else { return };
    mkfs(&device.device);
    let planned = overwrite(&device.spec());
    let fate = settled(|| inspect(&planned, true).fate.map(drop), |got| is_held(got, "no reason"));
    assert!(fate.is_ok(), "the plan would run: {fate:?}");
    let _mounted = mount(&device.device, &device.folder.path().join("m"));
    check_refused(&planned, &device.device, "mounted at");
}

#[test]
fn a_device_that_changed_since_the_plan_has_another_token() {
    let Some(device) = Loop::new() else { return };
    let planned = overwrite(&device.spec());
    // Larger now.
    let backing = File::options().write(true).open(device.backing()).expect("ours");
    backing.set_len(2 * SIZE).expect("room");
    must("losetup", &["-c", path(&device.device)]);
    check_refused(&planned, &device.backing(), "stale");
    // Another medium of the first size at the same place.
    let planned = overwrite(&device.spec());
    must("losetup", &["-d", path(&device.device)]);
    let other = device.folder.path().join("other");
    File::create(&other).and_then(|f| f.set_len(2 * SIZE)).expect("room");
    if run_tool("losetup", &[path(&device.device), path(&other)]).is_none() {
        // Another test took the place, which is its right.
        device.lost.set(true);
        return;
    }
    check_refused(&planned, &other, "stale");
}

#[test]
fn swap_is_closed() {
    let Some(device) = Loop::new() else { return };
    must("mkswap", &[path(&device.device)]);
    let spec = device.spec();
    check_refused(&with_token(&spec), &device.backing(), "swap");
    must("swapon", &[path(&device.device)]);
    let _on = Undo("swapoff", vec![path(&device.device).to_owned()]);
    check_closed(&spec, &device.device, "in use as swap");
}

#[test]
fn a_file_in_use_as_swap_or_behind_a_loop_device_is_closed() {
    let Some(device) = Loop::new() else { return };
    check_closed(&file(&device.backing(), None), &device.backing(), "held by the loop device");
    let swap = device.folder.path().join("swap");
    fs::write(&swap, vec![0; 8 << 20]).expect("room");
    fs::set_permissions(&swap, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("ours");
    must("mkswap", &[path(&swap)]);
    if run_tool("swapon", &[path(&swap)]).is_none() {
        // Not every file system can hold swap.
        return;
    }
    let _on = Undo("swapoff", vec![path(&swap).to_owned()]);
    check_closed(&file(&swap, None), &swap, "in use as swap");
}

#[test]
fn a_loop_device_over_a_device_closes_it() {
    let Some(below) = Loop::new() else { return };
    let above = must("losetup", &["--find", "--show", path(&below.device)]).trim().to_owned();
    let _detach = Undo("losetup", vec!["-d".into(), above.clone()]);
    check_closed(&below.spec(), &below.device, "held by the loop device");
    // And the upper one while the lower one is mounted by another way.
    mkfs(Path::new(&above));
    let _mounted = mount(&below.device, &below.folder.path().join("m"));
    check_closed(&file(Path::new(&above), None), Path::new(&above), "behind it is mounted");
}

#[test]
fn a_device_that_another_program_holds_exclusively_is_closed() {
    let Some(device) = Loop::new() else { return };
    // Closed in what other tests start meanwhile.
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::EXCL | rustix::fs::OFlags::CLOEXEC;
    let _held = rustix::fs::open(&device.device, flags, rustix::fs::Mode::empty()).expect("ours");
    check_closed(&device.spec(), &device.backing(), "exclusively");
}

#[test]
fn a_link_to_a_device_is_the_device() {
    let Some(device) = Loop::new() else { return };
    let links = [device.folder.path().join("by-id"), device.folder.path().join("by-name")];
    std::os::unix::fs::symlink(&device.device, &links[0]).expect("a link");
    std::os::unix::fs::symlink(&links[0], &links[1]).expect("a link");
    let spec = file(&links[1], None);
    assert_eq!(token(&spec), token(&device.spec()));
    check_refused(&spec, &device.backing(), "the block device loop");
    mkfs(&device.device);
    let mounted = mount(&device.device, &device.folder.path().join("m"));
    check_closed(&spec, &device.device, "mounted at");
    drop(mounted);
    check_granted(&overwrite(&spec));
}

/// A device with one partition that the kernel knows; `None` where it cannot be told of one.
fn partitioned(device: &Loop) -> Option<PathBuf> {
    let table = device.folder.path().join("table");
    fs::write(&table, "label: gpt\nstart=2048, size=40960\n").expect("room");
    let script = format!("sfdisk -q {} < {}", path(&device.device), path(&table));
    must("sh", &["-c", &script]);
    run_tool("partx", &["--add", path(&device.device)]);
    let part = PathBuf::from(format!("{}p1", path(&device.device)));
    if !part.exists() {
        println!("skipped: the kernel makes no partitions on loop devices (`partx` is needed)");
        return None;
    }
    Some(part)
}

#[test]
fn a_partition_table_is_given_up_only_by_the_second_flag() {
    let Some(device) = Loop::new() else { return };
    let Some(_part) = partitioned(&device) else { return };
    check_refused(&with_token(&device.spec()), &device.backing(), "partition table");
    must("partx", &["--delete", path(&device.device)]);
    check_granted(&overwrite(&device.spec()));
}

#[test]
fn a_disk_with_a_mounted_partition_is_closed_and_so_is_the_partition() {
    let Some(device) = Loop::new() else { return };
    let Some(part) = partitioned(&device) else { return };
    mkfs(&part);
    let mounted = mount(&part, &device.folder.path().join("m"));
    check_closed(&device.spec(), &device.device, "its partition loop");
    check_closed(&file(&part, None), &part, "mounted at");
    drop(mounted);
    check_refused(&with_token(&file(&part, None)), &part, "ext");
    check_granted(&overwrite(&file(&part, None)));
}

#[test]
fn a_partition_of_a_mounted_disk_is_closed() {
    let Some(device) = Loop::new() else { return };
    // A file system on the whole disk, and a partition told to the kernel by hand.
    mkfs(&device.device);
    run_tool("addpart", &[path(&device.device), "1", "2048", "40960"]);
    let part = PathBuf::from(format!("{}p1", path(&device.device)));
    if !part.exists() {
        return println!(
            "skipped: the kernel makes no partitions on loop devices (`addpart` is needed)"
        );
    }
    let _mounted = mount(&device.device, &device.folder.path().join("m"));
    check_closed(&file(&part, None), &part, "its disk loop");
}

/// Every file system that can be made here, and data that has no name, at places far apart.
#[test]
fn whatever_a_device_carries_is_given_up_only_by_the_second_flag() {
    let Some(device) = Loop::new() else { return };
    let makers: [(&str, &[&str], &str); 6] = [
        ("mkfs.ext2", &["-q", "-F"], "ext"),
        ("mkfs.ext4", &["-q", "-F"], "ext"),
        ("mkfs.xfs", &["-q", "-f", "--unsupported"], "XFS"),
        ("mkfs.vfat", &[], "FAT"),
        ("mkswap", &[], "swap"),
        ("mkfs.btrfs", &["-q", "-f", "--mixed"], "Btrfs"),
    ];
    for (tool, args, words) in makers {
        wipe(&device);
        let args: Vec<&str> = args.iter().copied().chain([path(&device.device)]).collect();
        if run_tool(tool, &args).is_none() {
            println!("skipped: {tool} is not here");
            continue;
        }
        check_refused(&with_token(&device.spec()), &device.backing(), words);
    }
    for at in [0, SIZE / 2, SIZE - 4096] {
        wipe(&device);
        let mut file = File::options().write(true).open(device.backing()).expect("ours");
        // A stretch that a thousand samples cannot miss, and single blocks at either end.
        let len = if at == SIZE / 2 { 256 << 10 } else { 512 };
        file.seek(SeekFrom::Start(at)).expect("within");
        file.write_all(&vec![0x5a; len]).expect("room");
        file.sync_all().expect("written");
        must("blockdev", &["--flushbufs", path(&device.device)]);
        check_refused(
            &with_token(&device.spec()),
            &device.backing(),
            "data that Wirespeed did not write",
        );
    }
    check_granted(&overwrite(&device.spec()));
}

/// Nothing but zeros again.
fn wipe(device: &Loop) {
    let file = File::options().write(true).open(device.backing()).expect("ours");
    file.set_len(0).and_then(|()| file.set_len(SIZE)).expect("room");
    must("blockdev", &["--flushbufs", path(&device.device)]);
}

#[test]
fn reading_needs_no_token_and_changes_nothing() {
    let Some(device) = Loop::new() else { return };
    mkfs(&device.device);
    let _mounted = mount(&device.device, &device.folder.path().join("m"));
    let before = digest(&device.device);
    let step = step(device.spec(), 2, random(4 * KIB, 100.0, closed(4)), Ns::millis(50));
    let outcome = run(&step).expect("reading is always allowed");
    assert!(outcome.ops() > 0 && outcome.errors() == 0);
    assert_eq!(digest(&device.device), before);
}

#[test]
fn a_foreign_file_is_written_with_its_token_alone() {
    let folder = tempfile::tempdir().expect("a directory");
    let data = folder.path().join("data");
    fs::write(&data, vec![0; MIB as usize]).expect("room");
    let spec = file(&data, None);
    check_refused(&spec, &data, "not made by Wirespeed");
    let planned = with_token(&spec);
    check_granted(&planned);
    // Another file in its place is another file.
    fs::remove_file(&data).expect("ours");
    fs::write(&data, vec![0; MIB as usize]).expect("room");
    check_refused(&planned, &data, "stale");
    fs::write(&data, vec![1; MIB as usize]).expect("room");
    check_refused(&with_token(&spec), &data, "data that Wirespeed did not write");
    fs::hard_link(&data, folder.path().join("second")).expect("a link");
    check_refused(&overwrite(&spec), &data, "2 names");
}
