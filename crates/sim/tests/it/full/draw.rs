//! Draws a lab and a load that fills some of it.

use clock::Rng;

/// A drawn lab.
pub struct Drawn {
    pub text: String,
    /// Bytes a second that all ways into the host carry at most: reads, writes.
    pub carries: [f64; 2],
}

/// Fibre Channel: bytes a second after line coding.
const FIBRE: [(&str, f64); 4] =
    [("4gfc", 425e6), ("8gfc", 850e6), ("16gfc", 1.7e9), ("32gfc", 3.4e9)];

/// Payload of full frames of 2,112 bytes, between which a sender leaves so many words.
fn fibre(line: f64, words: u64) -> f64 {
    line * 2112.0 / (2112.0 + 36.0 + 4.0 * words as f64)
}

/// Draws parts of a lab.
struct Hand(Rng);

impl Hand {
    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.0.below(all.len() as u64) as usize]
    }

    /// From one to the other, both included.
    fn from(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.below(most - least + 1)
    }

    /// A figure of a part, in so many of a hundred parts.
    fn figure(&mut self, percent: u64, name: &str, value: String) -> String {
        match self.0.below(100) < percent {
            true => figure(name, &value),
            false => String::new(),
        }
    }

    /// A rate in MB/s.
    fn rate(&mut self, least: u64, most: u64) -> String {
        format!("{} MB/s", self.from(least, most))
    }

    fn medium(&mut self) -> String {
        match self.from(0, 3) {
            0 | 1 => figure("media", "ram"),
            2 => figure("media", "ssd"),
            _ => figure("media", "disk"),
        }
    }

    /// What an array may be made of, apart from its ports.
    fn array(&mut self) -> String {
        let mut all = self.medium();
        let (rate, iops) = (self.rate(300, 4000), self.from(20, 400));
        all += &self.figure(30, "rate_max", rate);
        let rate = self.rate(200, 3000);
        all += &self.figure(30, "read_rate", rate);
        let rate = self.rate(200, 3000);
        all += &self.figure(30, "write_rate", rate);
        all += &self.figure(30, "iops_max", format!("{iops}k IOPS"));
        if self.0.chance(0.3) {
            all += &figure("controller_time_per_io", &format!("{} us", self.from(5, 40)));
            all += &figure("controller_cores", &self.from(1, 6).to_string());
        }
        if self.0.chance(0.4) {
            all += &figure("cache", &format!("{} MB", self.from(64, 2000)));
            let share = format!("{}%", self.from(20, 100));
            all += &self.figure(60, "hit_share", share);
        }
        if self.0.chance(0.3) {
            all += &figure("backend_ports", &self.from(1, 4).to_string());
            all += &figure("backend_port_rate", "4gfc");
        }
        let wait = format!("{} us", self.from(5, 100));
        all += &self.figure(30, "transfer_ready_time", wait);
        all
    }

    /// What an adapter may be made of, apart from its ports.
    fn adapter(&mut self) -> String {
        let mut all = String::new();
        let rate = self.rate(300, 1500);
        all += &self.figure(20, "duplex_rate", rate);
        let bus = self.of(&["PCIe Gen1 x4", "PCIe Gen2 x4", "PCIe Gen2 x8"]).to_owned();
        all += &self.figure(40, "bus", bus);
        let iops = format!("{}k IOPS", self.from(20, 300));
        all += &self.figure(30, "iops_max", iops);
        all
    }
}

fn figure(name: &str, value: &str) -> String {
    format!(
        "  {{ name = \"{name}\", value = \"{value}\", source = \"drawn\", kind = \"assumed\" }},\n"
    )
}

fn part(name: &str, kind: &str, figures: &str) -> String {
    format!("[[part]]\nname = \"{name}\"\nkind = \"{kind}\"\nfigures = [\n{figures}]\n")
}

