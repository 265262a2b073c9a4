//! A test at the sender: agreed with the receiver, kept ready, run, with the figures of both ends passed on as they arrive.

use crate::control::{ControlLink, FromReceiver, FromSender};
use crate::figures::EndFigures;
use crate::grid::{Grid, GridCut, TestStart};
use crate::report::{ClockComparison, SideReport, clean};
use crate::sender::{self, PATIENCE, answer, compare_clocks, greet, join, out_of_turn, reach};
use crate::team::StreamTeam;
use crate::test_run::{Decision, IntervalSink, StopWatch, TestRun};
use crate::{Carriage, NetError, SendConfig, TestSpec};
use clock::Ns;
use engine::Stop;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// The longest delay of the receiver's figures after their interval.
const SILENCE: Ns = Ns::secs(10);
/// The longest delay of the receiver's final figures after the sender's end.
const FIGURES: Ns = Ns::secs(30);
/// How often a waiting thread polls for a stop.
const LOOK: Ns = Ns::millis(50);

/// A test that both ends are ready to start.
pub(crate) struct SenderTest {
    link: ControlLink,
    team: StreamTeam,
    spec: TestSpec,
    pub about: PeerInfo,
}

/// The receiver of a test.
#[derive(Clone, Debug)]
pub(crate) struct PeerInfo {
    /// Its host's name and kernel.
    pub receiver: (String, String),
    /// Its clock.
    pub clock: ClockComparison,
}

/// Takes the figures of both ends.
pub(crate) trait FigureSink {
    /// Of this end's.
    fn mine(&mut self, figures: &EndFigures);

    /// Of the receiver's.
    fn theirs(&mut self, figures: &EndFigures);
}

/// What a test came to.
pub(crate) struct TestOutcome {
    pub about: PeerInfo,
    pub clock_after: ClockComparison,
    pub sender: SideReport,
    pub receiver: SideReport,
}

impl SenderTest {
    /// Connects to the receiver, agrees on the test, connects the streams and waits until both ends are ready.
    pub(crate) fn prepare(config: &SendConfig, spec: &TestSpec) -> Result<SenderTest, NetError> {
        spec.check()?;
        let connects = matches!(spec.network.carriage, Carriage::Connects { .. });
        if connects && config.source_port.is_some() {
            return Err(NetError::Spec(
                "short connections need ports of their own; omit the source port".to_owned(),
            ));
        }
        let mut link = reach(config)?;
        greet(&mut link, config)?;
        link.trust();
        let clock = compare_clocks(&mut link)?;
        let (lines, receiver) = join(&mut link, config, spec)?;
        let team = StreamTeam::assemble(spec, lines, &spec.network.cpus)?;
        match answer(&mut link, PATIENCE, "before the start")? {
            FromReceiver::Ready => {}
            other => return Err(out_of_turn(&link, &other)),
        }
        let about = PeerInfo { receiver, clock };
        Ok(SenderTest { link, team, spec: spec.clone(), about })
    }

    /// Compares the clocks again, which also keeps the receiver waiting.
    pub(crate) fn compare(&mut self) -> Result<(), NetError> {
        self.about.clock = compare_clocks(&mut self.link)?;
        Ok(())
    }

    /// The addresses of the two hosts, as the control connection has them.
    pub(crate) fn addresses(&self) -> Result<(IpAddr, IpAddr), NetError> {
        let set = |address: io::Result<SocketAddr>| {
            let address = address.map_err(NetError::socket("the control connection"))?;
            Ok::<_, NetError>(address.ip().to_canonical())
        };
        Ok((set(self.link.stream().local_addr())?, set(self.link.stream().peer_addr())?))
    }

    /// The congestion control of its connections.
    pub(crate) fn congestion(&self) -> Option<String> {
        self.team.lines.iter().find_map(|line| line.congestion())
    }

