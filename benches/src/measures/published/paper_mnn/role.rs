//! Work of a role in a process of its own, and its cost.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use serde_json::{Value, json};
use tacita_core::depot::{Depot, DepotParty, Shelf};
use tacita_core::primitive::elgamal::threshold::PartyOrder;
use tacita_core::primitive::group::{Group, ModP, P384, P521, Ristretto255};
use tacita_core::primitive::published::bloom::{Plain, Rate};
use tacita_core::protocol::intersect::outsourced::meet::meet;
use tacita_core::protocol::intersect::outsourced::{self, OutsourcedResult, OutsourcedReveal, OutsourcedValues};
use tacita_core::protocol::published::intersect::kissner_song::{self, Strategy};
use tacita_core::protocol::published::intersect::outsourced_bloom as bloom;
use tacita_core::session::{Session, Transcript};
use tacita_core::{Channel, Item, Level};
use tacita_node::base::usage;

use crate::measures::published::paper_mnn::depot::{Client, serve};

/// The first argument of a role's process. The second is its setting.
pub const ROLE: &str = "role";

/// Protocol that is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// `outsourced-bloom`, as published.
    Bloom,
    /// `outsourced`.
    Sound,
    /// `kissner-song`.
    KissnerSong(Strategy),
}

const PROTOCOLS: [Protocol; 5] = [
    Protocol::Bloom,
    Protocol::Sound,
    Protocol::KissnerSong(Strategy::Schoolbook),
    Protocol::KissnerSong(Strategy::Toom3),
    Protocol::KissnerSong(Strategy::Points),
];

impl Protocol {
    /// Returns the name of the protocol in tables.
    pub fn name(self) -> String {
        match self {
            Protocol::Bloom => "outsourced-bloom".into(),
            Protocol::Sound => "outsourced".into(),
            Protocol::KissnerSong(strategy) => format!("kissner-song {strategy}"),
        }
    }

    fn has_helper(self) -> bool {
        matches!(self, Protocol::Bloom | Protocol::Sound)
    }
}

/// Group in which all parties compute: modulo a prime of the paper's, or on a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum In {
    /// Numbers modulo p.
    ModP(Level),
    /// Curve ristretto255, with 128 bits of security.
    Ristretto255,
    /// Curve P-384, with 192 bits of security.
    P384,
    /// Curve P-521, with 256 bits of security.
    P521,
}

/// List of all groups, by level and numbers first.
pub const GROUPS: [In; 8] = [
    In::ModP(Level::Paper80),
    In::ModP(Level::Bits112),
    In::ModP(Level::Bits128),
    In::ModP(Level::Bits192),
    In::ModP(Level::Bits256),
    In::Ristretto255,
    In::P384,
    In::P521,
];

impl In {
    /// Returns the name of the group in tables.
    pub fn name(self) -> String {
        match self {
            In::ModP(_) => format!("mod p, {} bits", self.bits()),
            In::Ristretto255 => "ristretto255".into(),
            In::P384 => "P-384".into(),
            In::P521 => "P-521".into(),
        }
    }

    /// Returns the level of security in bits.
    pub fn bits(self) -> u32 {
        match self {
            In::ModP(Level::Paper80) => 80,
            In::ModP(Level::Bits112) => 112,
            In::ModP(Level::Bits128) | In::Ristretto255 => 128,
            In::ModP(Level::Bits192) | In::P384 => 192,
            In::ModP(Level::Bits256) | In::P521 => 256,
        }
    }
}

/// Setting of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    pub protocol: Protocol,
    pub group: In,
    pub parties: usize,
    pub log2: u32,
    /// Order in which the parties decrypt.
    pub order: PartyOrder,
    /// Whether all learn, or the last party alone; the leader of `outsourced` always does.
    pub all_learn: bool,
    /// Number of threads of each role.
    pub threads: usize,
    /// Whether a party encrypts all before it decrypts, so that both can be told apart.
    pub in_turns: bool,
}

impl Setting {
    /// Creates the setting of the paper: all learn, each decrypts for itself, on one core.
    pub fn new(protocol: Protocol, group: In, parties: usize, log2: u32) -> Setting {
        Setting {
            protocol,
            group,
            parties,
            log2,
            order: PartyOrder::Alone,
            all_learn: true,
            threads: 1,
            in_turns: false,
        }
    }

    /// Converts the setting to the form in tables.
    pub fn to_json(self) -> Value {
        json!({
            "protocol": self.protocol.name(), "group": self.group.name(), "level": self.group.bits(),
            "parties": self.parties, "log2": self.log2, "order": format!("{:?}", self.order),
            "all_learn": self.all_learn, "threads": self.threads, "in_turns": self.in_turns,
        })
    }

