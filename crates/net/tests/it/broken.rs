//! What breaks in the middle: an end that is killed or stopped, a control connection that turns to nonsense, a stream that is
//! reset, a host without a route. The other end says what it saw, soon, and the receiver is ready for the next.

use crate::between::{Between, idle};
use crate::prelude::*;
use crate::support::{
    Bench, Told, begin, counted, engine, place, port, short, step_of, try_run, ways, with,
};
use rustix::net::sockopt;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

const LOADS: [Carriage; 5] = [
    Carriage::Tcp,
    Carriage::Udp { segmented: false },
    Carriage::DatagramExchange { response: 64 },
    Carriage::Exchange { response: 64 },
    Carriage::Connects { response: 64 },
];

fn long(load: Carriage) -> TestSpec {
    with(TestSpec { measure: Ns::secs(600), ..short(load) }, |n| ways(n, 2, 0))
}

#[track_caller]
fn told(result: Result<Told, String>, hints: &[&str]) {
    let error = result.err().expect("it cannot come to its end");
    assert!(hints.iter().any(|hint| error.contains(hint)), "none of {hints:?} is in {error:?}");
}

/// What makes a test of this file another end, in a process of its own.
const ROLE: &str = "NET_TEST_ROLE";

/// This very program as the other end, which waits to be killed.
struct Other {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Other {
    fn start(test: &str, role: &str) -> Other {
        let mut command = Command::new(std::env::current_exe().expect("it runs"));
        command.args(["--exact", test, "--nocapture"]).env(ROLE, role);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts once more");
        let lines = BufReader::new(child.stdout.take().expect("it is a pipe"));
        Other { child, lines }
    }

