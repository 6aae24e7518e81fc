//! A job whose services run on threads of this process, and participants that ask them whatever they like.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use axum::Router;
use serde_json::{Value, json};
use tacita_aggregate::database::{self, DatabaseConfig};
use tacita_aggregate::oracle;
use tacita_aggregate::participant::operate::{Operator, RoundOrder};
use tacita_aggregate::participant::results::{Collecting, collect};
use tacita_aggregate::proxy::{self, ProxyConfig};
use tacita_aggregate::serve::RoleConfig;
use tacita_aggregate::setting::ServiceConfig;
use tacita_aggregate::transport::{
    Admission, ApiRequest, ApiResponse, Client, Persistence, Server, SharedTraffic, stand,
};
use tacita_aggregate::wire::questions::MAX_QUESTION_BYTES;
use tacita_aggregate::wire::rounds::{Open, RoundStatus};
use tacita_aggregate::wire::same_keys::KeysFingerprint;
use tacita_aggregate::wire::service::Service;
use tacita_aggregate::wire::sessions::StateSession;
use tacita_core::Result;
use tacita_core::protocol::aggregate::{Entry, Params, RoundKeys, report};
use tacita_node::agreement::JobSpec;
use tacita_node::base::cancel::Cancel;
use tacita_node::base::random::fresh_rng;
use tacita_node::identity::Identity;
use tacita_node::jobs::aggregate::results::RoundResults;
use tokio::runtime::{Builder, Runtime};

pub const ROUND: &str = "one";

/// Persistence of a request that is made once, and not again.
pub const ONCE: Persistence = Persistence { silence: Duration::ZERO, busy: Duration::ZERO };

/// Persistence of a request that is repeated until it succeeds.
pub const PATIENT: Persistence = Persistence { silence: Duration::from_secs(60), busy: Duration::from_secs(60) };

pub struct World {
    pub home: tempfile::TempDir,
    pub setting: Arc<ServiceConfig>,
    pub runtime: Arc<Runtime>,
    /// Bytes that the database asks about at once.
    pub question_bytes: usize,
    /// Time for which oracles may be silent before a round fails.
    pub patience: Duration,
    running: Vec<(String, Cancel, JoinHandle<Result<()>>)>,
}

impl World {
    /// A job with participants of these names; nothing runs yet.
    pub fn new(names: &[String], round: Value) -> World {
        World::by("dh", names, round)
    }

    /// A job by this protocol.
    pub fn by(protocol: &str, names: &[String], round: Value) -> World {
        World::of_proxies(1, protocol, names, round)
    }

    /// Creates a world with this many proxies: they are `proxy`, `proxy-1` and so on.
    pub fn of_proxies(proxies: usize, protocol: &str, names: &[String], round: Value) -> World {
        World::of_several("proxy", proxies, protocol, names, round)
    }

    /// Creates a world with this many services of one role: of `oracle`, for example, they are `oracle`, `oracle-1` and
    /// so on.
    pub fn of_several(several: &str, number: usize, protocol: &str, names: &[String], round: Value) -> World {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let make = |name: &str| Identity::create(&at(name).join("id"), name).unwrap().fingerprint().to_string();
        let mut job = json!({
            "job": "aggregate", "protocol": protocol, "id": "world", "reveal_to": "participants", "key": { "columns": ["item"] },
            "round": { "reveal_when": "distinct >= 2", "key_bytes": 16 }, "participants": { "allow": "participants" },
        });
        for (key, value) in round.as_object().unwrap() {
            let of_job = ["noise", "reveal"].contains(&key.as_str());
            let table = if of_job { &mut job } else { &mut job["round"] };
            table[key] = value.clone();
        }
        for role in ["proxy", "oracle", "database"] {
            let number = if role == several { number } else { 1 };
            let name = |place| if place == 0 { role.to_owned() } else { format!("{role}-{place}") };
            job[role] = (0..number).map(|place| json!({ "identity": make(&name(place)) })).collect();
        }
        let lines: Vec<String> = names.iter().map(|name| format!("{name} {}", make(name))).collect();
        std::fs::write(at("participants"), lines.join("\n")).unwrap();
        std::fs::write(at("job.json"), job.to_string()).unwrap();
        std::fs::create_dir(at("addresses")).unwrap();
        let setting = Arc::new(ServiceConfig::new(JobSpec::load(&at("job.json")).unwrap()).unwrap());
        let runtime = Arc::new(Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap());
        let (question_bytes, patience) = (MAX_QUESTION_BYTES, Duration::from_secs(5));
        World { home, setting, runtime, question_bytes, patience, running: Vec::new() }
    }

