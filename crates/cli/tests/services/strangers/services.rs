//! Services of an aggregation.

use serde_json::json;

use crate::aggregate::world::{ROUND, World};
use crate::common::stranger::{Listener, identity};
use crate::common::text;

/// First bytes of an HTTP/2 client: its preface, and settings, of which there are none.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";

#[test]
fn database_proxy_and_oracle() {
    let mut world = World::started(&["a", "b"], json!({}), json!({}));
    let of = |world: &World, role: &str| {
        let (address, own) =
            (text(world.home.at(&format!("addresses/{role}-1"))), world.home.at(&format!("id-{role}")));
        (Listener::of(&address, &identity(own).fingerprint().to_string(), b"h2"), address)
    };
    for (role, peer) in [("database", "a"), ("proxy", "a"), ("oracle", "database")] {
        let (listener, address) = of(&world, role);
        let admitted = identity(world.home.at(&format!("id-{peer}")));
        listener.withstands(world.role(role).id(), || {
            assert!(listener.first_byte(&admitted, PREFACE).is_some(), "{role} at {address} ends the connection");
        });
    }
    assert_eq!(world.status(ROUND)["state"], "open");
    world.submit("a", &["x", "y"]).well();
}
