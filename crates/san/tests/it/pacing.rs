//! The speed of a port on simulated time: rates, bursts, fair shares, changes. Nothing here waits.

use clock::Ns;
use san::server::{Allowance, BURST, Pacer, PortRate, RateError};

const SECOND: u64 = 1_000_000_000;

/// A client that moves `block` bytes again and again, on a thread that wakes up `late` after each moment.
struct Client {
    allowance: Allowance,
    block: u64,
    left: u64,
    moved: u64,
    wakes: Ns,
}

impl Client {
    fn new(block: u64) -> Client {
        Client { allowance: Allowance::default(), block, left: block, moved: 0, wakes: Ns(0) }
    }

    /// Moves what may move at `now`, and says when it will look again.
    fn turn(&mut self, pacer: &Pacer, now: Ns, late: u64) {
        loop {
            match self.allowance.ask(pacer, self.left, now) {
                Ok(bytes) => {
                    self.allowance.spent(bytes);
                    self.moved += bytes;
                    self.left -= bytes;
                    if self.left == 0 {
                        self.left = self.block;
                    }
                }
                Err(at) => {
                    self.wakes = at.plus(Ns(late));
                    return;
                }
            }
        }
    }
}

fn run(pacer: &Pacer, clients: &mut [Client], from: u64, to: u64, late: u64) {
    for client in clients.iter_mut() {
        client.wakes = client.wakes.max(Ns(from));
    }
    while let Some(client) =
        clients.iter_mut().filter(|client| client.wakes.0 < to).min_by_key(|client| client.wakes)
    {
        client.turn(pacer, client.wakes, late);
    }
}

#[track_caller]
fn within(got: u64, expected: u64, share: f64) {
    let off = (got as f64 - expected as f64).abs() / expected as f64;
    assert!(off <= share, "{got} is {:.3}% off {expected}", off * 100.0);
}

#[test]
fn a_port_carries_its_rate_each_second() {
    for rate in [50_000_000u64, 413_256_906, 800_000_000, 1_239_211_108] {
        for block in [512, 4 << 10, 8 << 10, 128 << 10, 1 << 20] {
            let pacer = Pacer::new(rate);
            let mut clients = [Client::new(block)];
            run(&pacer, &mut clients, SECOND, 2 * SECOND, 300_000);
            for second in 2..5 {
                let before = clients[0].moved;
                run(&pacer, &mut clients, second * SECOND, (second + 1) * SECOND, 300_000);
                within(clients[0].moved - before, rate, 0.002);
            }
        }
    }
}

#[test]
fn sessions_share_a_port_alike_whatever_their_blocks_and_wake_ups() {
    let pacer = Pacer::new(400_000_000);
    let mut clients: Vec<Client> = (0..8).map(|i| Client::new((64 << 10) << (i % 4))).collect();
    run(&pacer, &mut clients, SECOND, 3 * SECOND, 50_000);
    for client in &clients {
        within(client.moved, 100_000_000, 0.02);
    }
    within(clients.iter().map(|client| client.moved).sum(), 800_000_000, 0.005);
}

#[test]
fn sessions_share_alike_though_one_thread_always_wakes_later_than_the_other() {
    let rates = [50_000_000, 400_000_000, 800_000_000];
    let delays = [(30_000, 120_000), (5_000, 400_000), (200_000, 600_000)];
    for (rate, (early, late)) in
        rates.into_iter().flat_map(|rate| delays.map(|delay| (rate, delay)))
    {
        let pacer = Pacer::new(rate);
        let mut clients: Vec<Client> = (0..8).map(|_| Client::new(64 << 10)).collect();
        for client in &mut clients {
            client.wakes = Ns(SECOND);
        }
        while let Some((i, client)) = clients
            .iter_mut()
            .enumerate()
            .filter(|(_, client)| client.wakes.0 < 4 * SECOND)
            .min_by_key(|(_, client)| client.wakes)
        {
            client.turn(&pacer, client.wakes, if i < 4 { early } else { late });
        }
        for client in &clients {
            within(client.moved, rate * 3 / 8, 0.01);
        }
    }
}

