//! Nothing is lost from the books: TCP's bytes accepted are bytes read and bytes queued or undelivered at the cut; of UDP's
//! datagrams, unique ones received and lost ones are those sent.
//!
//! A relay in user space stands between both ends where something shall go wrong: it knows where the control connection
//! is, learns from it which ports a test has, and passes datagrams on with losses, repetitions and delays of a seeded stream.

use crate::support::{Bench, short, ways, with};
use clock::{Ns, Rng};
use net::{Carriage, SendConfig, Sockets, Spec, Stop};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

#[test]
fn bytes_accepted_are_bytes_read_and_bytes_on_the_way() {
    for (up, down, rate) in [(2, 2, None), (1, 0, Some(2_000_000)), (0, 1, Some(2_000_000))] {
        let report = Bench::new().run(&with(short(Carriage::Tcp), |n| {
            ways(n, up, down);
            n.rate = rate;
        }));
        for (one, other) in report.sender.streams.iter().zip(&report.receiver.streams) {
            let (writer, reader) = if one.writes { (one, other) } else { (other, one) };
            assert_eq!(writer.total.bytes, reader.total.bytes, "all is read at the end");
            // Between the cuts: what entered the path's queues, less what left them. The ends are cut moments apart, so
            // whatever both sockets held then, and what passed in between, is the bound of the difference.
            assert!(
                writer.measured.bytes <= writer.total.bytes
                    && reader.measured.bytes <= reader.total.bytes
            );
        }
        let directions = report.directions();
        assert!(directions.iter().all(|d| d.undelivered == 0), "{directions:?}");
    }
}

#[test]
fn what_has_not_left_at_the_cut_is_told() {
    // A rate so low that a message takes longer than the test: it waits in the sender's socket at the cut.
    let sockets = Sockets { send_buffer: Some(64 << 10), ..Sockets::default() };
    let spec = with(short(Carriage::Tcp), |n| {
        n.rate = Some(100_000);
        n.message = 128 << 10;
        n.sockets = sockets;
    });
    let report = Bench::new().run(&spec);
    let (writer, reader) = (&report.sender.streams[0], &report.receiver.streams[0]);
    assert!(writer.queued_after > 0, "it is held up: {writer:?}");
    assert_eq!(
        report.directions()[0].undelivered,
        0,
        "it all arrives at the end, which is not paced"
    );
    assert_eq!(writer.total.bytes, reader.total.bytes);
}

/// What a relay did to the datagrams that it was given.
#[derive(Default)]
struct Fate {
    lost: AtomicU64,
    repeated: AtomicU64,
    delayed: AtomicU64,
}

/// How often a relay does it, of a thousand.
#[derive(Clone, Copy, Default)]
struct Odds {
    lose: u64,
    repeat: u64,
    delay: u64,
}

/// Stands between a sender and a receiver.
struct Relay {
    address: SocketAddr,
    fate: Arc<Fate>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

const LOOK: Duration = Duration::from_millis(20);

impl Relay {
    /// A relay for one test. The receiver's ports are learned from its messages, and told as the relay's own.
    fn new(receiver: SocketAddr, odds: Odds, seed: u64) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
        let address = listener.local_addr().expect("it has an address");
        let (fate, over) = (Arc::<Fate>::default(), Arc::<AtomicBool>::default());
        let inside = (Arc::clone(&fate), Arc::clone(&over));
        let control = std::thread::spawn(move || {
            let (sender, _) = listener.accept().expect("a sender comes");
            let receiver_link = TcpStream::connect(receiver).expect("the receiver is there");
            control(sender, receiver_link, receiver, odds, seed, inside);
        });
        Relay { address, fate, over, threads: vec![control] }
    }

    fn end(self) -> Arc<Fate> {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("the relay works");
        }
        self.fate
    }
}

/// Passes control messages on; those of the receiver one by one, since ports are changed in them.
fn control(
    mut sender: TcpStream,
    mut receiver: TcpStream,
    at: SocketAddr,
    odds: Odds,
    seed: u64,
    (fate, over): (Arc<Fate>, Arc<AtomicBool>),
) {
    let (mut from, mut to) = (sender.try_clone().unwrap(), receiver.try_clone().unwrap());
    let up = std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(std::net::Shutdown::Write);
    });
    let mut wires = Vec::new();
    while let Some(body) = frame(&mut receiver) {
        let mut message: serde_json::Value = serde_json::from_slice(&body).expect("it is JSON");
        if let Some(ports) = message.get_mut("prepared").and_then(|p| p["datagrams"].as_array_mut())
        {
            for (index, port) in (0..).zip(ports) {
                let to = SocketAddr::new(at.ip(), port.as_u64().expect("a port") as u16);
                let (own, wire) = wire(to, odds, Rng::keyed(seed, &[index]), &fate, &over);
                *port = own.into();
                wires.push(wire);
            }
        }
        let body = serde_json::to_vec(&message).expect("it is data");
        let _ = sender.write_all(&[&(body.len() as u32).to_le_bytes()[..], &body].concat());
    }
    let _ = sender.shutdown(std::net::Shutdown::Both);
    up.join().expect("it copies");
    wires.into_iter().for_each(|wire| wire.join().expect("it relays"));
}

