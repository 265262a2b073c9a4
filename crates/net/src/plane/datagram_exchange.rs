//! Requests and responses in datagrams, one at a time. A response is matched to its request by the number that both carry, so
//! one that comes late is never taken for the answer to a later request; it is counted and dropped.
//!
//! A request whose answer does not come is given up after the retransmission time-out that TCP would have by then (RFC 6298,
//! section 2: of the round trips measured so far, 200 ms at least, as in Linux; doubled after each loss, 2 s at most). It is a
//! transaction that failed: it has no time, and it is not sent again.

use super::exchange::{Sizes, done};
use super::{Count, DatagramHeader, StreamMeter, WorkerContext, again, nothing};
use crate::sys::socket;
use clock::Ns;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::net::UdpSocket;

/// One stream of requests at one end.
pub(crate) struct DatagramRoute<'a> {
    pub socket: &'a UdpSocket,
    /// The stream's mark in each datagram.
    pub tag: u32,
    /// Both are at least a header.
    pub sizes: Sizes,
}

/// A pause after the kernel took no datagram.
const PAUSE: Ns = Ns::millis(1);

/// Sets a socket as both ends need it: calls wait, but not for long.
pub(crate) fn prepare(socket: &UdpSocket) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    socket.set_write_timeout(Some(socket::LOOK))?;
    socket.set_read_timeout(Some(socket::LOOK))
}

/// Asks from `begin` until stopped. A refusal by the kernel is a failed transaction, with its first reason; a loss has
/// none.
pub(crate) fn ask(
    route: &DatagramRoute<'_>,
    mut patience: RetransmitTimer,
    meter: &StreamMeter,
    buffer: &mut [u8],
    context: &mut WorkerContext<'_>,
) -> Option<io::Error> {
    let (mut number, mut first) = (0, None);
    context.begin();
    while !context.signals.stopped() {
        let from = clock::now();
        context.cutter.at(from);
        let phase = context.cutter.phase() as u8;
        let header = DatagramHeader { tag: route.tag, phase, number, left: from };
        let until = from.plus(patience.limit);
        match transaction(route, meter, &header, until, buffer, context) {
            Ok(true) => {
                patience.answered(clock::now().since(from));
                done(meter, route.sizes, context, from);
            }
            Ok(false) => {
                meter.add(Count::Failed, 1);
                patience.lost();
            }
            Err(e) => {
                meter.add(Count::Failed, 1);
                first.get_or_insert(e);
                clock::sleep_until(clock::now().plus(PAUSE));
            }
        }
        number += 1;
    }
    first
}

/// One request and its answer; `false` where none came by `until`.
fn transaction(
    route: &DatagramRoute<'_>,
    meter: &StreamMeter,
    header: &DatagramHeader,
    until: Ns,
    buffer: &mut [u8],
    context: &mut WorkerContext<'_>,
) -> io::Result<bool> {
    header.write(buffer);
    send(route.socket, &buffer[..route.sizes.request], SendFlags::NOSIGNAL)?;
    meter.add(Count::Bytes, route.sizes.request as u64);
    loop {
        match recv(route.socket, &mut buffer[..route.sizes.response], RecvFlags::TRUNC) {
            Ok((_, len)) => match DatagramHeader::read(&buffer[..len.min(route.sizes.response)]) {
                Some(theirs) if theirs.tag != route.tag || len != route.sizes.response => {}
                Some(theirs) if theirs.number == header.number => return Ok(true),
                Some(theirs) if theirs.number < header.number => meter.add(Count::Late, 1),
                _ => {}
            },
            Err(e) if nothing(&e.into()) || again(&e.into()) => {}
            Err(e) => return Err(e.into()),
        }
        let now = clock::now();
        context.cutter.at(now);
        if context.signals.aborted() || now >= until {
            return Ok(false);
        }
    }
}