    pub fn started(names: &[&str], round: Value) -> World {
        let mut world = World::new(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), round);
        ["database", "proxy", "oracle"].iter().for_each(|role| world.start(role));
        world
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Starts an oracle of a test's own, which answers by these routes.
    pub fn start_oracle_of(&self, routes: Router) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        std::fs::write(self.at("addresses").join("oracle-1"), listener.local_addr().unwrap().to_string()).unwrap();
        let server = Server {
            identity: self.identity("oracle"),
            admission: Arc::new(Admission::new(self.setting.services().unwrap(), Vec::new(), None).unwrap()),
            traffic: SharedTraffic::default(),
            routes,
            cancel: Cancel::default(),
        };
        self.runtime.spawn(stand(Arc::new(server), listener));
    }

    pub fn identity(&self, name: &str) -> Identity {
        Identity::load(&self.at(name).join("id")).unwrap()
    }

    /// Returns the name by which proxies know a participant.
    pub fn reporter(&self, name: &str) -> String {
        self.identity(name).fingerprint().to_string()
    }

    /// Returns the settings of a role.
    pub fn serving(&self, role: &str, cancel: &Cancel) -> RoleConfig {
        serving(self.home.path(), &self.setting, role, cancel)
    }

    pub fn start(&mut self, role: &str) {
        let cancel = Cancel::default();
        let serving = self.serving(role, &cancel);
        let (question_bytes, patience) = (self.question_bytes, self.patience);
        let name = role.to_owned();
        let thread = std::thread::spawn(move || serve(&name, serving, question_bytes, patience));
        self.running.push((role.to_owned(), cancel, thread));
    }

    /// Returns a function that tells a role to end.
    pub fn stopper(&self, role: &str) -> impl Fn() + Send + use<> {
        let cancel = self.running.iter().find(|(name, ..)| name == role).unwrap().1.clone();
        move || {
            cancel.cancel();
        }
    }

    /// Waits until a role that was told to has ended.
    pub fn ended(&mut self, role: &str) {
        let place = self.running.iter().position(|(name, ..)| name == role).unwrap();
        let ended = self.running.remove(place).2.join();
        assert!(matches!(ended, Ok(Ok(()))), "{ended:?}");
    }

    /// A client that shows somebody's identity to a service.
    pub fn client(&self, name: &str, service: Service) -> Client {
        self.client_of(&self.identity(name), service)
    }

    pub fn client_of(&self, identity: &Identity, service: Service) -> Client {
        let place = self.setting.place(service, Some(&self.at("addresses"))).unwrap();
        let peer = self.setting.peer(service).unwrap();
        Client::new(&self.runtime, identity, peer, place, &SharedTraffic::default(), &Cancel::default())
    }

    pub fn proxy(&self, name: &str) -> Client {
        self.client(name, Service::Proxy(0))
    }

    /// The keys of the round, once the proxy takes reports.
    pub fn keys(&self, proxy: &Client) -> (Params, RoundKeys) {
        let answer = proxy.ask(&ApiRequest::get(format!("/v1/rounds/{ROUND}"), 1 << 16), PATIENT).unwrap();
        assert!(answer.is_ok(), "{:?}", answer.told());
        let open: Open = serde_json::from_slice(&answer.body).unwrap();
        let params = self.setting.params(ROUND).unwrap();
        let decode = |text: &str| data_encoding::BASE64.decode(text.as_bytes()).unwrap();
        let (database, proxy) = (decode(&open.database.public), decode(&open.proxy.public));
        let keys = RoundKeys::new(&params, &database, &proxy, &mut fresh_rng().unwrap()).unwrap();
        (params, keys)
    }

    /// A path that says under which keys of the round it is asked.
    pub fn under(&self, path: &str) -> String {
        self.fingerprint().on(path)
    }

    /// The fingerprint of the round's keys, once the proxy takes reports.
    pub fn fingerprint(&self) -> KeysFingerprint {
        let status: RoundStatus = serde_json::from_value(self.operate(&RoundOrder::Status).unwrap()).unwrap();
        status.keys.unwrap()
    }

    /// Reports of `name` under a batch of this name.
    pub fn reports(&self, proxy: &Client, name: &str, batch: &[u8; 16], items: &[(&str, u32)]) -> Vec<u8> {
        let (params, keys) = self.keys(proxy);
        let mut number = [0; 8];
        number.copy_from_slice(&batch[..8]);
        let first = u64::from_le_bytes(number) >> 20 << 20;
        let entries: Vec<Entry> =
            items.iter().map(|(key, value)| Entry { key: key.as_bytes().to_vec(), value: *value }).collect();
        report(&params, &keys, &self.reporter(name), first, &entries, &mut fresh_rng().unwrap()).unwrap()
    }

    /// Submits reports to a proxy, which takes them.
    pub fn submit(&self, name: &str, batch: &[u8; 16], items: &[(&str, u32)]) {
        let proxy = self.proxy(name);
        let body = self.reports(&proxy, name, batch, items);
        let answer = proxy.ask(&put(batch, body), PATIENT).unwrap();
        assert!(answer.is_ok(), "{:?}", answer.told());
    }

    pub fn operate(&self, order: &RoundOrder) -> Result<Value> {
        Operator::new(&self.setting, &self.identity("database"), Some(&self.at("addresses")))?.order(ROUND, order)
    }

    /// The last session of a proxy's state directory in the round, as its journal has it.
    pub fn session(&self, role: &str) -> StateSession {
        let name: String = ROUND.bytes().map(|byte| format!("{byte:02x}")).collect();
        let journal = std::fs::read(self.at(role).join("state").join(format!("journal-{name}"))).unwrap();
        let sessions: Vec<_> = journal.chunks_exact(32).filter(|line| line[0] == 2).collect();
        StateSession { number: sessions.len() as u64, name: sessions.last().unwrap()[1..17].try_into().unwrap() }
    }

    /// Closes the round, and waits until it is over.
    pub fn over(&self) -> RoundStatus {
        self.operate(&RoundOrder::Close { without: Vec::new() }).unwrap();
        self.ends()
    }

    /// Waits until the round is over.
    pub fn ends(&self) -> RoundStatus {
        let until = Instant::now() + Duration::from_secs(120);
        loop {
            let status: RoundStatus = serde_json::from_value(self.operate(&RoundOrder::Status).unwrap()).unwrap();
            if status.state.is_over() {
                return status;
            }
            assert!(Instant::now() < until, "{status:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Collects the result, and says how many keys it has.
    pub fn collect(&self, name: &str) -> Result<usize> {
        self.collected(name).map(|results| results.len())
    }

    fn collected(&self, name: &str) -> Result<RoundResults> {
        let told = Collecting {
            setting: self.setting.clone(),
            me: name.into(),
            identity: self.identity(name),
            round: ROUND.into(),
            input: None,
            timeout: Duration::from_secs(10),
            announce: Some(self.at("addresses")),
            cancel: Cancel::default(),
        };
        collect(&told).map(|(results, _)| results)
    }

    /// Items and counts of the result, by the table that a participant writes.
    pub fn result(&self, name: &str) -> BTreeMap<String, u64> {
        let path = self.at("result.csv");
        self.collected(name).unwrap().write(&path, None).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let row = |line: &str| {
            let mut cells = line.split(',');
            (cells.next().unwrap().to_owned(), cells.next().unwrap().parse().unwrap())
        };
        text.lines().skip(1).map(row).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.running.iter().for_each(|(_, cancel, _)| {
            cancel.cancel();
        });
        for (.., thread) in self.running.drain(..) {
            let ended = thread.join();
            if !std::thread::panicking() {
                assert!(matches!(ended, Ok(Ok(()))), "{ended:?}");
            }
        }
    }
}

pub fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Returns the settings of a role whose job is in this directory.
pub fn serving(home: &Path, setting: &Arc<ServiceConfig>, role: &str, cancel: &Cancel) -> RoleConfig {
    RoleConfig {
        setting: setting.clone(),
        identity: Identity::load(&home.join(role).join("id")).unwrap(),
        listen: Some("127.0.0.1:0".into()),
        state: home.join(role).join("state"),
        status: None,
        report: None,
        announce: Some(home.join("addresses")),
        registry: None,
        cancel: cancel.clone(),
    }
}

/// Serves a role until it is cancelled.
pub fn serve(role: &str, serving: RoleConfig, question_bytes: usize, patience: Duration) -> Result<()> {
    match role.split('-').next().unwrap_or_default() {
        "database" => database::serve(DatabaseConfig {
            serving,
            storage: None,
            rounds: vec![ROUND.into()],
            patience,
            question_bytes,
            dashboard: None,
        }),
        "proxy" => proxy::serve(ProxyConfig { serving, queue_bytes: proxy::QUEUE_BYTES }),
        _ => oracle::serve(serving),
    }
}

/// Gives reports in a batch of this name.
pub fn put(batch: &[u8; 16], body: Vec<u8>) -> ApiRequest {
    let name: String = batch.iter().map(|byte| format!("{byte:02x}")).collect();
    ApiRequest::put(format!("/v1/rounds/{ROUND}/reports/{name}"), body, 1 << 16)
}

/// Checks that something was refused with this status and these words.
#[track_caller]
pub fn refused(answer: &ApiResponse, status: u16, words: &str) {
    let told = answer.told();
    assert!(answer.status == status && told.message.contains(words), "{} {told:?}", answer.status);
}