fn frame(from: &mut TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length).ok()?;
    let mut body = vec![0; u32::from_le_bytes(length) as usize];
    from.read_exact(&mut body).ok()?;
    Some(body)
}

/// Relays one stream of datagrams. The short ones are the greeting's, which pass.
fn wire(
    to: SocketAddr,
    odds: Odds,
    mut rng: Rng,
    fate: &Arc<Fate>,
    over: &Arc<AtomicBool>,
) -> (u16, JoinHandle<()>) {
    let near = UdpSocket::bind("127.0.0.1:0").unwrap();
    let far = UdpSocket::bind("127.0.0.1:0").unwrap();
    far.connect(to).unwrap();
    near.set_read_timeout(Some(LOOK)).unwrap();
    far.set_read_timeout(Some(LOOK)).unwrap();
    let port = near.local_addr().unwrap().port();
    let (fate, over) = (Arc::clone(fate), Arc::clone(over));
    let relay = move || {
        let (mut bytes, mut held): ([u8; 2048], Option<Vec<u8>>) = ([0; 2048], None);
        while !over.load(Ordering::Relaxed) {
            let Ok((got, peer)) = near.recv_from(&mut bytes) else { continue };
            let datagram = &bytes[..got];
            if got < 100 {
                near.connect(peer).unwrap();
                far.send(datagram).unwrap();
                let got = far.recv(&mut bytes).unwrap_or(0);
                near.send(&bytes[..got]).unwrap();
                continue;
            }
            let draw = rng.below(1_000);
            if draw < odds.lose {
                fate.lost.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            if draw < odds.lose + odds.delay && held.is_none() {
                held = Some(datagram.to_vec());
                continue;
            }
            far.send(datagram).unwrap();
            if draw >= 1_000 - odds.repeat {
                far.send(datagram).unwrap();
                fate.repeated.fetch_add(1, Ordering::Relaxed);
            }
            // One that was held back follows the one that came after it.
            if let Some(late) = held.take() {
                far.send(&late).unwrap();
                fate.delayed.fetch_add(1, Ordering::Relaxed);
            }
        }
        if held.is_some() {
            fate.lost.fetch_add(1, Ordering::Relaxed);
        }
    };
    (port, std::thread::spawn(relay))
}

/// Runs a test through a relay and holds its figures against what the relay did.
#[track_caller]
fn check(odds: Odds, up: u16, seed: u64) {
    // A machine that has much to do may have no time for it in so short a test, of which the buffers hold all.
    assert!((0..20).any(|_| happened(odds, up, seed)), "the relay did what it was for");
}

/// Whether enough happened to hold it against anything.
#[track_caller]
fn happened(odds: Odds, up: u16, seed: u64) -> bool {
    let bench = Bench::new();
    let relay = Relay::new(bench.address(), odds, seed);
    let config = SendConfig { port: relay.address.port(), ..bench.config() };
    let load = Carriage::Udp { segmented: false };
    // So few and small that the sockets' buffers hold all of them, however late the relay and the receiver wake.
    let (warmup, cooldown) = (Ns::ZERO, Ns::ZERO);
    let rate = Some(120_000 / u64::from(up));
    let spec = with(Spec { warmup, cooldown, measure: Ns::millis(400), ..short(load) }, |n| {
        ways(n, up, 0);
        n.rate = rate;
        n.message = 200;
    });
    let report =
        net::send(&config, &spec, &Stop::default(), &mut |_| {}).unwrap_or_else(|e| panic!("{e}"));
    let fate = relay.end();
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let (mut sent, mut unique, mut reordered, mut duplicates) = (0, 0, 0, 0);
    for stream in &report.sender.streams {
        sent += stream.datagrams.expect("it sent").iter().sum::<u64>();
    }
    for stream in &report.receiver.streams {
        let tally = stream.tally.expect("it received");
        unique += tally.unique.iter().sum::<u64>();
        reordered += tally.reordered.iter().sum::<u64>();
        duplicates += tally.duplicates.iter().sum::<u64>();
        assert_eq!(tally.too_late, [0; 3]);
    }
    assert_eq!(unique + of(&fate.lost), sent, "unique received + lost = sent");
    assert_eq!((reordered, duplicates), (of(&fate.delayed), of(&fate.repeated)));
    let datagrams = report.directions()[0].datagrams.expect("there were datagrams");
    assert_eq!(datagrams.received + datagrams.lost, datagrams.sent);
    let fates =
        [(odds.lose, &fate.lost), (odds.repeat, &fate.repeated), (odds.delay, &fate.delayed)];
    sent > 20 && fates.iter().all(|(odds, count)| *odds == 0 || of(count) > 0)
}

#[test]
fn datagrams_received_and_lost_are_those_sent() {
    check(Odds::default(), 1, 1);
    check(Odds { lose: 200, ..Odds::default() }, 1, 2);
    check(Odds { repeat: 200, ..Odds::default() }, 1, 3);
    check(Odds { delay: 200, ..Odds::default() }, 1, 4);
    check(Odds { lose: 150, repeat: 150, delay: 150 }, 3, 5);
}
