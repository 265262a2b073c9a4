//! Requests in datagrams through a relay that loses, repeats and delays them by a seeded stream: what failed is told, nothing
//! hangs, and the books of both ends agree with what the relay did.

use crate::between::{Between, idle};
use crate::prelude::*;
use crate::support::{Bench, short, step_of, try_run, ways, with};

/// What the relay did, to requests and to responses together.
#[derive(Default)]
struct Fate {
    lost: AtomicU64,
    repeated: AtomicU64,
    held: AtomicU64,
}

/// How often the relay does it, of a thousand.
#[derive(Clone, Copy, Default)]
struct Odds {
    lose: u64,
    repeat: u64,
    hold: u64,
}

const MESSAGE: usize = 200;

/// Passes datagrams on in one direction. The short ones are the greeting's, which pass unharmed.
fn carry(
    (from, to): (UdpSocket, UdpSocket),
    meets: bool,
    odds: Odds,
    mut rng: Rng,
    (fate, over): (Arc<Fate>, Arc<AtomicBool>),
) {
    let (mut bytes, mut held): ([u8; 2048], Option<Vec<u8>>) = ([0; 2048], None);
    let count = |of: &AtomicU64| of.fetch_add(1, Ordering::Relaxed);
    // A receiver that is not there any more refuses: it needs nothing then.
    let send = |datagram: &[u8]| drop(to.send(datagram));
    while !over.load(Ordering::Relaxed) {
        let Ok((got, peer)) = from.recv_from(&mut bytes) else { continue };
        let datagram = &bytes[..got];
        if got < MESSAGE {
            if meets {
                from.connect(peer).expect("it is a peer");
            }
            send(datagram);
            continue;
        }
        let draw = rng.below(1_000);
        if draw < odds.lose {
            count(&fate.lost);
        } else if draw < odds.lose + odds.hold && held.is_none() {
            count(&fate.held);
            held = Some(datagram.to_vec());
        } else {
            send(datagram);
            if draw >= 1_000 - odds.repeat {
                send(datagram);
                count(&fate.repeated);
            }
            // One that was held back follows the one that came after it.
            held.take().iter().for_each(|late| send(late));
        }
    }
}

/// Opens a relay's port for the stream that goes `to` there.
fn wire(
    to: SocketAddr,
    odds: Odds,
    seed: u64,
    index: u64,
    marks: &(Arc<Fate>, Arc<AtomicBool>),
) -> u16 {
    let [near, far] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("loopback is there"));
    far.connect(to).expect("it is an address");
    for socket in [&near, &far] {
        socket.set_read_timeout(Some(Duration::from_millis(20))).expect("it is a socket");
    }
    let port = near.local_addr().expect("it has an address").port();
    let twin = |socket: &UdpSocket| socket.try_clone().expect("it is a socket");
    let ways = [(twin(&near), twin(&far), true), (far, near, false)];
    for (way, (from, to, meets)) in (0..).zip(ways) {
        let (rng, marks) = (Rng::keyed(seed, &[index, way]), marks.clone());
        std::thread::spawn(move || carry((from, to), meets, odds, rng, marks));
    }
    port
}

/// Runs requests through a relay, and holds what both ends counted against what it did.
#[track_caller]
fn check(odds: Odds, up: u16, seed: u64) {
    let mut measure = Ns::secs(1);
    // Where the machine had so little time for this that nothing happened, it is given more.
    while !happened(odds, up, seed, measure) {
        assert!(measure < Ns::secs(60), "the relay did nothing in a minute");
        measure = Ns(measure.0 * 4);
    }
}

#[track_caller]
fn happened(odds: Odds, up: u16, seed: u64, measure: Ns) -> bool {
    let bench = Bench::new();
    let marks = (Arc::<Fate>::default(), Arc::<AtomicBool>::default());
    let (inside, receiver) = (marks.clone(), bench.address());
    let relay = Between::new(
        receiver,
        idle(),
        Box::new(move |message| {
            if let Some(prepared) = message.get_mut("prepared") {
                let ports = prepared["datagrams"].as_array_mut().expect("a port a stream");
                for (index, port) in (0..).zip(ports) {
                    let to = SocketAddr::new(receiver.ip(), port.as_u64().expect("a port") as u16);
                    *port = wire(to, odds, seed, index, &inside).into();
                }
            }
            Vec::new()
        }),
    );
    let size = MESSAGE as u32;
    let spec = with(short(Carriage::DatagramExchange { response: size }), |n| {
        ways(n, up, 0);
        n.message = size;
    });
    let spec = TestSpec { measure, ..spec };
    let told = try_run(&step_of(relay.place(), &spec)).unwrap_or_else(|e| panic!("{e}"));
    // What merely got lost is no error.
    told.finished();
    relay.end();
    marks.1.store(true, Ordering::Relaxed);
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let (lost, repeated, held) = (of(&marks.0.lost), of(&marks.0.repeated), of(&marks.0.held));
    let (mut asked, mut done, mut failed, mut late) = (0, 0, 0, 0);
    for (asks, _) in told.streams() {
        let carried = told.carried(*asks, false);
        asked += told.sum(*asks, "total-bytes") / u64::from(size);
        (done, failed) = (done + carried.ops, failed + carried.errors);
        late += told.sum(*asks, "late");
    }
    let answered: u64 = bench.ended().streams.iter().map(|s| s.total.items).sum();
    let what = format!(
        "{done} done, {failed} failed, {late} late, {answered} answered; {lost} lost, {repeated} repeated, {held} held"
    );
    assert!(done + failed <= asked && answered >= done, "nothing was made up: {what}");
    assert!(answered <= asked + repeated, "nothing is asked twice: {what}");
    // Those that come to their end after the last cut may have failed.
    let failed = asked - done;
    // What befalls a request, or its response, or both, is the end of one transaction.
    assert!(lost + held <= 2 * failed + repeated, "what was harmed is told: {what}");
    assert!(lost <= failed || held + repeated > 0, "every loss is told: {what}");
    // What came late was given up before, or came twice; on a machine that has much to do, that may be more than the lost.
    assert!(late + lost <= failed + repeated, "all that was given up has its reason: {what}");
    let happened = [(odds.lose, lost), (odds.repeat, repeated), (odds.hold, held)];
    done > 0 && happened.iter().all(|(odds, count)| *odds == 0 || *count > 0)
}

#[test]
fn requests_that_get_lost_have_failed_and_nothing_else_has() {
    check(Odds::default(), 1, 1);
    check(Odds { lose: 150, ..Odds::default() }, 1, 2);
    check(Odds { repeat: 200, ..Odds::default() }, 1, 3);
    check(Odds { hold: 150, ..Odds::default() }, 1, 4);
    check(Odds { lose: 80, repeat: 80, hold: 80 }, 3, 5);
}
