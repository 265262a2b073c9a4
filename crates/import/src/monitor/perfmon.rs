//! Counters of Windows: physical disks, processors, network interfaces, by the names that they have in some languages.

use super::model::{Flow, Leg, Measure, Place};
use super::pdh::{CounterName, Meaning};
use record::HopKind;
use std::collections::HashMap;
use std::sync::LazyLock;

const SECOND: f64 = 1e9;

/// Languages whose names are known.
pub(super) const LANGUAGES: &str =
    "English, German, French, Spanish, Italian, Portuguese or Russian";

/// Objects by their names in each language.
const OBJECTS: &[(&str, &[&str])] = &[
    (
        "disk",
        &[
            "PhysicalDisk",
            "Physikalischer Datenträger",
            "Disque physique",
            "Disco físico",
            "Disco fisico",
            "Физический диск",
        ],
    ),
    (
        "logical",
        &[
            "LogicalDisk",
            "Logischer Datenträger",
            "Disque logique",
            "Disco lógico",
            "Disco logico",
            "Логический диск",
        ],
    ),
    (
        "cpu",
        &[
            "Processor",
            "Prozessor",
            "Processeur",
            "Procesador",
            "Processore",
            "Processador",
            "Процессор",
        ],
    ),
    (
        "cpu",
        &[
            "Processor Information",
            "Prozessorinformationen",
            "Informations sur le processeur",
            "Información del procesador",
            "Informazioni processore",
            "Informazioni sul processore",
            "Informações do processador",
            "Сведения о процессоре",
        ],
    ),
    (
        "net",
        &[
            "Network Interface",
            "Netzwerkschnittstelle",
            "Interface réseau",
            "Interfaz de red",
            "Interfaccia di rete",
            "Interface de rede",
            "Сетевой интерфейс",
        ],
    ),
    (
        "net",
        &[
            "Network Adapter",
            "Netzwerkadapter",
            "Carte réseau",
            "Adaptador de red",
            "Scheda di rete",
            "Adaptador de rede",
            "Сетевой адаптер",
        ],
    ),
];

