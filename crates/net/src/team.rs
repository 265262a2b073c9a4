//! The threads of one end: each opens nothing and decides nothing, but prepares its buffers, stands ready at the barrier, and
//! then does what the data plane's modules say. Dropping a team ends it, whatever it is doing.

use crate::grid::Grid;
use crate::memory::{ZeroPages, nameless};
use crate::plane::datagram_exchange::RetransmitTimer;
use crate::plane::exchange::Sizes;
use crate::plane::sequence::SequenceWindow;
use crate::plane::{
    Cutter, PageReader, PageWriter, Signals, StartBarrier, StreamResult, WorkerContext, connects,
    datagram_exchange, exchange, probe, tcp, udp_receive, udp_send,
};
use crate::sys::{ReceiveBatch, SendBatch};
use crate::test_stream::{Socket, TestStream};
use crate::{Carriage, NetError, TestSpec};
use clock::{Ns, Rng};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use workload::DATAGRAMS_MAX;

/// How long threads may take to stand ready.
const READY: Ns = Ns::secs(10);
/// How long the end of a thread is waited for before its sockets are shut.
pub(crate) const GRACE: Ns = Ns::secs(8);
/// How often a thread that should end is checked.
const LOOK: Ns = Ns::millis(2);

pub(crate) struct TeamThread {
    pub name: String,
    pub writes: bool,
    pub cpu: Option<usize>,
    /// The kernel's number of it.
    pub id: i32,
    /// Its streams, as indices into the team's lines.
    pub lines: Vec<usize>,
    thread: Option<JoinHandle<Vec<StreamResult>>>,
}

/// All threads of one end of a test, and its streams.
pub(crate) struct StreamTeam {
    pub lines: Vec<TestStream>,
    pub members: Vec<TeamThread>,
    /// Where the streams' figures arrive, by their numbers.
    pub readers: Vec<PageReader>,
    pub signals: Arc<Signals>,
    releases: Vec<Sender<Grid>>,
}

/// A thread's way to the start.
struct Barrier {
    ready: Sender<(usize, i32)>,
    index: usize,
    release: Receiver<Grid>,
}

impl Barrier {
    fn pass(&self) -> Grid {
        // Where the test is called off, neither end of the channels is left.
        let _ = self.ready.send((self.index, rustix::thread::gettid().as_raw_nonzero().get()));
        let grid = self.release.recv().unwrap_or_default();
        clock::sleep_until(grid.start());
        grid
    }
}

impl StreamTeam {
    /// Spawns the threads that `spec` asks for, distributes the lines over them, and waits until all stand ready. With
    /// `cpus` the threads are pinned to these processors in turn.
    pub(crate) fn assemble(
        spec: &TestSpec,
        lines: Vec<TestStream>,
        cpus: &[usize],
    ) -> Result<StreamTeam, NetError> {
        let (writers, readers): (Vec<PageWriter>, Vec<PageReader>) = lines
            .iter()
            .map(|line| PageWriter::open(Arc::clone(&line.meter), line.is_timed(spec)))
            .unzip();
        let mut writers: Vec<Option<PageWriter>> = writers.into_iter().map(Some).collect();
        let (members, signals, releases) = (Vec::new(), Arc::default(), Vec::new());
        let mut team = StreamTeam { lines, members, readers, signals, releases };
        let (ready, stands) = channel();
        for writes in [true, false] {
            let carries = |line: &TestStream| line.writes == writes && !line.probe;
            let mine: Vec<usize> =
                (0..team.lines.len()).filter(|i| carries(&team.lines[*i])).collect();
            let threads = usize::from(spec.threads_of(mine.len() as u16));
            for number in 0..threads {
                let lines: Vec<usize> =
                    mine.iter().copied().skip(number).step_by(threads).collect();
                let writers = lines.iter().filter_map(|line| writers[*line].take()).collect();
                let name = format!("net-{}-{number}", if writes { "send" } else { "recv" });
                team.spawn(spec, (lines, writers), writes, name, cpus, &ready)?;
            }
        }
        if let Some(index) = team.lines.iter().position(|line| line.probe) {
            let writers = writers[index].take().into_iter().collect();
            let writes = team.lines[index].writes;
            // Pinned to where the streams are, it would tell of its own neighbour.
            team.spawn(spec, (vec![index], writers), writes, "net-probe".to_owned(), &[], &ready)?;
        }
        drop(ready);
        team.await_ready(&stands)?;
        Ok(team)
    }

