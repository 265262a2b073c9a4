//! Nothing is lost from the books: TCP's bytes accepted are bytes read and bytes queued or undelivered at the cut; of UDP's
//! datagrams, unique ones received and lost ones are those sent.
//!
//! A relay in user space stands between both ends where something shall go wrong: it learns from the control connection which
//! ports a test has, and passes datagrams on with losses, repetitions and delays of a seeded stream.

use crate::between::{Between, Hand, idle};
use crate::prelude::*;
use crate::support::{Bench, short, step_of, try_run, ways, with};

#[test]
fn bytes_accepted_are_bytes_read_and_bytes_on_the_way() {
    for (up, down, rate) in [(2, 2, None), (1, 0, Some(2_000_000)), (0, 1, Some(2_000_000))] {
        let (told, _) = Bench::new().run(&with(short(Carriage::Tcp), |n| {
            ways(n, up, down);
            n.rate = rate;
        }));
        for (sent, received) in told.streams() {
            let [written, read] = [*sent, *received].map(|end| told.sum(end, "total-bytes"));
            assert_eq!(written, read, "all is read at the end");
            // Between the cuts: what entered the path's queues, less what left them. The ends are cut moments apart, so
            // whatever both sockets held then, and what passed in between, is the bound of the difference.
            for end in [*sent, *received] {
                assert!(told.carried(end, true).bytes <= written);
            }
        }
        assert_eq!(told.undelivered(), 0);
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
    let (told, _) = Bench::new().run(&spec);
    let (sent, received) = told.streams()[0];
    assert!(told.sum(sent, "queued-after") > 0, "it is held up");
    assert_eq!(told.undelivered(), 0, "it all arrives at the end, which is not paced");
    assert_eq!(told.sum(sent, "total-bytes"), told.sum(received, "total-bytes"));
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

const MESSAGE: u32 = 200;
const LOOK: Duration = Duration::from_millis(20);

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
    let (fate, over) = (Arc::<Fate>::default(), Arc::<AtomicBool>::default());
    let (at, inside) = (bench.address(), (Arc::clone(&fate), Arc::clone(&over)));
    let (wires, all) = mpsc::channel::<JoinHandle<()>>();
    // The receiver's ports are learned from its messages, and told as the relay's own.
    let hand: Hand = Box::new(move |message| {
        if let Some(ports) = message.get_mut("prepared").and_then(|p| p["datagrams"].as_array_mut())
        {
            for (index, port) in (0..).zip(ports) {
                let to = SocketAddr::new(at.ip(), port.as_u64().expect("a port") as u16);
                let rng = Rng::keyed(seed, &[index]);
                let (own, wire) = wire(to, odds, rng, &inside.0, &inside.1);
                *port = own.into();
                wires.send(wire).expect("the test waits for it");
            }
        }
        Vec::new()
    });
    let relay = Between::new(bench.address(), idle(), hand);
    let load = Carriage::Udp { segmented: false };
    // So few and small that the sockets' buffers hold all of them, however late the relay and the receiver wake.
    let (warmup, cooldown) = (Ns::ZERO, Ns::ZERO);
    let spec = with(TestSpec { warmup, cooldown, measure: Ns::millis(400), ..short(load) }, |n| {
        ways(n, up, 0);
        n.rate = Some(120_000 / u64::from(up));
        n.message = MESSAGE;
    });
    let told = try_run(&step_of(relay.place(), &spec)).unwrap_or_else(|e| panic!("{e}"));
    relay.end();
    over.store(true, Ordering::Relaxed);
    all.iter().for_each(|wire| wire.join().expect("it relays"));
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let (mut sent, mut unique, mut reordered, mut duplicates) = (0, 0, 0, 0);
    for (sends, receives) in told.streams() {
        sent += told.sum(*sends, "total-bytes") / u64::from(MESSAGE);
        let left = told.sum(*sends, "datagrams-sent");
        let [came, lost] =
            ["datagrams-received", "datagrams-lost"].map(|name| told.sum(*receives, name));
        assert_eq!(came + lost, left);
    }
    for stream in bench.ended().streams {
        let tally = stream.tally.expect("it received");
        unique += tally.unique.iter().sum::<u64>();
        reordered += tally.reordered.iter().sum::<u64>();
        duplicates += tally.duplicates.iter().sum::<u64>();
        assert_eq!(tally.too_late, [0; 3]);
    }
    assert_eq!(unique + of(&fate.lost), sent, "unique received + lost = sent");
    assert_eq!((reordered, duplicates), (of(&fate.delayed), of(&fate.repeated)));
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
