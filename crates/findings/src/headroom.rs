//! How much more a load may become before its fullest place is full, told twice: of arrivals that do not wait for answers (an
//! open loop) and of clients that do (a closed loop). Demand above what was carried is seen in neither.

/// Clients of a closed loop whose network is solved; of more, the bound of many is the answer.
const CLIENTS_MAX: usize = 2000;
/// Halvings until the time that clients spend elsewhere is known.
const HALVINGS: usize = 60;

/// By how much open arrivals may grow until a place is full, as a share: of half full, 1.
pub(crate) fn open(full: f64) -> f64 {
    1.0 / full - 1.0
}

/// By how much throughput grows, as a share, if twice as many clients as now wait for answers, each with one I/O after the
/// other: the exact solution of a closed network of the place as one server and of a delay, fitted to how full the place is
/// and to how many are in flight. `None` of less than one in flight.
pub(crate) fn closed(full: f64, in_flight: f64) -> Option<f64> {
    let clients = in_flight.round();
    if !(1.0..1e9).contains(&clients) || !(0.0..1.0).contains(&full) || full <= 0.0 {
        return None;
    }
    if clients > CLIENTS_MAX as f64 {
        // The queue of so many is either nothing or all of them.
        return Some(open(full).min(1.0));
    }
    let clients = clients as usize;
    // In units of the throughput of now, at which an I/O takes `full` of the server.
    let (mut low, mut high) = (0.0, clients as f64);
    for _ in 0..HALVINGS {
        let delay = (low + high) / 2.0;
        match throughput(full, delay, clients) > 1.0 {
            true => low = delay,
            false => high = delay,
        }
    }
    Some(throughput(full, (low + high) / 2.0, 2 * clients) - 1.0)
}

/// Mean value analysis: throughput of so many clients at a server of a mean service and a delay.
fn throughput(service: f64, delay: f64, clients: usize) -> f64 {
    let (mut queue, mut rate) = (0.0, 0.0);
    for population in 1..=clients {
        let there = service * (1.0 + queue);
        rate = population as f64 / (delay + there);
        queue = rate * there;
    }
    rate
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
    }

    #[test]
    fn one_client_and_two_are_the_closed_form() {
        // One client is at the server for the share that it is full; of two, one meets the other there for that share.
        for full in [0.1, 0.5, 0.9] {
            near(closed(full, 1.0).unwrap(), 2.0 / (1.0 + full * full) - 1.0);
        }
        near(open(0.5), 1.0);
    }

    #[test]
    fn few_in_flight_and_many_are_the_bounds() {
        // A server that is hardly used delays nobody, and a full one carries no more.
        near(closed(1e-9, 8.0).unwrap(), 1.0);
        assert!(closed(0.999, 50.0).unwrap() < 0.002);
        // Never more than the server carries, nor than twice the load.
        for full in [0.2, 0.5, 0.8, 0.95] {
            for clients in [1.0, 2.4, 16.0, 300.0, 5000.0] {
                let more = closed(full, clients).unwrap();
                assert!(
                    (0.0..=open(full).min(1.0) + 1e-6).contains(&more),
                    "{full} {clients}: {more}"
                );
            }
        }
        assert_eq!(closed(0.5, 0.2), None);
    }

    /// Clients that think for exponential times, at a server with exponential service: events, one after the other.
    #[test]
    fn a_simulation_of_the_clients_says_the_same() {
        let (full, clients) = (0.6, 6);
        // The delay that was fitted, from the throughput of the closed form.
        let delay = {
            let (mut low, mut high) = (0.0, clients as f64);
            for _ in 0..HALVINGS {
                let middle = (low + high) / 2.0;
                if throughput(full, middle, clients) > 1.0 { low = middle } else { high = middle }
            }
            low
        };
        let rate = |clients: usize| {
            let mut state = 88_172_645_463_325_252_u64;
            let mut draw = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                -(((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64).ln()
            };
            let (mut waiting, mut done, mut now) = (0_usize, 0_u64, 0.0);
            while done < 400_000 {
                let thinking = (clients - waiting) as f64 / delay;
                let serving = if waiting > 0 { 1.0 / full } else { 0.0 };
                now += draw() / (thinking + serving);
                let ends = (-draw()).exp() * (thinking + serving) >= thinking;
                waiting = if ends { waiting - 1 } else { waiting + 1 };
                done += u64::from(ends);
            }
            done as f64 / now
        };
        assert!((rate(clients) - 1.0).abs() < 0.01, "{}", rate(clients));
        let more = rate(2 * clients) / rate(clients) - 1.0;
        let said = closed(full, clients as f64).unwrap();
        assert!((more - said).abs() < 0.015, "{more} {said}");
    }
}