    fn spawn(
        &mut self,
        spec: &TestSpec,
        (lines, writers): (Vec<usize>, Vec<PageWriter>),
        writes: bool,
        name: String,
        cpus: &[usize],
        ready: &Sender<(usize, i32)>,
    ) -> Result<(), NetError> {
        let index = self.members.len();
        let cpu = (!cpus.is_empty()).then(|| cpus[index % cpus.len()]);
        lines.iter().for_each(|line| self.lines[*line].thread = index as u16);
        let (release, released) = channel();
        let job = ThreadJob {
            spec: spec.clone(),
            lines: lines.iter().map(|line| self.lines[*line].clone()).collect(),
            signals: Arc::clone(&self.signals),
        };
        let barrier = Barrier { ready: ready.clone(), index, release: released };
        let body = move || {
            engine::settle(cpu);
            job.work(Cutter::new(writers), &mut || barrier.pass())
        };
        let thread =
            Builder::new().name(name.clone()).spawn(body).map_err(|e| NetError::Worker {
                thread: name.clone(),
                problem: format!("cannot be started ({e}); ask for fewer threads"),
            })?;
        self.releases.push(release);
        self.members.push(TeamThread { name, writes, cpu, id: 0, lines, thread: Some(thread) });
        Ok(())
    }

    fn await_ready(&mut self, stands: &Receiver<(usize, i32)>) -> Result<(), NetError> {
        let limit = clock::now().plus(READY);
        for _ in 0..self.members.len() {
            let left = limit.since(clock::now());
            match stands.recv_timeout(left.into()) {
                Ok((index, id)) => self.members[index].id = id,
                // A thread that could not prepare has ended, and its error is handed out by its end.
                Err(_) => return Err(self.failure()),
            }
        }
        Ok(())
    }

    fn failure(&mut self) -> NetError {
        self.signals.abort();
        self.releases.clear();
        let names: Vec<String> = self.members.iter().map(|m| m.name.clone()).collect();
        for (name, thread) in
            names.into_iter().zip(self.members.iter_mut().map(|m| m.thread.take()))
        {
            let ends = thread.map(JoinHandle::join);
            let error = match ends {
                Some(Ok(ends)) => ends.into_iter().find_map(|end| end.error).map(|e| e.to_string()),
                Some(Err(_)) => Some("it panicked; its message is on stderr".to_owned()),
                None => None,
            };
            if let Some(problem) = error {
                return NetError::Worker { thread: name, problem };
            }
        }
        NetError::Worker {
            thread: "net".to_owned(),
            problem: "threads did not get ready".to_owned(),
        }
    }

    /// Lets all begin at the start of the grid.
    pub(crate) fn start(&mut self, grid: Grid) {
        for release in self.releases.drain(..) {
            // A thread that has ended meanwhile is found at its end.
            let _ = release.send(grid);
        }
    }

    /// Waits for the writing or the reading threads after their order to end. What does not end within the grace has
    /// its connections shut. Answers each stream's end by its line.
    pub(crate) fn join(&mut self, writes: bool) -> Vec<(usize, StreamResult)> {
        let limit = clock::now().plus(GRACE);
        let mut ends = Vec::new();
        for index in 0..self.members.len() {
            if self.members[index].writes != writes {
                continue;
            }
            let Some(thread) = self.members[index].thread.take() else { continue };
            while !thread.is_finished() && clock::now() < limit {
                clock::sleep_until(clock::now().plus(LOOK));
            }
            if !thread.is_finished() {
                self.signals.abort();
                self.members[index].lines.iter().for_each(|line| self.lines[*line].cut());
            }
            let lines = self.members[index].lines.iter().copied();
            match thread.join() {
                Ok(done) => ends.extend(lines.zip(done)),
                Err(_) => ends.extend(lines.map(|line| (line, panicked()))),
            }
        }
        ends
    }
}

fn panicked() -> StreamResult {
    let error = Some(io::Error::other("its thread panicked; the message is on stderr"));
    StreamResult { error, ..StreamResult::default() }
}