    /// Runs the test. Load begins at `at`; whole cuts are counted from `epoch`. On `stop` both ends stop and report.
    pub(crate) fn run(
        self,
        (epoch, at): (Ns, Ns),
        stop: &Stop,
        sink: &mut dyn FigureSink,
    ) -> Result<TestOutcome, NetError> {
        let SenderTest { mut link, mut team, spec, about } = self;
        let start = TestStart::new(at, epoch, spec.interval);
        link.say(&FromSender::Start(start.shifted(about.clock.offset)), "at the start")?;
        let first = at.since(clock::now()).plus(spec.interval);
        link.expect_signs(first.plus(SILENCE));
        let grid = Grid::new(start, &spec);
        let theirs = Box::new(grid.cuts());
        let streams = spec.streams().into();
        let (link_used, watch, stopped) = (&mut link, StopWatch::begin(), false);
        let mut control =
            SenderControl { link: link_used, stop, sink, theirs, streams, stopped, watch };
        let run = TestRun::conduct(&mut team, grid, &mut control)?;
        control.link.expect_signs(FIGURES);
        let mut ends = team.join(true);
        control.link.say(&FromSender::Done, "at the end")?;
        let receiver = control.await_figures()?;
        team.signals.drain();
        ends.extend(team.join(false));
        let sender = run.finish(&team, ends, &mut control)?;
        let clock_after = compare_clocks(&mut link)?;
        Ok(TestOutcome { about, clock_after, sender, receiver })
    }
}

/// Holds the control connection while a test runs.
struct SenderControl<'a> {
    link: &'a mut ControlLink,
    stop: &'a Stop,
    sink: &'a mut dyn FigureSink,
    /// The receiver's cuts that are still to come.
    theirs: Box<dyn Iterator<Item = GridCut>>,
    streams: usize,
    stopped: bool,
    watch: StopWatch,
}

impl SenderControl<'_> {
    fn take(&mut self, message: FromReceiver) -> Result<Option<SideReport>, NetError> {
        match message {
            FromReceiver::Interval(figures) => {
                let cut = self.theirs.next();
                let early = cut.is_some_and(|cut| figures.to != cut.to) && !self.stopped;
                let early = early.then_some("an interval that ends too early");
                if let Some(problem) = figures.problem(cut, self.streams).or(early) {
                    return Err(self.link.garbled(problem));
                }
                self.sink.theirs(&figures);
                Ok(None)
            }
            FromReceiver::Finished(side) => match side.believed(self.streams) {
                Ok(side) => Ok(Some(side)),
                Err(problem) => Err(self.link.garbled(problem)),
            },
            FromReceiver::Failed(why) => Err(self.link.lost("during the test", clean(&why))),
            other => Err(out_of_turn(self.link, &other)),
        }
    }

    fn await_figures(&mut self) -> Result<SideReport, NetError> {
        let limit = clock::now().plus(FIGURES);
        loop {
            let message = sender::answer(self.link, limit.since(clock::now()), "at the end")?;
            if let Some(side) = self.take(message)? {
                return Ok(side);
            }
        }
    }
}

impl IntervalSink for SenderControl<'_> {
    fn until(&mut self, at: Ns) -> Result<Decision, NetError> {
        while clock::now() < at {
            if self.stop.asked() {
                self.stopped = true;
                self.link.say(&FromSender::Stop, "while it was stopped")?;
                return Ok(Decision::Stop);
            }
            let until = at.min(clock::now().plus(LOOK));
            let message = self.link.hear(until, "during the test")?;
            self.watch.woke();
            if let Some(message) = message
                && self.take(message)?.is_some()
            {
                return Err(self.link.garbled("it finished before the end"));
            }
        }
        Ok(Decision::On)
    }

    fn cut(&mut self, figures: EndFigures) -> Result<(), NetError> {
        self.sink.mine(&figures);
        Ok(())
    }

    fn watch(&mut self) -> &mut StopWatch {
        &mut self.watch
    }
}