    fn of_json(value: &Value) -> Setting {
        let number = |key: &str| value[key].as_u64().expect("a number") as usize;
        let flag = |key: &str| value[key].as_bool().expect("a flag");
        let protocol = PROTOCOLS.into_iter().find(|one| value["protocol"] == one.name());
        let group = GROUPS.into_iter().find(|one| value["group"] == one.name());
        let order = PartyOrder::ALL.into_iter().find(|one| value["order"] == format!("{one:?}"));
        Setting {
            protocol: protocol.expect("a protocol"),
            group: group.expect("a group"),
            parties: number("parties"),
            log2: number("log2") as u32,
            order: order.expect("an order"),
            all_learn: flag("all_learn"),
            threads: number("threads"),
            in_turns: flag("in_turns"),
        }
    }

    fn learners(&self) -> Vec<usize> {
        if self.all_learn { (0..self.parties).collect() } else { vec![self.parties - 1] }
    }

    fn items(&self) -> usize {
        1 << self.log2
    }

    fn bloom(&self) -> bloom::Params {
        bloom::Params::new(self.parties, self.items(), Rate::Published, self.order, self.learners()).expect("a run")
    }

    fn sound(&self) -> outsourced::Params {
        outsourced::Params::new(self.parties, self.items(), 0, vec![0], OutsourcedReveal::Rows).expect("a run")
    }
}

/// Cost of one run. Seconds of CPU are of whole processes.
#[derive(Debug, Clone, Default)]
pub struct Taken {
    /// Time from the moment when all parties have each other's keys to the end of the slowest.
    pub wall: f64,
    /// CPU of each party.
    pub parties: Vec<f64>,
    /// And of the helper; 0 without one.
    pub helper: f64,
    /// The slowest party's encryption, joint decryption and look-up, where they are told apart.
    pub parts: [f64; 3],
    /// The most memory of a party, and that of the helper, in bytes.
    pub memory: [u64; 2],
    /// The most bytes that a party has left or sent, and what the helper has left.
    pub bytes: [u64; 2],
}

impl Taken {
    /// CPU of the party that has most to do.
    pub fn party(&self) -> f64 {
        self.parties.iter().copied().fold(0.0, f64::max)
    }

    /// CPU of all roles together.
    pub fn all(&self) -> f64 {
        self.parties.iter().sum::<f64>() + self.helper
    }
}

/// Runs all roles, each in a process of its own, and waits for their ends.
pub fn run(setting: &Setting) -> Taken {
    let names: Vec<String> = (0..setting.parties).map(|place| format!("party {place}")).collect();
    let shelf = Arc::new(Shelf::new(&names.iter().map(String::as_str).collect::<Vec<_>>()));
    let port = serve(&shelf).expect("a port is free");
    let program = std::env::current_exe().expect("this program has a path");
    let roles = setting.parties + usize::from(setting.protocol.has_helper());
    let start = |place: usize| {
        let mut about = setting.to_json();
        about["port"] = json!(port);
        about["place"] = json!(place);
        let mut command = Command::new(&program);
        command.args(["paper_mnn", ROLE, &about.to_string()]).stdout(Stdio::piped());
        command.spawn().expect("this program can be started again")
    };
    let started: Vec<_> = (0..roles).map(start).collect();
    let ended = started.into_iter().map(|child| {
        let output = child.wait_with_output().expect("a process that was started");
        assert!(output.status.success(), "a role fails: {setting:?}");
        serde_json::from_slice::<Value>(&output.stdout).expect("what a role tells")
    });
    let ended: Vec<Value> = ended.collect();
    let number = |role: &Value, key: &str| role[key].as_f64().expect("a number");
    let mut taken = Taken::default();
    for (place, role) in ended.iter().enumerate() {
        let cpu = number(role, "cpu");
        if place == setting.parties {
            taken.helper = cpu;
            taken.memory[1] = number(role, "memory") as u64;
            taken.bytes[1] = shelf.moved(DepotParty::Helper)[0];
            continue;
        }
        if cpu > taken.party() {
            let encrypted = number(role, "encrypted");
            let looked_up = number(role, "looked_up");
            taken.parts = [encrypted, cpu - encrypted - looked_up, looked_up];
        }
        taken.parties.push(cpu);
        taken.wall = taken.wall.max(number(role, "wall"));
        taken.memory[0] = taken.memory[0].max(number(role, "memory") as u64);
        let sent = shelf.moved(DepotParty::Party(place as u8))[0] + number(role, "sent") as u64;
        taken.bytes[0] = taken.bytes[0].max(sent);
    }
    taken
}

