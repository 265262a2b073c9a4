//! The arguments of `wirespeed net`.

use super::{Format, Recording, Results};
use clap::{Args, Subcommand, ValueEnum};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use units::{ByteRate, Bytes};

#[derive(Debug, Args)]
pub struct Net {
    #[command(subcommand)]
    pub action: NetAction,
}

#[derive(Debug, Subcommand)]
pub enum NetAction {
    /// Serve senders and print what arrived, until stopped (Ctrl-C, SIGTERM)
    Receive(NetReceive),
    /// Restore an interface when standard input ends; started by the other commands before they change one
    #[command(hide = true)]
    KeepInterface,
    /// Load the path to a receiver, and print what both ends counted
    Send(Box<NetSend>),
}

#[derive(Debug, Args)]
#[command(after_help = RECEIVE_HELP)]
pub struct NetReceive {
    /// Where to listen for senders (repeatable); each test takes its own data ports on the same address
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:5301")]
    pub listen: Vec<SocketAddr>,
    /// The file with the token that senders must present, 16 bytes or more; or WIRESPEED_NET_TOKEN in the environment.
    /// Required if other hosts can reach the address
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Pin the threads of a test to these processors in turn, as in `2,3` or `0-3` [default: leave it to the scheduler]
    #[arg(long, value_name = "LIST", value_parser = parse_cpus)]
    pub cpus: Option<Cpus>,
    /// Senders that connect through this interface may set its MTU and its offloads during their tests; the settings are
    /// restored after each, however it ends. Needs root
    #[arg(long, value_name = "IFACE")]
    pub adjust: Option<String>,
    /// How results are printed on stdout: for people, or a JSON document a line
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    pub format: Format,
    /// No notes on stderr
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
    /// Serve one run: end with standard input, and print no results
    #[arg(long, hide = true)]
    pub embedded: bool,
}

const RECEIVE_HELP: &str = "\
Exit codes: 0 stopped by a signal; 2 usage; 3 it could not listen.

Examples:
  wirespeed net receive
  WIRESPEED_NET_TOKEN=… wirespeed net receive --listen 192.0.2.1:5301
  wirespeed net receive --listen 192.0.2.1:5301 --token-file token --adjust eth1";

/// Processors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpus(pub Vec<usize>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PresetChoice {
    /// NTttcp's defaults: a message of 64 KiB is one submission; 30 s warm-up, 60 s measured, 30 s cool-down
    Ntttcp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnOff {
    On,
    Off,
}

#[derive(Debug, Args)]
#[command(after_help = SEND_HELP)]
pub struct NetSend {
    /// The receiver: a name or an address, with its port where it is not 5301 (`[ADDR]:PORT` for IPv6)
    #[arg(value_name = "HOST[:PORT]", required_unless_present = "embedded")]
    pub target: Option<String>,
    /// Start a receiver on this machine's loopback for the run
    #[arg(long, conflicts_with_all = ["target", "token_file"], help_heading = "Receiver")]
    pub embedded: bool,
    /// UDP datagrams, each a message, instead of TCP streams
    #[arg(long, conflicts_with = "connects", help_heading = "Load")]
    pub udp: bool,
    /// Requests and responses on persistent TCP connections, one at a time; the message is the request. With --udp in
    /// datagrams: a lost one is a failed request
    #[arg(long, conflicts_with = "connects", help_heading = "Load")]
    pub requests: bool,
    /// Connect, request, response, close, over and over
    #[arg(long, help_heading = "Load")]
    pub connects: bool,
    /// Streams in each direction in use
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=512), help_heading = "Load")]
    pub streams: u16,
    /// The receiver sends instead
    #[arg(long, conflicts_with = "both", help_heading = "Load")]
    pub reverse: bool,
    /// Both ends send at once, on separate streams
    #[arg(long, help_heading = "Load")]
    pub both: bool,
    /// Size of a message; several sizes are tested one after the other [default: 128KiB; 1400B with --udp, 64B with
    /// --requests or --connects]
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = Bytes::parse, help_heading = "Load")]
    pub message: Vec<Bytes>,
    /// Size of a response, with --requests or --connects [default: 64B]
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse, help_heading = "Load")]
    pub response: Option<Bytes>,
    /// Messages per submission to the kernel
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536), help_heading = "Load")]
    pub batch: u32,
    /// With --udp: the kernel or the adapter cuts a batch into datagrams (UDP_SEGMENT) and joins them (UDP_GRO)
    #[arg(long, requires = "udp", conflicts_with = "requests", help_heading = "Load")]
    pub segmented: bool,
    /// Each stream sends at this rate: TCP is paced by the kernel, UDP by Wirespeed [default: unlimited]
    #[arg(long, value_name = "RATE", value_parser = ByteRate::parse, help_heading = "Load")]
    pub rate: Option<ByteRate>,
    /// Also send small requests beside the streams: latency under load
    #[arg(long, help_heading = "Load")]
    pub probe: bool,
    /// Start from the defaults of another tool; other options override them
    #[arg(long, value_enum, help_heading = "Load")]
    pub preset: Option<PresetChoice>,
    /// Threads of each direction at each end [default: one per stream]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512), help_heading = "Threads")]
    pub threads: Option<u16>,
    /// Pin this end's threads to these processors in turn, as in `2,3` or `0-3` [default: leave it to the scheduler]
    #[arg(long, value_name = "LIST", value_parser = parse_cpus, help_heading = "Threads")]
    pub cpus: Option<Cpus>,
    #[command(flatten)]
    pub sockets: SocketArgs,
    #[command(flatten)]
    pub times: TimeArgs,
    /// The file with the receiver's token; or WIRESPEED_NET_TOKEN in the environment
    #[arg(long, value_name = "FILE", help_heading = "Receiver")]
    pub token_file: Option<PathBuf>,
    /// Also write both ends' results as NTttcp's XML: `ntttcps.xml` and `ntttcpr.xml` in DIR, with the size in their names
    /// where there are several
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub ntttcp: Option<PathBuf>,
    #[command(flatten)]
    pub frames: FrameArgs,
    #[command(flatten)]
    pub recording: Recording,
    #[command(flatten)]
    pub output: Results,
    /// Only show what would be done
    #[arg(long)]
    pub plan: bool,
}

