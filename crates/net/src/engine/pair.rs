//! A load between this host and one receiver, on a thread of its own: kept ready until the step starts, then carried out.

use super::figures::FigureWriter;
use crate::sender_test::SenderTest;
use crate::{NetError, SendConfig, TestSpec};
use ::engine::{EngineError, IntervalTx, NetSpec, StepSpec, Stop};
use clock::Ns;
use record::Fact;
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};

/// How often the clocks are compared again before the start, which also keeps the receiver waiting.
const AWAKE: Ns = Ns::secs(3);

/// A load that is ready at both ends.
pub(super) struct ReadyNetLoad {
    test: SenderTest,
    net: NetSpec,
    spec: TestSpec,
    step: u32,
    place: usize,
}

#[derive(Clone)]
pub(super) struct NetStepStart {
    pub epoch: Ns,
    pub at: Ns,
    pub out: IntervalTx,
    pub stop: Stop,
    /// Hears how the load ended.
    pub ended: Sender<Result<(), EngineError>>,
}

impl ReadyNetLoad {
    /// Prepares both ends of a load.
    pub(super) fn prepare(
        net: &NetSpec,
        step: &StepSpec,
        config: &SendConfig,
    ) -> Result<ReadyNetLoad, EngineError> {
        let spec = TestSpec {
            warmup: step.warmup,
            measure: step.measure,
            cooldown: step.cooldown,
            interval: Ns::secs(1),
            ..TestSpec::of(net.network.clone())
        };
        let streams = usize::from(spec.up()) + usize::from(spec.down());
        if net.sources.streams.len() != streams {
            return Err(EngineError::Unsupported(format!(
                "{}: {streams} streams and {} sources for their figures; this is a defect of the program",
                net.name,
                net.sources.streams.len()
            )));
        }
        let test = SenderTest::prepare(config, &spec).map_err(|e| failure(&net.name, e))?;
        let before = step.nets().take_while(|other| !std::ptr::eq(*other, net));
        let place = before.filter(|other| other.sources.hop == net.sources.hop).count();
        Ok(ReadyNetLoad { test, net: net.clone(), spec, step: step.index, place })
    }

    /// What is known of both ends before the start.
    pub(super) fn facts(&self) -> Vec<Fact> {
        let (host, kernel) = crate::host::names();
        let about = &self.test.about;
        let addresses = self.test.addresses().ok();
        let version = |peer: IpAddr| if peer.is_ipv6() { "ipv6" } else { "ipv4" };
        let known = [
            ("sender-host", Some(host)),
            ("sender-kernel", Some(kernel)),
            ("receiver-host", Some(about.receiver.0.clone())),
            ("receiver-kernel", Some(about.receiver.1.clone())),
            ("congestion", self.test.congestion()),
            ("ip-version", addresses.map(|(_, peer)| version(peer).to_owned())),
            ("addresses", addresses.map(|(local, peer)| format!("{local} to {peer}"))),
        ];
        let fact = |(key, value): (&str, Option<String>)| {
            Some(Fact { subject: self.net.name.clone(), key: key.to_owned(), value: value? })
        };
        known.into_iter().filter_map(fact).collect()
    }

    /// Waits until the step starts or is cancelled.
    pub(super) fn stand_by(mut self, start: &Receiver<NetStepStart>) {
        let mut lost = None;
        loop {
            match start.recv_timeout(AWAKE.into()) {
                Ok(go) => {
                    let result = match lost {
                        Some(e) => Err(e),
                        None => self.run(&go),
                    };
                    // The step may have been dropped.
                    let _ = go.ended.send(result);
                    return;
                }
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) if lost.is_none() => {
                    lost = self.test.compare().err().map(|e| failure(&self.net.name, e));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn run(self, go: &NetStepStart) -> Result<(), EngineError> {
        let ReadyNetLoad { test, net, spec, step, place } = self;
        let start = go.at.since(go.epoch);
        let mut writer = FigureWriter::new((step, start), &spec, &net.sources, &go.out, place);
        let outcome = test.run((go.epoch, go.at), &go.stop, &mut writer);
        let outcome = outcome.map_err(|e| failure(&net.name, e))?;
        writer.close(&outcome);
        Ok(())
    }
}

/// What went wrong, for the step.
pub(super) fn failure(name: &str, error: NetError) -> EngineError {
    let next = match &error {
        NetError::Spec(why) => return EngineError::Unsupported(format!("{name}: {why}")),
        NetError::Worker { thread, problem } => {
            let worker = format!("{name}: {thread}");
            return EngineError::Worker { worker, problem: problem.clone() };
        }
        NetError::Lost { .. } => "; check the receiver's output and its host",
        _ => "",
    };
    EngineError::Target { target: name.to_owned(), problem: format!("{error}{next}") }
}
