//! The commands that collect what explains a system, by product.

/// What to collect: the place, a sentence, and its commands.
pub struct Collection {
    /// The word for such places on the command line.
    pub word: &'static str,
    /// What it is collected on.
    pub place: &'static str,
    /// What it shows, and what to heed.
    pub about: &'static str,
    /// The commands, to be run there.
    pub commands: &'static [&'static str],
    /// The same for a place that is named (`NAME`), to be run from elsewhere.
    pub from_afar: &'static [&'static str],
}

impl Collection {
    /// What is collected on places of a word.
    pub fn of(word: &str) -> Option<&'static Collection> {
        COLLECTIONS.iter().find(|one| one.word.eq_ignore_ascii_case(word))
    }

    /// The commands for a place by its name.
    pub fn at(&self, name: &str) -> Vec<String> {
        self.from_afar.iter().map(|command| command.replace("NAME", name)).collect()
    }
}

const ARRAYS: &str = "of the LUNs, ports, controllers and disks: operations, bytes, response times, utilization; a map says what columns are";

/// All of them, from the guest to the array.
pub const COLLECTIONS: &[Collection] = &[
    Collection {
        word: "esxi",
        place: "ESXi host",
        about: "latency in the kernel and behind it, queue slots, virtual disks, processors; the same minutes on all hosts",
        commands: &[
            "esxtop -b -a -d 20 -n 180 | gzip > esxtop-$(hostname).csv.gz",
            "esxcli storage core device list > devices-$(hostname).txt",
        ],
        from_afar: &["ssh root@NAME 'esxtop -b -a -d 20 -n 180 | gzip' > esxtop-NAME.csv.gz"],
    },
    Collection {
        word: "linux",
        place: "Linux host or guest",
        about: "disks and processors with time stamps that every locale reads alike",
        commands: &[
            "S_TIME_FORMAT=ISO LC_ALL=C iostat -xyt 20 180 > iostat-$(hostname).txt",
            "{ echo \"# host $(hostname)\"; for n in $(seq 180); do date +'# time %s.%N'; cat /proc/stat /proc/diskstats /proc/net/dev; grep -sH . /sys/class/fc_host/*/{port_name,speed} /sys/class/fc_host/*/statistics/{rx_words,tx_words,error_frames,invalid_crc_count} /sys/block/*/{wwid,device/wwid} /sys/class/net/*/{address,speed} /etc/machine-id /sys/class/dmi/id/product_uuid; sleep 20; done; } > proc-$(hostname).txt  # without sysstat, and FC ports",
            "sar -o sa.bin 20 180 && sadf -j sa.bin -- -A > sadf-$(hostname).json",
        ],
        from_afar: &[
            "ssh NAME 'S_TIME_FORMAT=ISO LC_ALL=C iostat -xyt 20 180' > iostat-NAME.txt",
            "ssh NAME bash -s > proc-NAME.txt <<'END'  # FC ports and networks, and disks without sysstat\necho \"# host $(hostname)\"\nfor n in $(seq 180); do date +'# time %s.%N'; cat /proc/stat /proc/diskstats /proc/net/dev; grep -sH . /sys/class/fc_host/*/{port_name,speed} /sys/class/fc_host/*/statistics/{rx_words,tx_words,error_frames,invalid_crc_count} /sys/block/*/{wwid,device/wwid} /sys/class/net/*/{address,speed} /etc/machine-id /sys/class/dmi/id/product_uuid; sleep 20; done\nEND",
        ],
    },
    Collection {
        word: "windows",
        place: "Windows host or guest",
        about: "physical disks, processors, network interfaces, in English names",
        commands: &[
            r#"typeperf "\PhysicalDisk(*)\*" "\Processor(_Total)\% Processor Time" "\Network Interface(*)\*" -si 20 -sc 180 -f CSV -o perf.csv"#,
        ],
        from_afar: &[
            r#"typeperf -s NAME "\PhysicalDisk(*)\*" "\Processor(_Total)\% Processor Time" "\Network Interface(*)\*" -si 20 -sc 180 -f CSV -o perf-NAME.csv"#,
        ],
    },
    Collection {
        word: "brocade",
        place: "Brocade switch",
        about: "bytes and the time without credit of each port, in 64 bits, twice with the date",
        commands: &[
            "date; portstats64show PORT; portstatsshow PORT; porterrshow",
            "date; portstats64show PORT; portstatsshow PORT; porterrshow  # a minute later",
        ],
        from_afar: &[
            "for n in $(seq 60); do echo 'NAME:admin> date'; ssh admin@NAME 'date; portstats64show -i 0-47; portstatsshow -i 0-47; porterrshow'; sleep 60; done > NAME.txt  # as many ports as it has",
        ],
    },
    Collection {
        word: "mds",
        place: "Cisco MDS switch",
        about: "bytes and TxWait of each port, twice with the date",
        commands: &[
            "show clock ; show interface counters",
            "show clock ; show interface counters  # a minute later",
        ],
        from_afar: &[
            "for n in $(seq 60); do echo 'NAME# show clock'; ssh admin@NAME 'show clock ; show interface ; show interface counters'; sleep 60; done > NAME.txt",
        ],
    },
    Collection {
        word: "snmp",
        place: "any switch with SNMP",
        about: "64-bit octets and speeds; the password from a file, never on the command line",
        commands: &[
            "for n in $(seq 60); do snmpwalk SWITCH 1.3.6.1.2.1.1; snmpwalk SWITCH 1.3.6.1.2.1.31.1.1.1; snmpwalk SWITCH 1.3.6.1.2.1.2.2.1; sleep 60; done > SWITCH.walk",
        ],
        from_afar: &[
            "for n in $(seq 60); do snmpwalk NAME 1.3.6.1.2.1.1; snmpwalk NAME 1.3.6.1.2.1.31.1.1.1; snmpwalk NAME 1.3.6.1.2.1.2.2.1; sleep 60; done > NAME.walk",
        ],
    },
    Collection {
        word: "prometheus",
        place: "Prometheus",
        about: "raw counters, never their rate()",
        commands: &[
            "curl -G URL/api/v1/query_range --data-urlencode 'query={__name__=~\"node_disk_.*|node_cpu_.*|node_network_.*|node_uname_info|node_dmi_info\"}' -d start=FROM -d end=TO -d step=60 > prometheus.json",
        ],
        from_afar: &[
            "curl -G http://NAME:9090/api/v1/query_range --data-urlencode 'query={__name__=~\"node_disk_.*|node_cpu_.*|node_network_.*|node_uname_info|node_dmi_info\"}' -d start=FROM -d end=TO -d step=60 > prometheus-NAME.json",
        ],
    },
    Collection {
        word: "pure",
        place: "Pure array",
        about: ARRAYS,
        commands: &["purevol monitor --historical 24h --csv > pure.csv"],
        from_afar: &["ssh pureuser@NAME 'purevol monitor --historical 24h --csv' > NAME.csv"],
    },
    Collection {
        word: "clariion",
        place: "CLARiiON or VNX array",
        about: ARRAYS,
        commands: &["naviseccli analyzer -archivedump -data FILE.nar -out nar.csv"],
        from_afar: &[
            "naviseccli -h NAME analyzer -archiveretrieve -all -location .",
            "naviseccli analyzer -archivedump -data FILE.nar -out NAME.csv",
        ],
    },
    Collection {
        word: "ontap",
        place: "ONTAP system",
        about: ARRAYS,
        commands: &[
            "statistics show-periodic or the REST counter tables, as CSV with read_ops, avg_read_latency",
        ],
        from_afar: &[
            "statistics show-periodic on NAME or its REST counter tables, as CSV with read_ops, avg_read_latency, to NAME.csv",
        ],
    },
    Collection {
        word: "array",
        place: "PowerMax, Unity or another array",
        about: ARRAYS,
        commands: &["the performance export of Unisphere as CSV; of others `--as csv --map MAP`"],
        from_afar: &["the performance export of NAME as CSV: NAME.csv"],
    },
];