impl Drawn {
    pub fn new(seed: u64) -> Drawn {
        let mut hand = Hand(Rng::keyed(seed, &[0xF0_11]));
        let (mut text, ports, carries) = match hand.from(0, 3) {
            0 => ethernet(&mut hand),
            _ => fibre_channel(&mut hand),
        };
        let carries = carries.map(|rate| rate * ports as f64);
        let vms = hand.from(1, 12);
        let scsi = hand.of(&["pvscsi", "lsi-logic-sas"]);
        text += &format!(
            "{}[[host]]\nname = \"esx\"\npart = \"server\"\n\
             adapters = [{{ name = \"hba\", part = \"hba\", ports = {ports} }}]\n\
             [[vm]]\nname = \"vm{{1..{vms}}}\"\nhost = \"esx\"\nvcpus = 4\nscsi = [\"{scsi}\"]\n\
             disks = [{{ lun = \"store/auto\", adapter = \"hba\" }}]\n",
            part("server", "host", &figure("cores", &hand.from(4, 32).to_string()))
        );
        let block = 1024 * hand.of(&[4, 8, 16, 64, 64, 256, 1024]);
        let read = hand.of(&[0, 50, 70, 100, 100]);
        let random = hand.of(&[0, 100]);
        text += &format!("[workload.w]\nblock = \"{block}B\"\nread = {read}\nrandom = {random}\n");
        text += &match hand.0.chance(0.4) {
            // Two to three times what the ports carry.
            true => {
                let all = 2.5 * carries[0] / block as f64 / vms as f64;
                format!(
                    "rate = \"{} IOPS\"\narrivals = \"poisson\"\n",
                    all.min(20_000.0) as u64 + 1
                )
            }
            false => format!("depth = {}\n", hand.of(&[1, 4, 16, 32, 64])),
        };
        let times = [hand.from(0, 90), hand.from(40, 1150), hand.from(0, 60)];
        text += &format!(
            "[plan]\nworkload = \"w\"\non = \"vm*\"\nwarmup = \"{}ms\"\nmeasure = \"{}ms\"\ncooldown = \"{}ms\"\n",
            times[0], times[1], times[2]
        );
        Drawn { text, carries }
    }
}

/// Adapter, switch and array on Fibre Channel: their text, the ports of the adapter, and what each carries.
fn fibre_channel(hand: &mut Hand) -> (String, u64, [f64; 2]) {
    let (speed, line) = hand.of(&FIBRE);
    let ports = hand.from(1, 2);
    let gaps = [0, 1, 2].map(|_| hand.of(&[2, 3, 6, 6]));
    let (hba, switch, array) = (hand.adapter(), hand.of(&FIBRE).0, hand.array());
    let text = format!(
        "[scenario]\ntitle = \"drawn\"\n{}{}{}[[array]]\nname = \"store\"\npart = \"store\"\nports = {}\n\
         [[switch]]\nname = \"fabric\"\npart = \"switch\"\n",
        part(
            "hba",
            "hba",
            &(figure("port_rate", speed) + &figure("fill_words", &gaps[0].to_string()) + &hba)
        ),
        part(
            "switch",
            "switch",
            &(figure("port_rate", switch) + &figure("fill_words", &gaps[1].to_string()))
        ),
        part(
            "store",
            "array",
            &(figure("port_rate", hand.of(&FIBRE).0)
                + &figure("fill_words", &gaps[2].to_string())
                + &array)
        ),
        hand.from(1, 4),
    );
    // The switch sends what is read, and the adapter what is written.
    (text, ports, [fibre(line, gaps[1]), fibre(line, gaps[0])])
}

/// The same on Ethernet.
fn ethernet(hand: &mut Hand) -> (String, u64, [f64; 2]) {
    let jumbo = hand.0.chance(0.5);
    let (speed, packet) = if jumbo { ("10gbe:9000", 9000.0) } else { ("10gbe", 1500.0) };
    let array = hand.array();
    let iops = format!("{}k IOPS", hand.from(20, 300));
    let nic = figure("port_rate", speed) + &hand.figure(30, "iops_max", iops);
    let text = format!(
        "[scenario]\ntitle = \"drawn\"\n{}{}{}[[array]]\nname = \"store\"\npart = \"store\"\nports = {}\n\
         [[switch]]\nname = \"lan\"\npart = \"switch\"\n",
        part("hba", "nic", &nic),
        part("switch", "switch", &figure("port_rate", speed)),
        part("store", "array", &(figure("port_rate", speed) + &array)),
        hand.from(1, 4),
    );
    let rate = 1.25e9 * (packet - 40.0) / (packet + 38.0);
    (text, hand.from(1, 2), [rate; 2])
}