/// Plays a role in its own process.
pub fn play(about: &str) {
    let about: Value = serde_json::from_str(about).expect("a setting");
    let setting = Setting::of_json(&about);
    let role = Role {
        setting,
        me: about["place"].as_u64().expect("a place") as usize,
        port: about["port"].as_u64().expect("a port") as u16,
        clock: Arc::default(),
    };
    rayon::ThreadPoolBuilder::new().num_threads(setting.threads).build_global().expect("threads start");
    match setting.group {
        In::ModP(level) => role.play(&ModP::of(level)),
        In::Ristretto255 => role.play(&Ristretto255),
        In::P384 => role.play(&P384::default()),
        In::P521 => role.play(&P521::default()),
    }
}

struct Role {
    setting: Setting,
    me: usize,
    port: u16,
    clock: Arc<Mutex<Clock>>,
}

#[derive(Default)]
struct Clock {
    started: Option<(Duration, Instant)>,
    encrypted: f64,
    looked_up: f64,
    sent: u64,
}

impl Clock {
    fn start(&mut self) {
        self.started = Some((usage::cpu_time(), Instant::now()));
    }

    fn cpu(&self) -> f64 {
        let (cpu, _) = self.started.expect("it has started");
        (usage::cpu_time() - cpu).as_secs_f64()
    }

    fn wall(&self) -> f64 {
        self.started.expect("it has started").1.elapsed().as_secs_f64()
    }
}

impl Role {
    fn play<G: Group + Sync>(&self, group: &G) {
        let mut rng = ChaCha20Rng::from_seed([self.me as u8 + 1; 32]);
        let helps = self.me == self.setting.parties;
        match self.setting.protocol {
            Protocol::Bloom | Protocol::Sound if helps => self.help(group, &mut rng),
            Protocol::Bloom => self.by_filters(group, &mut rng),
            Protocol::Sound => self.by_stores(&mut rng),
            Protocol::KissnerSong(strategy) => self.by_polynomials(group, strategy, &mut rng),
        }
        let clock = self.clock.lock().expect("nobody panics");
        println!(
            "{}",
            json!({
                "cpu": clock.cpu(), "wall": clock.wall(), "encrypted": clock.encrypted,
                "looked_up": clock.looked_up, "sent": clock.sent, "memory": usage::peak_memory().unwrap_or_default(),
            })
        );
    }