#[test]
fn threads_that_are_late_now_and_then_keep_the_rate() {
    let pacer = Pacer::new(200_000_000);
    let mut clients = [Client::new(1 << 20)];
    let mut rng = clock::Rng::keyed(5, &[]);
    for second in 1..6 {
        let before = clients[0].moved;
        while clients[0].wakes.0 < (second + 1) * SECOND {
            // One wake-up in five hundred comes five milliseconds late.
            let late = if rng.below(500) == 0 { 5_000_000 } else { 60_000 };
            let now = clients[0].wakes.max(Ns(second * SECOND));
            clients[0].turn(&pacer, now, late);
        }
        if second > 1 {
            within(clients[0].moved - before, 200_000_000, 0.01);
        }
    }
}

#[test]
fn what_was_not_used_is_not_saved_up() {
    let pacer = Pacer::new(100_000_000);
    let mut clients = [Client::new(1 << 20)];
    run(&pacer, &mut clients, SECOND, 2 * SECOND, 0);
    // Silent for ten seconds, then as much as it can at one moment.
    clients[0].allowance.idle(&pacer);
    let before = clients[0].moved;
    clients[0].turn(&pacer, Ns(12 * SECOND), 0);
    let burst = clients[0].moved - before;
    let most = 100_000_000 * BURST.0 / SECOND + 2 * pacer.quantum();
    assert!(burst <= most, "{burst} bytes at once, and {most} are the bound");
}

#[test]
fn a_change_of_rate_counts_at_once() {
    let pacer = Pacer::new(1_000);
    let mut clients = [Client::new(1 << 20)];
    clients[0].turn(&pacer, Ns(SECOND), 0);
    assert!(clients[0].wakes > Ns(2 * SECOND), "eight seconds' worth is reserved");
    pacer.set_rate(200_000_000);
    clients[0].wakes = Ns(SECOND);
    run(&pacer, &mut clients, SECOND, 2 * SECOND, 0);
    within(clients[0].moved, 200_000_000, 0.002);
    pacer.set_rate(0);
    assert_eq!(clients[0].allowance.ask(&pacer, 1 << 30, Ns(2 * SECOND)), Ok(1 << 30));
}

#[test]
fn threads_that_reserve_at_once_get_places_of_their_own() {
    let pacer = Pacer::new(1_000_000_000);
    let mut places: Vec<u64> = std::thread::scope(|scope| {
        let reserve =
            || (0..1000).map(|_| pacer.reserve(16 << 10, Ns(SECOND), false).0).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(reserve)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    places.sort_unstable();
    assert!(
        places.windows(2).all(|pair| pair[1] - pair[0] == 16 << 10),
        "a nanosecond a byte, and none twice"
    );
}

#[test]
fn names_of_ports_are_payload_rates() {
    #[track_caller]
    fn check(text: &str, bytes_per_s: u64) {
        assert_eq!(text.parse::<PortRate>().map(PortRate::bytes_per_s), Ok(bytes_per_s), "{text}");
    }
    check("4gfc", 413_259_668);
    check("8GFC", 826_519_337);
    check("16gfc", 1_653_038_674);
    check("10gbe", 1_186_605_981);
    check("10gbe:9000", 1_239_212_215);
    check("10gbe:mtu=9000", 1_239_212_215);
    check("400 MB/s", 400_000_000);
    check("394.1 MiB/s", 413_243_802);
}

#[test]
fn what_is_no_speed_is_refused() {
    for text in [
        "",
        "5gfc",
        "400",
        "10gbe:",
        "10gbe:12",
        "10gbe:99999",
        "0 MB/s",
        "9999999 GB/s",
        "-3 MB/s",
    ] {
        let error = text.parse::<PortRate>().expect_err(text);
        let _: RateError = error;
    }
}