/// Answers from `begin` on until the peer asks no more. What is no request of this stream is dropped.
pub(crate) fn answer(
    route: &DatagramRoute<'_>,
    meter: &StreamMeter,
    buffer: &mut [u8],
    context: &mut WorkerContext<'_>,
) -> io::Result<()> {
    let Sizes { request, response } = route.sizes;
    context.begin();
    while !context.signals.aborted() && !context.signals.draining() {
        let len = match recv(route.socket, &mut buffer[..request], RecvFlags::TRUNC) {
            Ok((_, len)) => len,
            Err(e) if passes(&e.into()) => continue,
            Err(e) => return Err(e.into()),
        };
        context.cutter.glance();
        let header = DatagramHeader::read(&buffer[..len.min(request)]);
        if len != request || header.is_none_or(|header| header.tag != route.tag) {
            continue;
        }
        meter.add(Count::Bytes, request as u64);
        meter.add(Count::Calls, 2);
        // The header stands where it stood: the answer carries the request's number.
        match send(route.socket, &buffer[..response], SendFlags::NOSIGNAL) {
            Ok(_) => {
                meter.add(Count::Back, response as u64);
                meter.add(Count::Items, 1);
            }
            Err(e) if passes(&e.into()) => meter.add(Count::Failed, 1),
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

/// Whether the next call may fare better: nothing was there, a queue is full, or the peer has no socket just now.
fn passes(error: &io::Error) -> bool {
    nothing(error)
        || again(error)
        || error.kind() == io::ErrorKind::ConnectionRefused
        || error.raw_os_error() == Some(libc::ENOBUFS)
}

/// How long an answer is waited for (RFC 6298, section 2).
pub(crate) struct RetransmitTimer {
    /// The smoothed round trip and its variation, in nanoseconds, once there was one.
    smoothed: Option<(u64, u64)>,
    limit: Ns,
    bounds: (Ns, Ns),
}

impl Default for RetransmitTimer {
    fn default() -> RetransmitTimer {
        RetransmitTimer {
            smoothed: None,
            limit: Ns::secs(1),
            bounds: (Ns::millis(200), Ns::secs(2)),
        }
    }
}

impl RetransmitTimer {
    fn answered(&mut self, Ns(trip): Ns) {
        let (mean, variation) = match self.smoothed {
            None => (trip, trip / 2),
            Some((mean, variation)) => {
                let off = mean.abs_diff(trip);
                (mean - mean / 8 + trip / 8, variation - variation / 4 + off / 4)
            }
        };
        self.smoothed = Some((mean, variation));
        self.bound(mean.saturating_add(variation.saturating_mul(4)));
    }

    fn lost(&mut self) {
        self.bound(self.limit.0.saturating_mul(2));
    }

    fn bound(&mut self, limit: u64) {
        self.limit = Ns(limit.clamp(self.bounds.0.0, self.bounds.1.0));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cutter, PageWriter, Signals};
    use super::*;
    use crate::grid::Grid;
    use std::sync::Arc;

    const SIZES: Sizes = Sizes { request: 40, response: 30 };
    const TAG: u32 = 77;

    fn pair() -> (UdpSocket, UdpSocket) {
        let (a, b) =
            (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        a.connect(b.local_addr().unwrap()).unwrap();
        b.connect(a.local_addr().unwrap()).unwrap();
        prepare(&a).unwrap();
        prepare(&b).unwrap();
        (a, b)
    }

    #[test]
    fn patience_is_that_of_rfc_6298_within_bounds() {
        let mut patience = RetransmitTimer::default();
        assert_eq!(patience.limit, Ns::secs(1));
        // SRTT 80 ms, RTTVAR 40 ms.
        patience.answered(Ns::millis(80));
        assert_eq!(patience.limit, Ns::millis(240));
        // SRTT 80 + (160 - 80) / 8 = 90 ms, RTTVAR 40 + (80 - 40) / 4 = 50 ms.
        patience.answered(Ns::millis(160));
        assert_eq!(patience.limit, Ns::millis(290));
        patience.lost();
        assert_eq!(patience.limit, Ns::millis(580));
        (0..9).for_each(|_| patience.lost());
        assert_eq!(patience.limit, Ns::secs(2));
        (0..99).for_each(|_| patience.answered(Ns(50_000)));
        assert_eq!(patience.limit, Ns::millis(200));
        patience.answered(Ns::secs(3600));
        assert_eq!(patience.limit, Ns::secs(2));
    }

    /// What asking ends in, and how many transactions were timed.
    fn asked(
        route: &DatagramRoute<'_>,
        patience: RetransmitTimer,
        meter: &Arc<StreamMeter>,
        signals: &Signals,
    ) -> (Option<io::Error>, u64) {
        let (writer, _desk) = PageWriter::open(Arc::clone(meter), true);
        let cutter = Cutter::new(vec![writer]);
        let mut context = WorkerContext { cutter, signals, barrier: &mut Grid::default };
        let error = ask(route, patience, meter, &mut [0; 64], &mut context);
        let timed = context.cutter.close().into_iter().flatten().map(|t| t.histogram.count()).sum();
        (error, timed)
    }

    /// What an asking end counts whose peer answers each request with the datagrams of `answers`.
    #[track_caller]
    fn check(requests: u64, answers: fn(u64) -> Vec<(u32, u64, usize)>, expected: [u64; 3]) {
        let (test, answering) = pair();
        let (signals, meter) = (Arc::<Signals>::default(), Arc::<StreamMeter>::default());
        let told = Arc::clone(&signals);
        let peer = std::thread::spawn(move || {
            let mut bytes = [0; 64];
            while !told.stopped() {
                let Ok(got) = answering.recv(&mut bytes) else { continue };
                let header = DatagramHeader::read(&bytes).expect("it has a header");
                assert_eq!((got, header.tag), (SIZES.request, TAG));
                // Before the last answer, so that no further request follows it.
                if header.number + 1 == requests {
                    told.stop();
                }
                for (tag, number, len) in answers(header.number) {
                    DatagramHeader { tag, number, ..header }.write(&mut bytes);
                    answering.send(&bytes[..len]).unwrap();
                }
            }
        });
        let route = DatagramRoute { socket: &test, tag: TAG, sizes: SIZES };
        // The first request may be given up soon; those after it only where the test is wrong.
        let patient =
            RetransmitTimer { bounds: (Ns::secs(60), Ns::secs(60)), ..RetransmitTimer::default() };
        let (error, timed) = asked(&route, patient, &meter, &signals);
        assert!(error.is_none(), "{error:?}");
        peer.join().unwrap();
        let found = [Count::Items, Count::Failed, Count::Late].map(|count| meter.get(count));
        assert_eq!(found, expected);
        assert_eq!(timed, expected[0], "what failed has no time");
        assert_eq!(meter.get(Count::Bytes), requests * SIZES.request as u64);
    }

    #[test]
    fn answers_are_told_apart_by_their_numbers() {
        const LEN: usize = SIZES.response;
        check(3, |number| vec![(TAG, number, LEN)], [3, 0, 0]);
        // Repeated: the second one comes before the answer of the next request.
        check(3, |number| vec![(TAG, number, LEN), (TAG, number, LEN)], [3, 0, 2]);
        // Unknown sender, a later request, too short, too long, no header: none of them is an answer, nor late.
        let noise = |number| {
            let others = [(9, number, LEN), (TAG, number + 1, LEN), (TAG, number, LEN - 1)];
            let more = [(TAG, number, LEN + 1), (TAG, number, 3), (TAG, number, LEN)];
            [&others[..], &more[..]].concat()
        };
        check(2, noise, [2, 0, 0]);
        // The first one's answer is overtaken by the time-out.
        let late = |number| match number {
            0 => vec![],
            _ => vec![(TAG, 0, LEN), (TAG, number, LEN)],
        };
        check(2, late, [1, 1, 1]);
    }

    #[test]
    fn who_is_not_there_is_a_failure_and_a_reason() {
        let (test, gone) = pair();
        drop(gone);
        let (signals, meter) = (Arc::<Signals>::default(), Arc::<StreamMeter>::default());
        let (told, counted) = (Arc::clone(&signals), Arc::clone(&meter));
        let watch = std::thread::spawn(move || {
            while counted.get(Count::Failed) < 3 {
                clock::sleep_until(clock::now().plus(Ns::millis(1)));
            }
            told.stop();
        });
        let route = DatagramRoute { socket: &test, tag: TAG, sizes: SIZES };
        let (error, timed) = asked(&route, RetransmitTimer::default(), &meter, &signals);
        watch.join().unwrap();
        assert_eq!(error.map(|e| e.kind()), Some(io::ErrorKind::ConnectionRefused));
        assert_eq!((meter.get(Count::Items), timed), (0, 0));
    }
}