/// The wire, and what is set at its interfaces.
#[derive(Debug, Args)]
#[command(next_help_heading = "Wire")]
pub struct FrameArgs {
    /// The wire between both hosts, as in `10gbe`, if the interface does not report it (loopback, veth)
    #[arg(long, value_name = "LINK")]
    pub wire: Option<String>,
    /// This host's interface to the receiver, which may be changed during the run. The receiver needs its own --adjust
    #[arg(long, value_name = "IFACE")]
    pub adjust: Option<String>,
    /// The MTU of these interfaces
    #[arg(long, value_name = "N", requires = "adjust", value_parser = clap::value_parser!(u32).range(576..=65_535))]
    pub mtu: Option<u32>,
    /// Their segmentation, receive and checksum offloads, all of them
    #[arg(long, value_enum, requires = "adjust")]
    pub offload: Option<OnOff>,
}

/// How sockets are set, at both ends.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sockets")]
pub struct SocketArgs {
    /// Only over IPv4
    #[arg(long, short = '4', conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Only over IPv6
    #[arg(long, short = '6')]
    pub ipv6: bool,
    /// The source address of connections and datagrams
    #[arg(long, value_name = "ADDR")]
    pub source: Option<IpAddr>,
    /// The port of the first stream; the others follow it
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub source_port: Option<u16>,
    /// Send small messages immediately (TCP_NODELAY); always so with --requests and --connects
    #[arg(long)]
    pub no_delay: bool,
    /// The send buffer (SO_SNDBUF; the kernel doubles it) [default: the kernel tunes]
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    pub send_buffer: Option<Bytes>,
    /// The receive buffer (SO_RCVBUF; the kernel doubles it) [default: the kernel tunes]
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    pub receive_buffer: Option<Bytes>,
    /// TCP's congestion control, as in `cubic` [default: the kernel's]
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// The DSCP of what is sent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=63))]
    pub dscp: Option<u8>,
    /// Send TCP from the message's own pages (MSG_ZEROCOPY); sends that the kernel copied anyway are counted
    #[arg(long)]
    pub zero_copy: bool,
    /// Send TCP from the pages of a file (sendfile), without a copy in the kernel, also on loopback
    #[arg(long, conflicts_with = "zero_copy")]
    pub sendfile: bool,
    /// Use Multipath TCP; a fallback to plain TCP is reported
    #[arg(long, conflicts_with = "udp")]
    pub multipath: bool,
    /// Receivers of TCP streams discard the data in the kernel without copying it (MSG_TRUNC)
    #[arg(long)]
    pub discard: bool,
}

/// Durations.
#[derive(Debug, Args)]
#[command(next_help_heading = "Time")]
pub struct TimeArgs {
    /// Load before the measurement [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = super::spelling::time)]
    pub warmup: Option<Duration>,
    /// Measured time [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = super::spelling::time)]
    pub time: Option<Duration>,
    /// Load after the measurement [default: 500ms]
    #[arg(long, value_name = "TIME", value_parser = super::spelling::time)]
    pub cooldown: Option<Duration>,
    /// Repeat each test this many times, for a mean with its 95% interval
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: Option<u32>,
}

const SEND_HELP: &str = "\
Exit codes: 0 measured; 2 usage; 3 the receiver could not be reached or was lost, a stream broke off, or the run was
stopped. It leaves a record, as every command that measures: `wirespeed review net-1.wsr` has more.

Examples:
  wirespeed net send 192.0.2.1                             one TCP stream, 128 KiB messages, 10 s
  wirespeed net send 192.0.2.1 --streams 3 --both --message 4KiB,8KiB,16KiB,32KiB,64KiB
  wirespeed net send 192.0.2.1 --udp --rate 100MB/s        loss, reordering and jitter at a fixed rate
  wirespeed net send 192.0.2.1 --requests --response 4KiB  latency of small requests
  wirespeed net send 192.0.2.1 --preset ntttcp --streams 8 --ntttcp results
  wirespeed net send --embedded --probe --repeat 5         this machine with itself: its upper limit";

/// `0,2-3`: each processor once, in the order given.
fn parse_cpus(text: &str) -> Result<Cpus, String> {
    const MOST: usize = 1024;
    let wrong = || "expected processors as in `2,3` or `0-3`".to_owned();
    let number = |text: &str| text.trim().parse().ok().filter(|cpu| *cpu < MOST).ok_or_else(wrong);
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(wrong());
        }
        all.extend((first..=last).filter(|cpu| !all.contains(cpu)).collect::<Vec<_>>());
    }
    Ok(Cpus(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_listed() {
        for (text, expected) in [("0", vec![0]), ("3,1-2", vec![3, 1, 2]), ("1,1,0-1", vec![1, 0])]
        {
            assert_eq!(parse_cpus(text), Ok(Cpus(expected)));
        }
        for wrong in ["", "a", "1-", "3-1", "1,,2", "4096", "-1"] {
            assert!(parse_cpus(wrong).is_err(), "{wrong}");
        }
    }
}