    fn clock(&self) -> std::sync::MutexGuard<'_, Clock> {
        self.clock.lock().expect("nobody panics")
    }

    fn help<G: Group>(&self, group: &G, rng: &mut ChaCha20Rng) {
        let depot = Client::new(self.port, DepotParty::Helper);
        self.clock().start();
        let ended = match self.setting.protocol {
            Protocol::Bloom => bloom::helper::run(&self.setting.bloom(), group, &depot, rng),
            _ => outsourced::helper::run(&self.setting.sound(), &depot, &[0; 32]),
        };
        ended.expect("all keep to the protocol");
    }

    fn by_filters<G: Group + Sync>(&self, group: &G, rng: &mut ChaCha20Rng) {
        let (me, params) = (self.me, self.setting.bloom());
        let place = DepotParty::Party(me as u8);
        let clock = self.clock.clone();
        let at_last = move || {
            let mut clock = clock.lock().expect("nobody panics");
            clock.encrypted = clock.cpu();
        };
        let depot = if self.setting.in_turns {
            Client::in_turns(self.port, place, params.parts(group).len(), Box::new(at_last))
        } else {
            Client::new(self.port, place)
        };
        let (met, post) =
            meet(group, me, self.setting.parties, &Transcript::new("bench"), &depot, rng).expect("all prove");
        let items = self.items(&met.session);
        self.clock().start();
        let party = bloom::OutsourcedBloomParty { me, group, params: &params, items: &items, met: &met, post: &post };
        let hashes = party.hashes();
        let mut common = Plain::empty(hashes.slots());
        let mut slot = 0;
        // As `bloom::run`, with the time of the end taken apart.
        let learn = |values: &[G::Point]| {
            for value in values {
                if group.any_identity(std::slice::from_ref(value)) {
                    common.set(slot);
                }
                slot += 1;
            }
        };
        bloom::decrypted(&party, rng, learn).expect("all keep to the protocol");
        if params.learners().contains(&me) {
            let before = self.clock().cpu();
            let found = common.matches(&items, &hashes);
            let mut clock = self.clock();
            clock.looked_up = clock.cpu() - before;
            let expected = self.setting.items() / 2;
            let mistaken = found.len() - found.partition_point(|item| *item < expected);
            assert!(found.len() == expected + mistaken && mistaken <= 3 + expected / 16, "the result is right");
        }
    }

    fn by_stores(&self, rng: &mut ChaCha20Rng) {
        let (me, params) = (self.me, self.setting.sound());
        let depot = Client::new(self.port, DepotParty::Party(me as u8));
        let (met, post) =
            meet(&Ristretto255, me, self.setting.parties, &Transcript::new("bench"), &depot, rng).expect("all prove");
        let items = self.items(&met.session);
        self.clock().start();
        let values = OutsourcedValues::Nothing;
        let party = outsourced::OutsourcedParty { me, params: &params, items: &items, values, met: &met, post: &post };
        if me == params.leader() {
            let found = outsourced::lead(&party, rng).expect("all keep to the protocol");
            assert_eq!(found, OutsourcedResult::Rows((0..self.setting.items() / 2).collect()), "the result is right");
        } else {
            outsourced::follow(&party, rng).expect("all keep to the protocol");
        }
    }

    fn by_polynomials<G: Group + Sync>(&self, group: &G, strategy: Strategy, rng: &mut ChaCha20Rng) {
        let (me, n) = (self.me, self.setting.parties);
        let session = Session::new(Transcript::new("bench"));
        let items = self.items(&session);
        let params = kissner_song::Params::new(n, self.setting.items(), self.setting.learners()).expect("a run");
        let params = kissner_song::Params { strategy, order: self.setting.order, ..params };
        let mut channels = self.mesh();
        self.clock().start();
        let party = kissner_song::KissnerSongParty { me, items: &items, params: &params, session: &session };
        let found = kissner_song::run(group, party, &mut channels, rng).expect("all keep to the protocol");
        let expected: Vec<usize> = (0..self.setting.items() / 2).collect();
        assert!(found.is_none_or(|found| found == expected), "the result is right");
        self.clock().sent = channels.iter().map(|channel| channel.traffic().sent).sum();
        for channel in channels {
            channel.finish().expect("a good end");
        }
    }

    /// A connection to each other party, by place.
    fn mesh(&self) -> Vec<Channel> {
        let local = |port: u16| (Ipv4Addr::LOCALHOST, port);
        let listener = TcpListener::bind(local(0)).expect("a port is free");
        let own = listener.local_addr().expect("it has a port").port();
        let depot = Client::new(self.port, DepotParty::Party(self.me as u8));
        let ports = depot.announce(own.to_le_bytes().to_vec()).expect("all tell their ports");
        let mut streams: Vec<Option<TcpStream>> = ports.iter().map(|_| None).collect();
        for place in 0..self.me {
            let port = u16::from_le_bytes(ports[place][..].try_into().expect("two bytes"));
            let mut stream = TcpStream::connect(local(port)).expect("the other listens");
            stream.write_all(&[self.me as u8]).expect("it is connected");
            streams[place] = Some(stream);
        }
        for _ in self.me + 1..ports.len() {
            let (mut stream, _) = listener.accept().expect("the other connects");
            let mut place = [0];
            stream.read_exact(&mut place).expect("it says who it is");
            streams[usize::from(place[0])] = Some(stream);
        }
        let channel = |(place, stream): (usize, TcpStream)| {
            stream.set_nodelay(true).expect("a connected stream");
            let [reader, writer] = [(); 2].map(|()| stream.try_clone().expect("a connected stream"));
            let shut = move || drop(stream.shutdown(Shutdown::Both));
            Channel::over(&format!("party {place}"), reader, Ends(writer), Duration::from_secs(10), shut)
        };
        let streams = streams.into_iter().enumerate().filter_map(|(place, stream)| Some((place, stream?)));
        streams.map(channel).collect()
    }

    /// Half of each party's items are everybody's.
    fn items(&self, session: &Session) -> Vec<Item> {
        let (key, n) = (session.derive("item"), self.setting.items());
        let number = |index: usize| if index < n / 2 { index } else { index + (self.me + 1) * n };
        (0..n).map(|index| Item::new(&key, &number(index).to_le_bytes())).collect()
    }
}

/// A stream that lets the other end's reads end when it is dropped, though there are others of the same connection.
struct Ends(TcpStream);

impl Write for Ends {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.shutdown(Shutdown::Write);
    }
}