    /// What it says of itself, beside what a test runner says.
    fn says(&mut self) -> String {
        let mut line = String::new();
        while !line.contains("says:") {
            line.clear();
            assert!(self.lines.read_line(&mut line).expect("it writes text") > 0, "it has ended");
        }
        line.split("says:").nth(1).unwrap_or_default().trim().to_owned()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is there");
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // It may have gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The role that this process was started for, if any.
fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// Says something to who started this process.
fn say(what: impl std::fmt::Display) {
    println!("says:{what}");
}

#[test]
fn a_sender_that_is_killed_leaves_the_receiver_ready() {
    if let Some(role) = role() {
        let (load, at) = role.split_once(' ').expect("a load and a port");
        let load = LOADS[load.parse::<usize>().expect("a number")];
        let step = step_of(port(at.parse().expect("a port")), &long(load));
        begin(&mut engine(), &step).end_with(|output| {
            if counted(output) {
                say("it goes");
            }
        });
        return;
    }
    let bench = Bench::new();
    let name = "broken::a_sender_that_is_killed_leaves_the_receiver_ready";
    for (index, load) in LOADS.into_iter().enumerate() {
        let mut sender = Other::start(name, &format!("{index} {}", bench.address().port()));
        sender.says();
        sender.signal(Signal::KILL);
        let why = bench.failure();
        assert!(why.contains("was lost during a test"), "{load:?}: {why}");
        bench.run(&short(load));
    }
}

/// A receiver in a process of its own, for the tests that end it.
fn receive() {
    let bench = Bench::new();
    say(bench.address().port());
    loop {
        // Whoever started this kills it.
        clock::sleep_until(clock::now().plus(Ns::secs(60)));
    }
}

#[track_caller]
fn ended(test: &str, loads: &[Carriage], signal: Signal, hints: &[&str]) {
    for load in loads {
        let mut receiver = Other::start(test, "receiver");
        let at = port(receiver.says().parse().expect("a port"));
        let mut struck = false;
        let ended = begin(&mut engine(), &step_of(at, &long(*load))).end_with(|output| {
            if counted(output) && !std::mem::replace(&mut struck, true) {
                receiver.signal(signal);
            }
        });
        told(ended.failure().map_or(Ok(ended), Err), hints);
    }
}

#[test]
fn a_receiver_that_is_killed_is_told() {
    if role().is_some() {
        return receive();
    }
    let name = "broken::a_receiver_that_is_killed_is_told";
    ended(
        name,
        &LOADS,
        Signal::KILL,
        &["it closed the connection", "reset by peer", "Broken pipe"],
    );
}

#[test]
fn a_receiver_that_goes_silent_is_told() {
    if role().is_some() {
        return receive();
    }
    let name = "broken::a_receiver_that_goes_silent_is_told";
    ended(name, &[Carriage::Tcp], Signal::STOP, &["no message for 11 s although its host answers"]);
}

/// A nonsense that comes in the midst of a test, in either direction.
#[test]
fn a_control_connection_that_turns_to_nonsense_ends_the_test_at_both_ends() {
    let nonsense = |after: &'static str| -> crate::between::Hand {
        Box::new(move |message| match message.get(after).is_some() || message == after {
            true => b"\x07\0\0\0nothing".to_vec(),
            false => Vec::new(),
        })
    };
    let bench = Bench::new();
    for (from_sender, from_receiver, hint) in [
        (nonsense("start"), idle(), "was lost during the test"),
        (idle(), nonsense("ready"), "does not speak this protocol"),
    ] {
        let between = Between::new(bench.address(), from_sender, from_receiver);
        told(try_run(&step_of(between.place(), &long(Carriage::Tcp))), &[hint]);
        between.end();
        let why = bench.failure();
        let hints = ["does not speak this protocol", "was lost"];
        assert!(hints.iter().any(|hint| why.contains(hint)), "{why}");
    }
    bench.run(&short(Carriage::Tcp));
}

/// Takes the connections of a test's streams, passes some bytes on, and resets the first stream. They come to the receiver
/// after the word that all are on their way, as happens where a network loses their first packets.
fn resetting(to: SocketAddr, streams: usize) -> u16 {
    const UNTIL: usize = 1 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let port = listener.local_addr().expect("it has an address").port();
    std::thread::spawn(move || {
        for index in 0..streams {
            let (mut near, _) = listener.accept().expect("a stream comes");
            clock::sleep_until(clock::now().plus(Ns::millis(200)));
            let mut far = TcpStream::connect(to).expect("the receiver is there");
            std::thread::spawn(move || {
                let (mut bytes, mut passed) = (vec![0; 64 << 10], 0);
                while let Ok(got @ 1..) = near.read(&mut bytes) {
                    let _ = far.write_all(&bytes[..got]);
                    passed += got;
                    if index == 0 && passed > UNTIL {
                        for end in [&near, &far] {
                            let at_once = Some(Duration::ZERO);
                            sockopt::set_socket_linger(end, at_once).expect("it is a socket");
                        }
                        return;
                    }
                }
            });
        }
    });
    port
}

#[test]
fn a_stream_that_is_reset_is_told_and_the_others_go_on() {
    let bench = Bench::new();
    let receiver = bench.address();
    let hand: crate::between::Hand = Box::new(move |message| {
        if let Some(port) = message.get_mut("prepared").map(|prepared| &mut prepared["port"]) {
            let to = SocketAddr::new(receiver.ip(), port.as_u64().expect("a port") as u16);
            *port = resetting(to, 2).into();
        }
        Vec::new()
    });
    let between = Between::new(receiver, idle(), hand);
    let spec = with(TestSpec { measure: Ns::secs(2), ..short(Carriage::Tcp) }, |n| ways(n, 2, 0));
    let told = try_run(&step_of(between.place(), &spec)).unwrap_or_else(|e| panic!("{e}"));
    between.end();
    let [broken, whole] = [told.streams()[0], told.streams()[1]];
    for (end, whose) in [(broken.0, "sender"), (broken.1, "receiver")] {
        let why = told.broke(end).unwrap_or("none");
        assert!(why.contains("reset by peer"), "{why}");
        assert!(why.starts_with(&format!("stream 0 broke at the {whose}")), "{why}");
    }
    assert_eq!([whole.0, whole.1].map(|end| told.broke(end)), [None; 2]);
    assert!(told.sum(broken.1, "total-bytes") > 0 && told.sum(whole.1, "total-bytes") > 0);
}

/// In a network of its own, which has no route to anywhere: a thread's, which goes with the thread.
#[test]
fn a_host_without_a_route_is_told_what_to_look_at() {
    let elsewhere = std::thread::spawn(|| {
        // SAFETY: this thread alone leaves the process' network, and it ends with this test.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            println!(
                "skipped: a network of its own ({}); it takes root",
                std::io::Error::last_os_error()
            );
            return;
        }
        let route = "no route to this host; `ip route get 192.0.2.1` shows the way \
                     (Network is unreachable (os error 101))";
        // Without any address of the family the kernel does not come as far as its routes.
        for (host, hint) in [("192.0.2.1", route), ("2001:db8::1", "it has none of this family")] {
            let far = place(SocketAddr::new(host.parse().expect("an address"), net::PORT));
            told(try_run(&step_of(far, &short(Carriage::Tcp))), &[hint]);
        }
    });
    elsewhere.join().expect("it is told");
}
