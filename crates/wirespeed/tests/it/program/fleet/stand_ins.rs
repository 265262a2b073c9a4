//! Agents that load nothing and cost next to nothing: each is one thread, which waits for its socket, with a connection of its
//! own. It answers as an agent does and puts out an interval of every worker and a count of one hop at every cut. The messages
//! are the program's own; connection and conversation are written from the description of both, and share no code with it.

use super::servers::{NatsServer, pause};
use crate::prelude::*;
use engine::{Phases, StepSpec, StepTimeline};
use fleet::frame;
use fleet::message::{FromAgent, Greeting, PROTOCOL, ToAgent};
use fleet::sequence::Numbered;
use nats::Announcement;
use nats::wire::{self, Assembler, CARRIER, Call, Reply, Subjects};
use record::{Completed, Counter, CounterId, Fact, HopKind, Interval, SourceId, Testimony};
use std::io::Write;
use std::net::Shutdown;
use std::thread::{Builder, JoinHandle};

/// What a server did not say that it keeps is sent again.
const RETRY: Ns = Ns::secs(5);

/// Agents that wait until this is dropped.
pub struct StandIns(Vec<(TcpStream, JoinHandle<()>)>);

impl StandIns {
    pub fn join(server: &NatsServer, count: usize) -> StandIns {
        let mut all = Vec::new();
        for n in 0..count {
            let socket = TcpStream::connect(("127.0.0.1", server.port)).expect("it listens");
            socket.set_nodelay(true).expect("a socket");
            let end = socket.try_clone().expect("a descriptor");
            let serve = move || StandIn::new(socket, n).serve();
            all.push((end, Builder::new().stack_size(256 << 10).spawn(serve).expect("a thread")));
            // Not all at one instant.
            pause(Ns::millis(2));
        }
        StandIns(all)
    }
}

impl Drop for StandIns {
    fn drop(&mut self) {
        for (socket, _) in &self.0 {
            let _ = socket.shutdown(Shutdown::Both);
        }
        self.0.drain(..).for_each(|(_, thread)| drop(thread.join()));
    }
}

struct StandIn {
    socket: TcpStream,
    /// What came and is not read yet.
    came: Vec<u8>,
    name: String,
    instance: u64,
    subjects: Subjects,
    engaged: Option<Engaged>,
    /// Parts that the server has not said to keep, and when each was sent.
    unkept: BTreeMap<u64, (Ns, Vec<u8>)>,
    published: u64,
}

/// The run that it is an agent of.
struct Engaged {
    run: String,
    inbox: Assembler,
    said: u64,
    over: bool,
    step: Option<StepSpec>,
    load: Option<Load>,
}

/// A step under load.
struct Load {
    line: StepTimeline,
    from: Ns,
    hop: Option<SourceId>,
}

/// A message of the server.
struct Heard {
    subject: String,
    reply: Option<String>,
    payload: Vec<u8>,
}

impl StandIn {
    fn new(socket: TcpStream, n: usize) -> StandIn {
        let name = format!("s{n:04}");
        let subjects = Subjects::new("default");
        let mut one = StandIn {
            socket,
            came: Vec::new(),
            instance: n as u64,
            subjects,
            engaged: None,
            unkept: BTreeMap::new(),
            published: 0,
            name,
        };
        let mut words = "CONNECT {\"verbose\":false,\"headers\":true}\r\n".to_owned();
        let (own, subjects) = (&one.name, &one.subjects);
        let heard = [subjects.who(), subjects.agent(own), subjects.downs(own), inbox(own, "*")];
        for (number, subject) in heard.iter().enumerate() {
            words.push_str(&format!("SUB {subject} {number}\r\n"));
        }
        one.put(words.as_bytes());
        one
    }