/// Counters by their names in each language, some of which changed from one version of Windows to another. Of both directions
/// together there are counters for logs that have no more.
const COUNTERS: &[(&str, &[&str])] = &[
    (
        "reads",
        &[
            "Disk Reads/sec",
            "Lesevorgänge/s",
            "Lectures disque/s",
            "Lecturas de disco/s",
            "Letture disco/sec",
            "Leituras de disco/s",
            "Leituras de disco/seg",
            "Обращений чтения с диска/с",
        ],
    ),
    (
        "writes",
        &[
            "Disk Writes/sec",
            "Schreibvorgänge/s",
            "Écritures disque/s",
            "Escrituras en disco/s",
            "Escrituras de disco/s",
            "Scritture disco/sec",
            "Gravações de disco/s",
            "Escritas de disco/seg",
            "Обращений записи на диск/с",
        ],
    ),
    (
        "read-bytes",
        &[
            "Disk Read Bytes/sec",
            "Bytes gelesen/s",
            "Lectures disque, octets/s",
            "Bytes leídos de disco/s",
            "Bytes de lectura de disco/s",
            "Byte letti da disco/sec",
            "Bytes de leitura de disco/s",
            "Bytes lidos de disco/seg",
            "Скорость чтения с диска (байт/с)",
        ],
    ),
    (
        "write-bytes",
        &[
            "Disk Write Bytes/sec",
            "Bytes geschrieben/s",
            "Écritures disque, octets/s",
            "Bytes escritos en disco/s",
            "Bytes de escritura en disco/s",
            "Bytes de escritura de disco/s",
            "Byte scritti su disco/sec",
            "Bytes de gravação de disco/s",
            "Bytes escritos em disco/seg",
            "Скорость записи на диск (байт/с)",
        ],
    ),
    (
        "read-time",
        &[
            "Avg. Disk sec/Read",
            "Mittlere Sek./Lesevorgänge",
            "Moyenne disque s/lecture",
            "Promedio de segundos de disco/lectura",
            "Promedio de disco s/lectura",
            "Media letture disco/sec",
            "Média de disco s/leitura",
            "Среднее время чтения с диска (с)",
        ],
    ),
    (
        "write-time",
        &[
            "Avg. Disk sec/Write",
            "Mittlere Sek./Schreibvorgänge",
            "Moyenne disque s/écriture",
            "Promedio de segundos de disco/escritura",
            "Promedio de disco s/escritura",
            "Media scritture disco/sec",
            "Média de disco s/gravação",
            "Среднее время записи на диск (с)",
        ],
    ),
    (
        "transfers",
        &[
            "Disk Transfers/sec",
            "Übertragungen/s",
            "Transferts disque/s",
            "Transferencias de disco/s",
            "Trasferimenti disco/sec",
            "Transferências de disco/s",
            "Transferências de disco/seg",
            "Обращений к диску/с",
        ],
    ),
    (
        "bytes",
        &[
            "Disk Bytes/sec",
            "Bytes/s",
            "Octets disque/s",
            "Bytes de disco/s",
            "Byte da/a disco/sec",
            "Bytes de disco/seg",
            "Скорость обмена с диском (байт/с)",
        ],
    ),
    (
        "time",
        &[
            "Avg. Disk sec/Transfer",
            "Mittlere Sek./Übertragung",
            "Moyenne disque s/transfert",
            "Promedio de segundos de disco/transferencia",
            "Promedio de disco s/transferencia",
            "Media trasferimenti disco/sec",
            "Média de disco s/transferência",
            "Среднее время обращения к диску (с)",
        ],
    ),
    (
        "mean-queue",
        &[
            "Avg. Disk Queue Length",
            "Durchschnittl. Warteschlangenlänge des Datenträgers",
            "Longueur moyenne de file d'attente du disque",
            "Taille moyenne de file d'attente du disque",
            "Longitud promedio de la cola de disco",
            "Longitud media de la cola de disco",
            "Lunghezza media coda del disco",
            "Lunghezza media coda disco",
            "Comprimento médio da fila de disco",
            "Средняя длина очереди диска",
        ],
    ),
    (
        "queue",
        &[
            "Current Disk Queue Length",
            "Aktuelle Warteschlangenlänge",
            "Longueur actuelle de file d'attente du disque",
            "Taille de file d'attente du disque actuelle",
            "Longitud actual de la cola de disco",
            "Lunghezza corrente coda del disco",
            "Comprimento atual da fila de disco",
            "Текущая длина очереди диска",
        ],
    ),
    (
        "idle",
        &[
            "% Idle Time",
            "Leerlaufzeit (%)",
            "% d'inactivité",
            "% de tiempo inactivo",
            "% Tempo inattività",
            "% Tempo Ocioso",
            "Процент времени бездействия",
        ],
    ),
    (
        "cpu",
        &[
            "% Processor Time",
            "Prozessorzeit (%)",
            "% temps processeur",
            "% de tiempo de procesador",
            "% Tempo processore",
            "% Tempo de Processador",
            "% tempo do processador",
            "% загруженности процессора",
        ],
    ),
    (
        "received",
        &[
            "Bytes Received/sec",
            "Empfangene Bytes/s",
            "Octets reçus/s",
            "Bytes recibidos/s",
            "Byte ricevuti/sec",
            "Bytes recebidos/s",
            "Получено байт/с",
        ],
    ),
    (
        "sent",
        &[
            "Bytes Sent/sec",
            "Bytes gesendet/s",
            "Octets envoyés/s",
            "Bytes enviados/s",
            "Byte inviati/sec",
            "Отправлено байт/с",
        ],
    ),
    (
        "both",
        &[
            "Bytes Total/sec",
            "Gesamtanzahl Bytes/s",
            "Total des octets/s",
            "Total de bytes/s",
            "Byte totali/sec",
            "Всего байт/с",
        ],
    ),
    (
        "speed",
        &[
            "Current Bandwidth",
            "Aktuelle Bandbreite",
            "Bande passante actuelle",
            "Ancho de banda actual",
            "Larghezza di banda corrente",
            "Largura de banda atual",
            "Текущая пропускная способность",
        ],
    ),
    (
        "discards",
        &[
            "Packets Outbound Discarded",
            "Ausgehende Pakete, verworfen",
            "Paquets sortants rejetés",
            "Paquetes de salida descartados",
        ],
    ),
];

/// Small letters, and typewriters' apostrophes.
fn lower(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).map(|c| if c == '’' { '\'' } else { c }).collect()
}

type Words = HashMap<String, &'static str>;