impl Drop for StreamTeam {
    fn drop(&mut self) {
        if self.members.iter().all(|member| member.thread.is_none()) {
            return;
        }
        self.signals.abort();
        self.releases.clear();
        self.lines.iter().for_each(TestStream::cut);
        for member in &mut self.members {
            if let Some(thread) = member.thread.take() {
                // No caller needs the reason any more.
                let _ = thread.join();
            }
        }
    }
}

struct ThreadJob {
    spec: TestSpec,
    lines: Vec<TestStream>,
    signals: Arc<Signals>,
}

impl ThreadJob {
    fn work(self, cutter: Cutter, barrier: StartBarrier<'_>) -> Vec<StreamResult> {
        let mut context = WorkerContext { cutter, signals: &self.signals, barrier };
        let mut ends = self.run(&mut context);
        for (end, times) in ends.iter_mut().zip(context.cutter.close()) {
            end.times = times;
        }
        ends
    }

    fn run(&self, context: &mut WorkerContext<'_>) -> Vec<StreamResult> {
        if let [line @ TestStream { probe: true, .. }] = &self.lines[..] {
            return vec![probe(line, context)];
        }
        let writes = self.lines.first().is_some_and(|line| line.writes);
        match (self.spec.network.carriage, writes) {
            (Carriage::Tcp, true) => self.send_tcp(context),
            (Carriage::Tcp, false) => self.receive_tcp(context),
            (Carriage::Udp { segmented }, true) => self.send_udp(segmented, context),
            (Carriage::Udp { segmented }, false) => self.receive_udp(segmented, context),
            (
                Carriage::Exchange { response }
                | Carriage::DatagramExchange { response }
                | Carriage::Connects { response },
                _,
            ) => {
                let sizes = Sizes {
                    request: self.spec.network.message as usize,
                    response: response as usize,
                };
                self.lines.iter().map(|line| self.transact(line, sizes, context)).collect()
            }
        }
    }

    /// Bytes that neither compress nor repeat.
    fn content(&self, len: usize) -> ZeroPages {
        let mut bytes = ZeroPages::zeroed(len);
        Rng::keyed(1, &[self.lines.first().map_or(0, |line| line.index.into())]).fill(&mut bytes);
        bytes
    }

    fn tcp_streams(&self) -> Vec<tcp::TcpStreamEnd> {
        let sockets = self.lines.iter().filter_map(|line| match &line.socket {
            Socket::Tcp(socket) => Some((Arc::clone(socket), Arc::clone(&line.meter))),
            _ => None,
        });
        sockets.map(|(socket, meter)| tcp::TcpStreamEnd { socket, meter, error: None }).collect()
    }

    fn send_tcp(&self, context: &mut WorkerContext<'_>) -> Vec<StreamResult> {
        let submission = self.content(self.spec.submission() as usize);
        let mut streams = self.tcp_streams();
        let file = self.spec.network.sockets.sendfile.then(|| nameless(&submission)).transpose();
        let result = file.and_then(|file| {
            let how = tcp::TcpSendMode {
                submission: &submission,
                zero_copy: self.spec.network.sockets.zero_copy,
                file: file.as_ref(),
                paced: self.spec.network.rate.is_some(),
            };
            tcp::send_all(&mut streams, &how, context)
        });
        ends(
            streams.into_iter().map(|s| StreamResult { error: s.error, ..StreamResult::default() }),
            result,
        )
    }

    fn receive_tcp(&self, context: &mut WorkerContext<'_>) -> Vec<StreamResult> {
        let mut buffer = ZeroPages::zeroed(self.spec.read_size());
        let mut how = tcp::ReceiveMode { buffer: &mut buffer, discard: self.spec.network.discard };
        let mut streams = self.tcp_streams();
        let result = tcp::receive_all(&mut streams, &mut how, context);
        ends(
            streams.into_iter().map(|s| StreamResult { error: s.error, ..StreamResult::default() }),
            result,
        )
    }