    /// Answers and reports until the connection ends.
    fn serve(mut self) {
        let mut bytes = vec![0; 64 << 10];
        loop {
            let due = self.due();
            let wait = (due < Ns::MAX).then(|| due.since(clock::now()).max(Ns::millis(1)).into());
            self.socket.set_read_timeout(wait).expect("a socket");
            match self.socket.read(&mut bytes) {
                Ok(0) => return,
                Ok(count) => self.came.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
            while let Some(message) = self.next() {
                self.hear(message);
            }
            self.report();
            self.repeat();
        }
    }

    /// When it acts without being asked.
    fn due(&self) -> Ns {
        let load = self.engaged.as_ref().and_then(|engaged| engaged.load.as_ref());
        let cut = load.and_then(|load| load.line.cut_after(load.from));
        let repeat = self.unkept.values().next().map(|(sent, _)| sent.plus(RETRY));
        cut.unwrap_or(Ns::MAX).min(repeat.unwrap_or(Ns::MAX))
    }

    fn put(&mut self, bytes: &[u8]) {
        // An error: the connection ends, as the next look at it tells.
        let _ = self.socket.write_all(bytes);
    }

    /// The next message that has come whole; what is of the connection alone is answered here.
    fn next(&mut self) -> Option<Heard> {
        loop {
            let end = self.came.windows(2).position(|two| two == b"\r\n")?;
            let line = String::from_utf8_lossy(&self.came[..end]).into_owned();
            let words: Vec<&str> = line.split_whitespace().collect();
            let (subject, rest, sizes) = match words.as_slice() {
                ["MSG", subject, _, rest @ ..] => (*subject, rest, 1),
                ["HMSG", subject, _, rest @ ..] => (*subject, rest, 2),
                other => {
                    if other == ["PING"] {
                        self.put(b"PONG\r\n");
                    }
                    assert!(!line.starts_with("-ERR"), "{line}");
                    self.came.drain(..end + 2);
                    continue;
                }
            };
            let size = |at: usize| -> usize { rest[at].parse().expect("a size") };
            let (all, from) = (rest.len() - 1, end + 2);
            let head = if sizes == 2 { size(all - 1) } else { 0 };
            if self.came.len() < from + size(all) + 2 {
                return None;
            }
            let payload = self.came[from + head..from + size(all)].to_vec();
            let reply = (rest.len() > sizes).then(|| rest[0].to_owned());
            let (subject, taken) = (subject.to_owned(), from + size(all) + 2);
            self.came.drain(..taken);
            return Some(Heard { subject, reply, payload });
        }
    }

    fn hear(&mut self, Heard { subject, reply, payload }: Heard) {
        let Some(reply) = reply else { return self.kept(&subject, &payload) };
        let answer = if subject == self.subjects.who() {
            wire::encode(&self.announcement())
        } else if subject == self.subjects.agent(&self.name) {
            wire::encode(&self.call(&payload))
        } else {
            wire::encode(&self.part(payload))
        };
        let answer = answer.expect("it can be encoded");
        let mut bytes = format!("PUB {reply} {}\r\n", answer.len()).into_bytes();
        bytes.extend_from_slice(&answer);
        bytes.extend_from_slice(b"\r\n");
        self.put(&bytes);
    }

    fn announcement(&self) -> Announcement {
        Announcement {
            carrier: CARRIER,
            protocol: PROTOCOL,
            release: env!("CARGO_PKG_VERSION").to_owned(),
            name: self.name.clone(),
            group: "default".to_owned(),
            instance: self.instance,
            labels: Vec::new(),
            facts: vec![fact("host")],
            busy: None,
            now: clock::now(),
        }
    }

    fn call(&mut self, bytes: &[u8]) -> Reply {
        match wire::decode(bytes).expect("a call") {
            Call::Engage { run, .. } => {
                let (inbox, step, load) = (Assembler::default(), None, None);
                self.engaged = Some(Engaged { run, inbox, said: 0, over: false, step, load });
                Reply::Engaged { instance: self.instance, next: 0 }
            }
            Call::Ping { run, .. } => match self.engaged.as_ref().filter(|e| e.run == run) {
                None => Reply::Unknown,
                Some(Engaged { over: true, said, .. }) => {
                    Reply::Over { reason: "it was dismissed".to_owned(), last: *said }
                }
                Some(_) => {
                    Reply::Pong { instance: self.instance, waiting: self.unkept.len() as u64 }
                }
            },
            Call::Release { .. } => {
                self.engaged = None;
                Reply::Received
            }
            other => Reply::Refused(format!("{other:?}")),
        }
    }

    fn part(&mut self, bytes: Vec<u8>) -> Reply {
        let Some(engaged) = &mut self.engaged else { return Reply::Unknown };
        let Some(part) = wire::part(&bytes.into()) else { return Reply::Again };
        engaged.inbox.take(part);
        let mut orders = Vec::new();
        while let Some((_, message)) = engaged.inbox.pop() {
            let message: Numbered<ToAgent> = frame::decode(&message).expect("a message");
            orders.push(message.message);
        }
        orders.into_iter().for_each(|order| self.obey(order));
        Reply::Received
    }

    fn obey(&mut self, order: ToAgent) {
        let Some(engaged) = &mut self.engaged else { return };
        let answer = match order {
            ToAgent::Hello { .. } => FromAgent::Hello(Greeting {
                version: PROTOCOL,
                name: self.name.clone(),
                facts: vec![fact(&self.name)],
                now: clock::now(),
            }),
            ToAgent::Clock { number } => FromAgent::Clock { number, now: clock::now() },
            ToAgent::Prepare(step) => {
                let index = step.index;
                engaged.step = Some(*step);
                FromAgent::Ready {
                    step: index,
                    facts: Vec::new(),
                    depths: Vec::new(),
                    planned: Vec::new(),
                    hops: vec![("host.cpu".to_owned(), HopKind::HostCpu)],
                    same: Vec::new(),
                    places: Vec::new(),
                }
            }
            ToAgent::Start { epoch, at, hops } => {
                let step = engaged.step.as_ref().expect("it has prepared");
                let line = StepTimeline::new(epoch, at, Phases::from(step));
                engaged.load = Some(Load { line, from: at, hop: hops.first().copied() });
                return;
            }
            ToAgent::Stop => {
                engaged.load = None;
                FromAgent::Finished { step: engaged.step.as_ref().map_or(0, |step| step.index) }
            }
            ToAgent::Bye => {
                engaged.over = true;
                return;
            }
            other => panic!("a stand-in knows no {other:?}"),
        };
        self.say(answer);
    }

    /// What was measured until the last cut that has come.
    fn report(&mut self) {
        while let Some(engaged) = &mut self.engaged
            && let (Some(load), Some(step)) = (&mut engaged.load, &engaged.step)
        {
            let Some(to) = load.line.cut_after(load.from) else {
                let step = step.index;
                engaged.load = None;
                self.say(FromAgent::Finished { step });
                return;
            };
            if clock::now() < to {
                return;
            }
            let from = std::mem::replace(&mut load.from, to);
            let intervals = step.workers.iter().map(|w| interval(load, w.source, step, from, to));
            let intervals = FromAgent::Intervals(intervals.collect());
            let counter = load.hop.map(|source| Counter {
                source,
                step: Some(step.index),
                from: load.line.on_record(from),
                to: load.line.on_record(to),
                kind: CounterId::Busy.into(),
                part: None,
                value: 1e8,
            });
            self.say(intervals);
            self.say(FromAgent::Counters(counter.into_iter().collect()));
        }
    }

    fn say(&mut self, message: FromAgent) {
        let Some(engaged) = &mut self.engaged else { return };
        let (number, subject) = (engaged.said, self.subjects.up(&self.name, &engaged.run));
        engaged.said += 1;
        let whole = frame::encode(&Numbered { number, message }).expect("it can be encoded");
        for (index, part) in wire::parts(number, &whole.into()).iter().enumerate() {
            let head =
                format!("NATS/1.0\r\nNats-Msg-Id: {:x}-{number}-{index}\r\n\r\n", self.instance);
            let reply = inbox(&self.name, &self.published.to_string());
            let (of_head, all) = (head.len(), head.len() + part.len());
            let mut bytes = format!("HPUB {subject} {reply} {of_head} {all}\r\n").into_bytes();
            bytes.extend_from_slice(head.as_bytes());
            bytes.extend_from_slice(part);
            bytes.extend_from_slice(b"\r\n");
            self.put(&bytes);
            self.unkept.insert(self.published, (clock::now(), bytes));
            self.published += 1;
        }
    }

    /// The server says of a part that it keeps it, or why it does not: then it comes again.
    fn kept(&mut self, subject: &str, answer: &[u8]) {
        let number = subject.rsplit('.').next().and_then(|number| number.parse::<u64>().ok());
        let kept = serde_json::from_slice::<Value>(answer).is_ok_and(|it| it["error"].is_null());
        if let Some(number) = number.filter(|_| kept) {
            self.unkept.remove(&number);
        }
    }

    /// Sends again what has been sent for a while and is not kept; the server knows it by its name, and keeps it once.
    fn repeat(&mut self) {
        let now = clock::now();
        let late = self.unkept.iter().filter(|(_, (sent, _))| sent.plus(RETRY) <= now);
        let late: Vec<u64> = late.map(|(number, _)| *number).collect();
        for number in late {
            let Some((sent, bytes)) = self.unkept.get_mut(&number) else { continue };
            *sent = now;
            let bytes = bytes.clone();
            self.put(&bytes);
        }
    }
}

fn inbox(name: &str, number: &str) -> String {
    format!("_INBOX.{name}.{number}")
}

fn fact(subject: &str) -> Fact {
    Fact { subject: subject.to_owned(), key: "cpu-count".to_owned(), value: "1".to_owned() }
}

fn interval(load: &Load, source: SourceId, step: &StepSpec, from: Ns, to: Ns) -> Interval {
    let (mut read, length) = (Completed::empty(true), to.since(from));
    // Ten a second, each of its own latency.
    for n in 0..length.0 / 100_000_000 {
        read.success(4096, Ns(20_000 + n * 7_919), Ns(40_000 + n * 104_729));
    }
    Interval {
        source,
        step: step.index,
        phase: load.line.phase_at(from).expect("within the step"),
        from: load.line.on_record(from),
        to: load.line.on_record(to),
        read: Some(read),
        write: None,
        others: Default::default(),
        testimony: Some(Testimony::default()),
    }
}
