//! What goes wrong between two hosts: everybody is told, nothing hangs, and the receiver is ready for the next.

use crate::prelude::*;
use crate::support::{
    Bench, at, begin, counted, engine, listener, only, place, port, receiver_config, refused,
    short, start, step_of, try_run, ways, with,
};
use engine::{ReceiverAddress, ReceiverSpec, StepSpec, TokenSource};
use net::{Carriage, Receiver, ReceiverEvent, Secret, Sockets, TestSpec};

const LOADS: [Carriage; 5] = [
    Carriage::Tcp,
    Carriage::Udp { segmented: false },
    Carriage::Exchange { response: 64 },
    Carriage::Connects { response: 64 },
    Carriage::DatagramExchange { response: 64 },
];

fn long(load: Carriage) -> TestSpec {
    with(TestSpec { measure: Ns::secs(60), ..short(load) }, |n| ways(n, 2, 0))
}

/// A short step whose receiver is reached in another way.
fn reaching(place: ReceiverAddress, change: impl FnOnce(&mut ReceiverSpec)) -> StepSpec {
    let mut step = step_of(place, &short(Carriage::Tcp));
    change(&mut only(&mut step).receiver);
    step
}

#[test]
fn a_receiver_that_goes_is_told() {
    for load in LOADS {
        let bench = Bench::new();
        let step = step_of(bench.place(), &long(load));
        let mut receiver = Some(bench.receiver);
        let told = begin(&mut engine(), &step).end_with(|output| {
            if counted(output) {
                drop(receiver.take());
            }
        });
        refused(told.failure().map_or(Ok(told), Err), "was lost during the test");
    }
}

#[test]
fn many_senders_are_served_at_once() {
    let bench = Bench::new();
    let runs: Vec<_> = LOADS
        .into_iter()
        .cycle()
        .take(8)
        .map(|load| step_of(bench.place(), &short(load)))
        .map(|step| std::thread::spawn(move || try_run(&step)))
        .collect();
    for run in runs {
        let told = run.join().expect("no panic").expect("each comes to its end");
        assert!(told.carried(told.streams()[0].1, false).bytes > 0);
    }
    let ended = |event: &ReceiverEvent| matches!(event, ReceiverEvent::Ended { .. }).then_some(());
    (0..8).for_each(|_| bench.event(ended));
    assert!(bench.receiver.senders() <= 8);
}

#[test]
fn what_is_not_the_protocol_is_turned_away() {
    let bench = Bench::new();
    for (bytes, hint) in [
        (&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], "does not speak this protocol"),
        (&[0xff; 64], "does not speak"),
        (b"\x04\0\0\0null", "does not speak"),
        (b"\x06\0\0\0\"done\"", "`Done` out of turn"),
        (b"\x3f\0\0\0{\"hello\":{\"versions\":[7,9],\"nonce\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}}", "does not"),
        (b"", "closed the connection"),
    ] {
        let mut stream = TcpStream::connect(bench.address()).expect("it listens");
        stream.write_all(bytes).expect("it reads");
        stream.shutdown(Shutdown::Write).expect("it stands");
        // The end comes, with or without a reason for us.
        let _ = stream.read_to_end(&mut Vec::new());
        let why = bench.failure();
        assert!(why.contains(hint), "{hint:?} is not in {why:?}");
    }
    bench.run(&short(Carriage::Tcp));
}

#[test]
fn an_older_sender_is_refused_with_a_reason() {
    let bench = Bench::new();
    let (low, high) = net::VERSIONS;
    let older = low - 1;
    let nonce = [0u8; 16];
    let hello = format!("{{\"hello\":{{\"versions\":[1,{older}],\"nonce\":{nonce:?}}}}}");
    let mut stream = TcpStream::connect(bench.address()).expect("it listens");
    let length = (hello.len() as u32).to_le_bytes();
    stream.write_all(&[&length, hello.as_bytes()].concat()).expect("it reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it answers and closes");
    let why = bench.failure();
    let expected = format!(
        "speaks versions {low} to {high} of the protocol, the sender 1 to {older}; update the older one"
    );
    assert!(why.contains(&expected), "{why}");
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.contains("refused") && answer.contains(&expected), "{answer}");
}

