//! Proxies that do as the test likes.

use serde_json::{Value, json};
use tacita_aggregate::secret::Secret;
use tacita_aggregate::transport::{ApiRequest, ApiResponse, Client};
use tacita_aggregate::wire::same_keys::KeysFingerprint;
use tacita_aggregate::wire::service::Service;
use tacita_aggregate::wire::sessions::{Advance, StateSession};
use tacita_aggregate::wire::signed::{KeyPurpose, KeyRole, Signed};
use tacita_node::base::random::fresh_rng;

use super::world::{PATIENT, ROUND, World, names};

/// A proxy that does as the test likes: it has the round's keys and a session, and no directory.
pub struct Fake {
    pub client: Client,
    pub keys: KeysFingerprint,
    pub last: Option<StateSession>,
}

impl Fake {
    pub fn new(world: &World, name: &str) -> Fake {
        Fake { client: world.client(name, Service::Database(0)), keys: world.fingerprint(), last: None }
    }

    pub fn session(&self) -> StateSession {
        self.last.unwrap()
    }

    pub fn post(&self, what: &str, body: &Value) -> ApiResponse {
        let path = self.keys.on(&format!("/v1/rounds/{ROUND}/{what}"));
        self.client.ask(&ApiRequest::json(path, body, 1 << 16), PATIENT).unwrap()
    }

    /// Asks for a step, which is its own from then on if it is granted.
    pub fn ask(&mut self, from: Option<StateSession>, to: StateSession) -> ApiResponse {
        let answer = self.post("session", &serde_json::to_value(Advance { from, to }).unwrap());
        if answer.is_ok() {
            self.last = Some(to);
        }
        answer
    }

    pub fn advance(&mut self) {
        let answer = self.ask(self.last, StateSession::after(self.last).unwrap());
        assert!(answer.is_ok(), "{:?}", answer.told());
    }

    pub fn claim(&mut self, body: Vec<u8>) -> ApiResponse {
        let next = StateSession::after(self.last).unwrap();
        let path = format!("/v1/rounds/{ROUND}/claims?session={}&next={next}", self.session());
        let answer = self.client.ask(&ApiRequest::post(self.keys.on(&path), body, 1 << 16), PATIENT).unwrap();
        if answer.is_ok() {
            self.last = Some(next);
        }
        answer
    }

    /// Sends entries in a batch of this name.
    pub fn entries(&self, batch: u8, body: Vec<u8>) -> ApiResponse {
        let name = format!("{batch:02x}").repeat(16);
        let path = format!("/v1/rounds/{ROUND}/entries/{name}?session={}", self.session());
        self.client.ask(&ApiRequest::put(self.keys.on(&path), body, 1 << 16), PATIENT).unwrap()
    }

    pub fn complete(&self, entries: u64) -> ApiResponse {
        self.post(&format!("complete?session={}", self.session()), &json!({ "entries": entries }))
    }
}

/// A database alone, and two proxies that do as the test likes, in a round that says this.
pub fn faked(participants: &[&str], round: Value) -> (World, Fake, Fake) {
    let mut world = World::of_proxies(2, "dh", &names(participants), round);
    world.start("database");
    let answer = give_key(&world, &proxies_key(&world, ROUND, "proxy"));
    assert!(answer.is_ok(), "{:?}", answer.told());
    let [one, other] = ["proxy", "proxy-1"].map(|name| Fake::new(&world, name));
    (world, one, other)
}

/// A key of the proxies' for a round, signed by this identity.
pub fn proxies_key(world: &World, round: &str, by: &str) -> Value {
    let (params, mut rng) = (world.setting.params(round).unwrap(), fresh_rng().unwrap());
    let public = Secret::generate(&world.setting, &params, &mut rng).public(&params, &mut rng);
    let purpose = KeyPurpose { agreement: &world.setting.agreement, round, role: KeyRole::Proxy };
    serde_json::to_value(Signed::new(&world.identity(by), purpose, &public).unwrap()).unwrap()
}

/// Gives the database a key of the proxies' for the round.
pub fn give_key(world: &World, key: &Value) -> ApiResponse {
    let ask = ApiRequest::json(format!("/v1/rounds/{ROUND}/key"), key, 1 << 16);
    world.client("proxy", Service::Database(0)).ask(&ask, PATIENT).unwrap()
}

/// An entry that holds nothing.
pub fn nothing(world: &World) -> Vec<u8> {
    let point = [
        226, 242, 174, 10, 106, 188, 78, 113, 168, 132, 169, 97, 197, 0, 81, 95, 88, 227, 11, 106, 165, 130, 221, 141,
        182, 166, 89, 69, 224, 141, 45, 118,
    ];
    point.repeat(world.setting.params(ROUND).unwrap().entry_bytes() / point.len())
}
