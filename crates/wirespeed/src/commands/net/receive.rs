//! `wirespeed net receive`: listens, and prints what this end counted in each test.

use super::{failure, json, text};
use crate::cli::{Format, NetReceive};
use crate::exit::{Exit, Failure};
use crate::out;
use crate::receivers::{TOKEN_ENV, guardian, token_of_command};
use net::{Adjust, Receiver, ReceiverConfig, ReceiverEvent, ReceiverListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

/// Events that wait to be printed, at most; the threads of tests do not wait for a terminal.
const WAITING_MAX: usize = 256;

/// What the main thread waits for.
enum ReceiveSignal {
    Event(ReceiverEvent),
    Stop,
}

/// Receives until it is stopped.
pub fn receive(args: &NetReceive) -> Result<Exit, Failure> {
    let token = token_of_command(args.token_file.as_deref())?;
    let open = args.listen.iter().find(|address| !address.ip().is_loopback());
    if let Some(address) = open.filter(|_| token.is_none()) {
        return Err(Failure::usage(format!(
            "--listen {address}: other hosts can reach it, so senders must know a token: put one into a file and name it with \
             --token-file, or set {TOKEN_ENV} (`openssl rand -hex 16` makes one); or listen on 127.0.0.1"
        )));
    }
    let (tell, heard) = sync_channel(WAITING_MAX);
    stop_on_signals(tell.clone())?;
    if args.embedded {
        stop_with_stdin(tell.clone())?;
    }
    let listener = ReceiverListener::new(move |event| {
        // A reader that is stuck loses lines, not the measurement.
        let _ = tell.try_send(ReceiveSignal::Event(event));
    });
    let cpus = args.cpus.clone().unwrap_or_default().0;
    let adjust = args.adjust.as_deref().map(adjust).transpose()?;
    let config = ReceiverConfig { listen: args.listen.clone(), token, cpus, adjust, listener };
    let receiver = Receiver::start(config).map_err(failure)?;
    let listening: Vec<String> = receiver.addresses().iter().map(|a| a.to_string()).collect();
    out::result(&match args.format {
        Format::Text => format!("listening on {}\n", listening.join(", ")),
        Format::Json => format!("{}\n", serde_json::json!({ "listening": listening })),
    })?;
    while let Ok(ReceiveSignal::Event(event)) = heard.recv() {
        tell_of(args, &event)?;
    }
    receiver.stop();
    Ok(Exit::Met)
}

/// The interface that senders may have set, with the process that puts it back.
fn adjust(interface: &str) -> Result<Adjust, Failure> {
    let guardian = guardian().map_err(Failure::incomplete)?;
    Ok(Adjust { interface: interface.to_owned(), guardian })
}

/// Results to stdout, notes to stderr.
fn tell_of(args: &NetReceive, event: &ReceiverEvent) -> Result<(), Failure> {
    match event {
        ReceiverEvent::Began { peer, spec } if !args.quiet => {
            out::note(format_args!("{peer}: {}", text::title(spec)));
            Ok(())
        }
        ReceiverEvent::Failed { peer, why } if !args.quiet => {
            out::note(format_args!("{peer}: {why}"));
            Ok(())
        }
        ReceiverEvent::Adjusted { peer, adjusted } if !args.quiet => {
            let done = [&adjusted.changed[..], &adjusted.held].concat().join(", ");
            out::note(format_args!("{peer}: {}: {done}", adjusted.interface.name));
            Ok(())
        }
        ReceiverEvent::Ended { peer, spec, side } if !args.embedded => {
            out::result(&match args.format {
                Format::Text => text::received(peer, spec, side),
                Format::Json => format!("{}\n", json::received(peer, spec, side)),
            })
        }
        _ => Ok(()),
    }
}

/// The end of standard input stops the receiver: the kernel closes the parent's end of the pipe even if it is killed.
fn stop_with_stdin(tell: SyncSender<ReceiveSignal>) -> Result<(), Failure> {
    let wait = move || {
        // What comes means nothing, and an error is an end as well.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        let _ = tell.send(ReceiveSignal::Stop);
    };
    let thread = std::thread::Builder::new().name("stdin".to_owned()).spawn(wait);
    thread.map(|_| ()).map_err(|e| Failure::incomplete(format!("cannot start a thread: {e}")))
}

/// The first Ctrl-C (or SIGTERM) stops the receiver, the second ends the process.
fn stop_on_signals(tell: SyncSender<ReceiveSignal>) -> Result<(), Failure> {
    let again = AtomicBool::new(false);
    let handler = move || {
        if again.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        // The other end is gone if the receiver could not be started.
        let _ = tell.send(ReceiveSignal::Stop);
    };
    ctrlc::set_handler(handler)
        .map_err(|e| Failure::incomplete(format!("cannot catch signals: {e}")))
}