#[test]
fn a_test_out_of_bounds_is_refused() {
    let bench = Bench::new();
    let base = short(Carriage::Tcp);
    let sockets = |sockets| with(base.clone(), |n| n.sockets = sockets);
    let wrong = [
        (with(base.clone(), |n| ways(n, 0, 0)), "without streams"),
        (with(base.clone(), |n| ways(n, 513, 0)), "at most 512"),
        (with(base.clone(), |n| ways(n, u16::MAX, u16::MAX)), "at most 512"),
        (with(base.clone(), |n| n.message = 0), "1 B to 16 MiB"),
        (
            with(base.clone(), |n| {
                n.message = u32::MAX;
                n.batch = 65_536;
            }),
            "16 MiB",
        ),
        (
            with(base.clone(), |n| {
                ways(n, 100, 0);
                n.message = 16 << 20;
            }),
            "memory",
        ),
        (TestSpec { measure: Ns::ZERO, ..base.clone() }, "measured time"),
        (TestSpec { measure: Ns::MAX, ..base.clone() }, "measured time"),
        (with(base.clone(), |n| n.rate = Some(0)), "rate"),
        (with(short(LOADS[1]), |n| n.message = 23), "24 to 65,507"),
        (
            with(short(Carriage::Udp { segmented: true }), |n| {
                n.message = 1_400;
                n.batch = 64;
            }),
            "segments at most",
        ),
        (with(short(LOADS[4]), |n| n.message = 23), "a request has 24 to 65,507"),
        (short(Carriage::DatagramExchange { response: 65_508 }), "response: it has 24 to 65,507"),
        (with(short(LOADS[4]), |n| n.sockets.multipath = true), "datagrams have none"),
        (with(short(LOADS[2]), |n| ways(n, 1, 1)), "requests go one way"),
        (with(short(LOADS[3]), |n| n.message = 27), "28 B"),
        (sockets(Sockets { dscp: Some(64), ..Sockets::default() }), "0 to 63"),
        (
            sockets(Sockets { congestion: Some("a b".to_owned()), ..Sockets::default() }),
            "no congestion",
        ),
        (
            sockets(Sockets { congestion: Some("nobody".to_owned()), ..Sockets::default() }),
            "`nobody`",
        ),
    ];
    for (spec, hint) in wrong {
        refused(bench.try_run(&spec), hint);
    }
    bench.run(&base);
}

#[test]
fn who_listens_openly_needs_a_token_and_senders_too() {
    let open = Receiver::start(receiver_config("0.0.0.0:0", listener().0));
    let error = open.expect_err("others could come").to_string();
    assert!(error.contains("must know a token"), "{error}");
    let token = Secret::new(b"correct horse battery").expect("long enough");
    let receiver = start("127.0.0.1:0", Some(token));
    let send = |token: Option<&str>| {
        let token = token.map(|token| TokenSource::Env(token.to_owned()));
        try_run(&reaching(at(&receiver), |receiver| receiver.token = token))
    };
    refused(send(None), "it requires a token");
    refused(send(Some("wrong horse battery")), "token is not the receiver's");
    send(Some("correct horse battery")).expect("it is the token");
}

#[test]
fn what_cannot_be_reached_is_told_apart() {
    let send = |place, change: &dyn Fn(&mut ReceiverSpec)| try_run(&reaching(place, change));
    let nowhere = ReceiverAddress::At { host: "no.such.host.invalid".to_owned(), port: 1 };
    refused(send(nowhere, &|_| {}), "unknown host");
    refused(send(place(([240, 0, 0, 1], 1).into()), &|_| {}), "240.0.0.1");
    let free =
        TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("loopback is there");
    refused(send(place(free), &|_| {}), "connection refused");
    let foreign = |receiver: &mut ReceiverSpec| {
        receiver.source = Some("192.0.2.1".parse().expect("an address"));
    };
    refused(send(place(free), &foreign), "source address is not one of this host's");
    refused(send(port(1), &|receiver| receiver.ipv6 = Some(true)), "no address of the family");
}

