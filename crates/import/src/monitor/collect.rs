//! The commands that collect what explains a system, by product.

/// What to collect: the place, a sentence, and its commands.
pub struct Collection {
    /// What it is collected on.
    pub place: &'static str,
    /// What it shows, and what to heed.
    pub about: &'static str,
    /// The commands.
    pub commands: &'static [&'static str],
}

/// All of them, from the guest to the array.
pub const COLLECTIONS: &[Collection] = &[
    Collection {
        place: "ESXi host",
        about: "latency in the kernel and behind it, queue slots, virtual disks, processors; the same minutes on all hosts",
        commands: &[
            "esxtop -b -a -d 20 -n 180 | gzip > esxtop-$(hostname).csv.gz",
            "esxcli storage core device list > devices-$(hostname).txt",
        ],
    },
    Collection {
        place: "Linux host or guest",
        about: "disks and processors with time stamps that every locale reads alike",
        commands: &[
            "S_TIME_FORMAT=ISO LC_ALL=C iostat -xyt 20 180 > iostat-$(hostname).txt",
            "{ echo \"# host $(hostname)\"; for n in $(seq 180); do date +'# time %s.%N'; cat /proc/stat /proc/diskstats /proc/net/dev; grep -sH . /sys/class/fc_host/*/{port_name,speed} /sys/class/fc_host/*/statistics/{rx_words,tx_words,error_frames,invalid_crc_count} /sys/block/*/{wwid,device/wwid} /sys/class/net/*/{address,speed} /etc/machine-id /sys/class/dmi/id/product_uuid; sleep 20; done; } > proc-$(hostname).txt  # without sysstat, and FC ports",
            "sar -o sa.bin 20 180 && sadf -j sa.bin -- -A > sadf-$(hostname).json",
        ],
    },
    Collection {
        place: "Windows host or guest",
        about: "physical disks, processors, network interfaces, in English names",
        commands: &[
            r#"typeperf "\PhysicalDisk(*)\*" "\Processor(_Total)\% Processor Time" "\Network Interface(*)\*" -si 20 -sc 180 -f CSV -o perf.csv"#,
        ],
    },
    Collection {
        place: "Brocade switch",
        about: "bytes and the time without credit of each port, in 64 bits, twice with the date",
        commands: &[
            "date; portstats64show PORT; portstatsshow PORT; porterrshow",
            "date; portstats64show PORT; portstatsshow PORT; porterrshow  # a minute later",
        ],
    },
    Collection {
        place: "Cisco MDS switch",
        about: "bytes and TxWait of each port, twice with the date",
        commands: &[
            "show clock ; show interface counters",
            "show clock ; show interface counters  # a minute later",
        ],
    },
    Collection {
        place: "any switch with SNMP",
        about: "64-bit octets and speeds; the password from a file, never on the command line",
        commands: &[
            "for n in $(seq 60); do snmpwalk SWITCH 1.3.6.1.2.1.1; snmpwalk SWITCH 1.3.6.1.2.1.31.1.1.1; snmpwalk SWITCH 1.3.6.1.2.1.2.2.1; sleep 60; done > SWITCH.walk",
        ],
    },
    Collection {
        place: "Prometheus",
        about: "raw counters, never their rate()",
        commands: &[
            "curl -G URL/api/v1/query_range --data-urlencode 'query={__name__=~\"node_disk_.*|node_cpu_.*|node_network_.*|node_uname_info|node_dmi_info\"}' -d start=FROM -d end=TO -d step=60 > prometheus.json",
        ],
    },
    Collection {
        place: "array",
        about: "of the LUNs, ports, controllers and disks: operations, bytes, response times, utilization; a map says what columns are",
        commands: &[
            "Pure: purevol monitor --historical 24h --csv > pure.csv",
            "CLARiiON, VNX: naviseccli analyzer -archivedump -data FILE.nar -out nar.csv",
            "ONTAP: statistics show-periodic or the REST counter tables, as CSV with read_ops, avg_read_latency",
            "PowerMax, Unity: the performance export of Unisphere as CSV",
        ],
    },
];
