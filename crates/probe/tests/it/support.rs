//! Programs that the tests talk to, ended with the test, and what skips a test that lacks them.

use clock::Ns;
use probe::source::{Place, Trouble};
use probe::watch::Watch;
use std::net::{TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};

/// Whether a program can be run; where not, the test says so, and fails where nothing may be missing.
pub fn has(program: &str) -> bool {
    let found = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path)
            .chain(["/usr/sbin".into(), "/sbin".into()])
            .any(|folder| folder.join(program).exists())
    });
    found || skipped(&format!("no {program}"))
}

/// Says what is missing.
pub fn skipped(why: &str) -> bool {
    println!("skipped: {why}");
    assert!(std::env::var_os("CI").is_none(), "missing: {why}");
    false
}

/// A program that ends with the test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a program in silence.
pub fn start(command: &mut Command) -> Running {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Running(command.spawn().expect("a program that starts"))
}

/// The output of a program.
pub fn output(program: &str, args: &[&str]) -> String {
    let out = Command::new(program).args(args).output().expect(program);
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// A UDP port that is free on loopback.
pub fn udp_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.local_addr().expect("an address").port()
}

/// A TCP port that is free on loopback.
pub fn tcp_port() -> u16 {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a socket");
    socket.local_addr().expect("an address").port()
}

/// Places of a source once it answers; a program takes a while to start.
pub fn places(watch: &Watch) -> Vec<Place> {
    let end = clock::now().plus(Ns::secs(20));
    loop {
        match watch.places(clock::now().plus(Ns::secs(10))) {
            Ok(places) => return places,
            Err(why) => assert!(clock::now() < end, "{}: {why}", watch.name()),
        }
        clock::sleep_until(clock::now().plus(Ns::millis(100)));
    }
}

/// What a source says that never answers as it should.
pub fn trouble(watch: &Watch, within: Ns) -> Trouble {
    watch.places(clock::now().plus(within)).expect_err("a source without places")
}

/// A look of a watch that was asked for one.
pub fn look(watch: &Watch) -> Option<probe::accrual::Totals> {
    watch.ask();
    watch.latest(clock::now().plus(Ns::secs(10)))
}
