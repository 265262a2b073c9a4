//! Serves one volume through one paced portal for some seconds, and prints its throughput each second.
//!
//! ```text
//! cargo run --release -p san --example paced -- [volume] [rate|-] [seconds]
//! cargo run --release -p san --example paced -- ram:1GiB 8gfc 10
//! ```
//!
//! Drive it with any initiator; the figures are those of the portal, in SCSI data bytes.

use san::server::{PortalConfig, ServerListener, TargetServer, TargetSettings, TrafficCounts};
use san::volume::Volume;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let volume = words.next().unwrap_or_else(|| "ram:256MiB".to_owned());
    let rate = words.next().filter(|rate| rate != "-").map(|rate| rate.parse()).transpose()?;
    let seconds: u64 = words.next().map_or(Ok(10), |seconds| seconds.parse())?;

    let portal = PortalConfig { rate, ..PortalConfig::new("127.0.0.1:0".parse()?) };
    let volumes = vec![Volume::open(&volume.parse()?, "paced-0")?];
    let mut config = TargetSettings::new("iqn.2024-01.org.example:paced", vec![portal], volumes);
    config.listener = ServerListener::new(|event| eprintln!("{event}"));
    let target = TargetServer::start(config)?;
    println!("{}", target.urls().join("\n"));

    let mut last = TrafficCounts::default();
    let (begin, cpu) = (clock::now(), clock::process_cpu());
    for second in 1..=seconds {
        clock::sleep_until(begin.plus(clock::Ns::secs(second)));
        let now = target.counts(0).unwrap_or_default();
        let rate = |now: u64, last: u64| units::rate((now - last) as f64);
        println!(
            "{second:>4} s  out {:>12}  in {:>12}  {:>8} reads  {:>8} writes  {:>4} under way",
            rate(now.bytes_out, last.bytes_out),
            rate(now.bytes_in, last.bytes_in),
            now.reads - last.reads,
            now.writes - last.writes,
            now.queue
        );
        last = now;
    }
    let cpu = clock::process_cpu().since(cpu);
    let millions = (last.reads + last.writes) as f64 / 1e6;
    if millions > 0.0 {
        let seconds = cpu.user.as_secs_f64() + cpu.system.as_secs_f64();
        println!("{:.2} CPU seconds a million commands", seconds / millions);
    }
    Ok(target.stop()?)
}
