//! What goes wrong between two hosts: everybody is told, nothing hangs, and the receiver is ready for the next.

use crate::support::{Bench, listener, short, ways, with};
use clock::Ns;
use net::{
    Carriage, Event, NetError, Receiver, ReceiverConfig, SendConfig, Sockets, Spec, Stop, Token,
};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};

const LOADS: [Carriage; 5] = [
    Carriage::Tcp,
    Carriage::Udp { segmented: false },
    Carriage::Exchange { response: 64 },
    Carriage::Connects { response: 64 },
    Carriage::DatagramExchange { response: 64 },
];

fn long(load: Carriage) -> Spec {
    with(Spec { measure: Ns::secs(60), ..short(load) }, |n| ways(n, 2, 0))
}

fn send(config: &SendConfig, spec: &Spec) -> Result<net::Report, NetError> {
    net::send(config, spec, &Stop::default(), &mut |_| {})
}

/// The reason of the next failure that the receiver tells.
fn failure(bench: &Bench) -> String {
    bench.event(|event| match event {
        Event::Failed { why, .. } => Some(why.clone()),
        _ => None,
    })
}

#[track_caller]
fn refused(result: Result<net::Report, NetError>, hint: &str) {
    let error = result.expect_err("it cannot work").to_string();
    assert!(error.contains(hint), "{hint:?} is not in {error:?}");
}

#[test]
fn a_sender_that_goes_leaves_the_receiver_ready() {
    for load in LOADS {
        let bench = Bench::new();
        let stop = Stop::default();
        let asks = stop.clone();
        let result = net::send(&bench.config(), &long(load), &stop, &mut |_| asks.ask());
        assert!(matches!(result, Err(NetError::Stopped)), "{result:?}");
        let why = failure(&bench);
        assert!(why.contains("was lost during a test"), "{why}");
        bench.run(&short(load));
    }
}

#[test]
fn a_receiver_that_goes_is_told() {
    for load in LOADS {
        let bench = Bench::new();
        let config = bench.config();
        let mut receiver = Some(bench.receiver);
        let result =
            net::send(&config, &long(load), &Stop::default(), &mut |_| drop(receiver.take()));
        refused(result, "was lost during the test");
    }
}

#[test]
fn many_senders_are_served_at_once() {
    let bench = Bench::new();
    let runs: Vec<_> = LOADS
        .into_iter()
        .cycle()
        .take(8)
        .map(|load| (load, bench.config()))
        .map(|(load, config)| std::thread::spawn(move || send(&config, &short(load))))
        .collect();
    for run in runs {
        let report = run.join().expect("no panic").expect("each comes to its end");
        assert!(report.directions()[0].received.bytes > 0);
    }
    let ended = |event: &Event| matches!(event, Event::Ended { .. }).then_some(());
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
        let why = failure(&bench);
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
    let why = failure(&bench);
    let expected = format!(
        "speaks versions {low} to {high} of the protocol, the sender 1 to {older}; update the older one"
    );
    assert!(why.contains(&expected), "{why}");
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.contains("refused") && answer.contains(&expected), "{answer}");
}

#[test]
fn a_test_out_of_bounds_is_refused_by_both_ends() {
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
        (Spec { measure: Ns::ZERO, ..base.clone() }, "measured time"),
        (Spec { measure: Ns::MAX, ..base.clone() }, "measured time"),
        (Spec { interval: Ns(1), ..base.clone() }, "interval"),
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
    let start = |address: &str, token: Option<&str>| {
        let token = token.map(|token| Token::new(token.as_bytes()).expect("long enough"));
        let listen = vec![address.parse().expect("an address")];
        Receiver::start(ReceiverConfig {
            listen,
            token,
            cpus: Vec::new(),
            adjust: None,
            listener: listener().0,
        })
    };
    let error = start("0.0.0.0:0", None).expect_err("others could come").to_string();
    assert!(error.contains("must know a token"), "{error}");
    let receiver = start("127.0.0.1:0", Some("correct horse battery")).expect("loopback is there");
    let port = receiver.addresses()[0].port();
    let config = |token: Option<&str>| SendConfig {
        host: "127.0.0.1".to_owned(),
        port,
        token: token.map(|token| Token::new(token.as_bytes()).expect("long enough")),
        ..SendConfig::default()
    };
    let spec = short(Carriage::Tcp);
    refused(send(&config(None), &spec), "it asks for a token");
    refused(send(&config(Some("wrong horse battery")), &spec), "token is not the receiver's");
    send(&config(Some("correct horse battery")), &spec).expect("it is the token");
}

#[test]
fn what_cannot_be_reached_is_told_apart() {
    let spec = short(Carriage::Tcp);
    let config =
        |host: &str, port| SendConfig { host: host.to_owned(), port, ..SendConfig::default() };
    refused(send(&config("no.such.host.invalid", 1), &spec), "no such host is known");
    refused(send(&config("240.0.0.1", 1), &spec), "240.0.0.1");
    let free =
        TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("loopback is there");
    refused(send(&config("127.0.0.1", free.port()), &spec), "nobody listens there");
    let source = Some("192.0.2.1".parse().expect("an address"));
    let foreign = SendConfig { source, ..config("127.0.0.1", free.port()) };
    refused(send(&foreign, &spec), "source address is not one of this host's");
    refused(
        send(&SendConfig { ipv6: Some(true), ..config("127.0.0.1", 1) }, &spec),
        "no address of the family",
    );
}

#[test]
fn addresses_in_use_are_told() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let listen = vec![taken.local_addr().expect("it has an address")];
    let config = ReceiverConfig {
        listen,
        token: None,
        cpus: Vec::new(),
        adjust: None,
        listener: listener().0,
    };
    let error = Receiver::start(config).expect_err("it is taken").to_string();
    assert!(error.contains("the port is in use"), "{error}");
    let bench = Bench::new();
    let taken = UdpSocket::bind("0.0.0.0:0").expect("a port is free");
    let source_port = Some(taken.local_addr().expect("it has an address").port());
    let config = SendConfig { source_port, ..bench.config() };
    refused(send(&config, &short(Carriage::Udp { segmented: false })), "in use");
    bench.run(&short(Carriage::Udp { segmented: false }));
}

#[test]
fn one_sender_too_many_is_told_why() {
    let bench = Bench::new();
    let idle: Vec<TcpStream> =
        (0..64).map(|_| TcpStream::connect(bench.address()).expect("it listens")).collect();
    // Each is inside before the next comes to the door.
    refused(bench.try_run(&short(Carriage::Tcp)), "serves 64 senders already");
    drop(idle);
    let limit = clock::now().plus(Ns::secs(20));
    while bench.receiver.senders() > 0 {
        assert!(clock::now() < limit, "those who have gone are let go");
        clock::sleep_until(clock::now().plus(Ns::millis(10)));
    }
    bench.run(&short(Carriage::Tcp));
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
        let port = listener.local_addr().expect("it has an address").port();
        let peer = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a sender comes");
            let _ = stream.read(&mut [0; 1024]);
            stream.write_all(answer).expect("it reads");
            stream.shutdown(Shutdown::Write).expect("it stands");
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let config = SendConfig { host: "127.0.0.1".to_owned(), port, ..SendConfig::default() };
        refused(send(&config, &short(Carriage::Tcp)), hint);
        peer.join().expect("it answered");
    }
}