#[test]
fn addresses_in_use_are_told() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let address = taken.local_addr().expect("it has an address").to_string();
    let config = receiver_config(&address, listener().0);
    let error = Receiver::start(config).expect_err("it is taken").to_string();
    assert!(error.contains("the port is in use"), "{error}");
    let bench = Bench::new();
    let taken = UdpSocket::bind("0.0.0.0:0").expect("a port is free");
    let source_port = Some(taken.local_addr().expect("it has an address").port());
    let mut step = step_of(bench.place(), &short(Carriage::Udp { segmented: false }));
    only(&mut step).receiver.source_port = source_port;
    refused(try_run(&step), "in use");
    bench.run(&short(Carriage::Udp { segmented: false }));
}

/// A connection that says `hello` as a sender does, and then nothing.
fn greeted(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let nonce = vec!["7"; 16].join(",");
    let (low, high) = net::VERSIONS;
    let hello = format!("{{\"hello\":{{\"versions\":[{low},{high}],\"nonce\":[{nonce}]}}}}");
    let frame = [&(hello.len() as u32).to_le_bytes()[..], hello.as_bytes()].concat();
    stream.write_all(&frame).expect("it reads");
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("welcome") {
        let mut bytes = [0; 256];
        let got = stream.read(&mut bytes).expect("an answer");
        assert!(got > 0, "{}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&bytes[..got]);
    }
    stream
}

fn until(what: &str, is: impl Fn() -> bool) {
    let limit = clock::now().plus(Ns::secs(20));
    while !is() {
        assert!(clock::now() < limit, "{what}");
        clock::sleep_until(clock::now().plus(Ns::millis(10)));
    }
}

#[test]
fn one_sender_too_many_is_told_why() {
    let bench = Bench::new();
    let idle: Vec<TcpStream> = (0..64).map(|_| greeted(bench.address())).collect();
    refused(bench.try_run(&short(Carriage::Tcp)), "serves 64 senders already");
    drop(idle);
    until("those who have gone are let go", || bench.receiver.senders() == 0);
    bench.run(&short(Carriage::Tcp));
}

#[test]
fn silent_connections_shut_no_sender_out() {
    let bench = Bench::new();
    // More than may wait, some with half a greeting: the oldest make room.
    let mut silent: Vec<TcpStream> =
        (0..200).map(|_| TcpStream::connect(bench.address()).expect("it listens")).collect();
    for stream in silent.iter_mut().step_by(2) {
        // Those that were closed cannot hear it.
        let _ = stream.write_all(b"\x40\0\0\0{");
    }
    bench.run(&short(Carriage::Tcp));
    // The one that has may take a moment to be let go.
    until("none of them has proven itself", || bench.receiver.senders() == 0);
    // They are let go after a short time, and all are closed.
    until("silent connections are closed", || {
        silent.iter().all(|stream| {
            stream.set_nonblocking(true).expect("a socket");
            !matches!((&*stream).read(&mut [0; 64]), Err(e) if e.kind() == std::io::ErrorKind::WouldBlock)
        })
    });
}

/// A peer that greets as a receiver and then talks nonsense.
#[test]
fn a_receiver_that_talks_nonsense_is_told() {
    for (answer, hint) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "does not speak this protocol"),
        (b"\x09\0\0\0\"welcome\"", "`Welcome` out of turn"),
        (b"\x14\0\0\0{\"refused\":\"\\u001b\"}", "refused:  "),
        (b"", "closed the connection"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
        let address = listener.local_addr().expect("it has an address");
        let peer = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a sender comes");
            let _ = stream.read(&mut [0; 1024]);
            stream.write_all(answer).expect("it reads");
            stream.shutdown(Shutdown::Write).expect("it stands");
            let _ = stream.read_to_end(&mut Vec::new());
        });
        refused(try_run(&step_of(place(address), &short(Carriage::Tcp))), hint);
        peer.join().expect("it answered");
    }
}