    fn send_udp(&self, segmented: bool, context: &mut WorkerContext<'_>) -> Vec<StreamResult> {
        let (count, size) = (self.spec.network.batch as usize, self.spec.network.message as usize);
        let gap = self.spec.network.rate.map(|rate| {
            Ns((u128::from(self.spec.submission()) * 1_000_000_000 / u128::from(rate)) as u64)
        });
        let batch = SendBatch::new(count, size, &self.content(size));
        let mut how = udp_send::UdpSendMode { batch, segmented, gap };
        let mut streams: Vec<udp_send::UdpSendStream> = self
            .lines
            .iter()
            .filter_map(|line| match &line.socket {
                Socket::Udp(socket) => Some(udp_send::UdpSendStream {
                    socket: Arc::clone(socket),
                    meter: Arc::clone(&line.meter),
                    tag: line.tag(),
                    sent: [0; 3],
                    number: 0,
                    due: Ns::ZERO,
                    error: None,
                }),
                _ => None,
            })
            .collect();
        udp_send::send_all(&mut streams, &mut how, context);
        let end = |s: udp_send::UdpSendStream| StreamResult {
            sent: Some(s.sent),
            error: s.error,
            ..StreamResult::default()
        };
        streams.into_iter().map(end).collect()
    }

    fn receive_udp(&self, segmented: bool, context: &mut WorkerContext<'_>) -> Vec<StreamResult> {
        let all = DATAGRAMS_MAX as usize;
        // Joined datagrams come in buffers of up to 64 KiB.
        let mut batch = match segmented {
            true => ReceiveBatch::new(all / 4, 65_536),
            false => ReceiveBatch::new(all, self.spec.network.message as usize),
        };
        let mut streams: Vec<udp_receive::UdpReceiveStream> = self
            .lines
            .iter()
            .filter_map(|line| match &line.socket {
                Socket::Udp(socket) => Some(udp_receive::UdpReceiveStream {
                    socket: Arc::clone(socket),
                    meter: Arc::clone(&line.meter),
                    tag: line.tag(),
                    sequence: SequenceWindow::new(),
                    error: None,
                }),
                _ => None,
            })
            .collect();
        let result = udp_receive::receive_all(&mut streams, &mut batch, context);
        let end = |s: udp_receive::UdpReceiveStream| StreamResult {
            tally: Some(s.sequence.tally()),
            error: s.error,
            ..StreamResult::default()
        };
        ends(streams.into_iter().map(end), result)
    }

    fn transact(
        &self,
        line: &TestStream,
        sizes: Sizes,
        context: &mut WorkerContext<'_>,
    ) -> StreamResult {
        let mut buffer = self.content(self.spec.read_size());
        buffer[..line.preamble.len().min(sizes.request)]
            .copy_from_slice(&line.preamble[..line.preamble.len().min(sizes.request)]);
        let (meter, buffer) = (&*line.meter, &mut buffer[..]);
        let error = match &line.socket {
            Socket::Tcp(socket) if line.writes => {
                exchange::ask(socket, meter, sizes, Ns::ZERO, buffer, context).err()
            }
            Socket::Tcp(socket) => exchange::answer(socket, meter, sizes, buffer, context).err(),
            Socket::Calls { to, source } => {
                let sockets = &self.spec.network.sockets;
                let way = connects::ConnectRoute { to: *to, source: *source, sockets };
                connects::ask(&way, meter, sizes, buffer, context)
            }
            Socket::Door(door) => {
                connects::answer(door, meter, &line.preamble, sizes, buffer, context).err()
            }
            Socket::Udp(socket) => {
                let way = datagram_exchange::DatagramRoute { socket, tag: line.tag(), sizes };
                let patience = RetransmitTimer::default();
                match line.writes {
                    true => datagram_exchange::ask(&way, patience, meter, buffer, context),
                    false => datagram_exchange::answer(&way, meter, buffer, context).err(),
                }
            }
        };
        StreamResult { error, ..StreamResult::default() }
    }
}

/// The work of the probe's thread.
fn probe(line: &TestStream, context: &mut WorkerContext<'_>) -> StreamResult {
    let Socket::Tcp(socket) = &line.socket else { return StreamResult::default() };
    let result = match line.writes {
        true => probe::ask(socket, &line.meter, context),
        false => probe::answer(socket, &line.meter, context),
    };
    StreamResult { error: result.err(), ..StreamResult::default() }
}

/// What the streams of a thread end in; a failure of the thread's own falls on its first stream.
fn ends(each: impl Iterator<Item = StreamResult>, result: io::Result<()>) -> Vec<StreamResult> {
    let mut all: Vec<StreamResult> = each.collect();
    if let (Err(e), Some(first)) = (result, all.first_mut()) {
        first.error.get_or_insert(e);
    }
    all
}