/// The word for each name of a table.
fn words(table: &'static [(&'static str, &'static [&'static str])]) -> Words {
    let of = |(word, names): &'static (_, &'static [&str])| {
        names.iter().map(move |name| (lower(name), *word))
    };
    table.iter().flat_map(of).collect()
}

/// The word for an object.
fn object(name: &str) -> Option<&'static str> {
    static WORDS: LazyLock<Words> = LazyLock::new(|| words(OBJECTS));
    WORDS.get(&lower(name)).copied()
}

/// The word for a counter.
fn counter(name: &str) -> Option<&'static str> {
    static WORDS: LazyLock<Words> = LazyLock::new(|| words(COUNTERS));
    WORDS.get(&lower(name)).copied()
}

/// What the sum of all instances is called.
const TOTAL: &str = "_Total";

/// The sum of all disks, for a log that has no disk of its own: what a column of it is.
pub(super) fn sum(name: &CounterName<'_>) -> Option<Meaning> {
    let disks = object(name.object)? == "disk" && name.instance.eq_ignore_ascii_case(TOTAL);
    let counter = counter(name.counter).filter(|counter| disks && *counter != "idle")?;
    let all = CounterName { instance: "all disks", ..*name };
    disk(&all, counter, false)
}

/// A root partition of Hyper-V sees its own processors alone; the hypervisor counts those of the host.
pub(super) fn hypervisor(name: &CounterName<'_>) -> Option<Meaning> {
    let all = name.object == "Hyper-V Hypervisor Logical Processor"
        && name.instance.eq_ignore_ascii_case(TOTAL)
        && name.counter == "% Total Run Time";
    let place = Place::new(HopKind::HostCpu, "host.cpu", name.host);
    all.then(|| Meaning::new(place, Measure::Cpu, 0.01))
}

/// What a column is; `None` for one that explains nothing.
pub(super) fn meaning(name: &CounterName<'_>) -> Option<Meaning> {
    let object = object(name.object)?;
    let counter = counter(name.counter)?;
    let total = name.instance.eq_ignore_ascii_case(TOTAL);
    match object {
        "disk" if !total => disk(name, counter, false),
        // A volume of Windows: what its disks count, where these are in the file.
        "logical" if !total => disk(name, counter, true),
        "cpu" if (total || name.instance.is_empty()) && counter == "cpu" => {
            let place = Place::new(HopKind::HostCpu, "host.cpu", name.host);
            Some(Meaning::new(place, Measure::Cpu, 0.01))
        }
        "net" => {
            let (measure, factor) = match counter {
                "both" => (Measure::Bytes(Flow::Any), 1.0),
                "received" => (Measure::Bytes(Flow::Read), 1.0),
                "sent" => (Measure::Bytes(Flow::Write), 1.0),
                "speed" => (Measure::Speed, 1.0 / 8.0),
                _ => return None,
            };
            let place = Place::new(HopKind::InitiatorPort, name.instance, name.host);
            Some(Meaning::new(place, measure, factor))
        }
        _ => None,
    }
}

fn disk(name: &CounterName<'_>, counter: &str, within: bool) -> Option<Meaning> {
    let mut place = Place::new(HopKind::BlockDevice, name.instance, name.host);
    place.within = within;
    let (measure, factor) = match counter {
        "reads" => (Measure::Ops(Flow::Read), 1.0),
        "writes" => (Measure::Ops(Flow::Write), 1.0),
        "read-bytes" => (Measure::Bytes(Flow::Read), 1.0),
        "write-bytes" => (Measure::Bytes(Flow::Write), 1.0),
        "read-time" => (Measure::Time(Leg::All, Flow::Read), SECOND),
        "write-time" => (Measure::Time(Leg::All, Flow::Write), SECOND),
        "transfers" => (Measure::Ops(Flow::Any), 1.0),
        "bytes" => (Measure::Bytes(Flow::Any), 1.0),
        "time" => (Measure::Time(Leg::All, Flow::Any), SECOND),
        "mean-queue" => (Measure::InFlight, 1.0),
        "queue" => (Measure::InFlightEnd, 1.0),
        "idle" => {
            let busy = Meaning::new(place, Measure::Busy, 0.01);
            return Some(Meaning { less_from: Some(100.0), ..busy });
        }
        _ => return None,
    };
    Some(Meaning::new(place, measure, factor))
}
