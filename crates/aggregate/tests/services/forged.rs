//! A participant that encrypts what it likes.

use tacita_aggregate::transport::ApiRequest;
use tacita_aggregate::wire::rounds::Open;
use tacita_core::primitive::elgamal::masks;
use tacita_core::primitive::group::{Embedding, Group, Ristretto255, ScalarField};
use tacita_core::session::{Session, Transcript};
use tacita_node::base::random::fresh_rng;

use super::world::{PATIENT, ROUND, World};

const GROUP: Ristretto255 = Ristretto255;

/// Reports of `name` without values, of which each puts a key beside the row of another.
pub fn mixed(world: &World, name: &str, batch: &[u8; 16], pairs: &[(&str, &str)]) -> Vec<u8> {
    let answer = world.proxy(name).ask(&ApiRequest::get(format!("/v1/rounds/{ROUND}"), 1 << 16), PATIENT).unwrap();
    let open: Open = serde_json::from_slice(&answer.body).unwrap();
    let params = world.setting.params(ROUND).unwrap();
    let mut session = Transcript::new("aggregate round");
    session.append("terms", &world.setting.agreement).append("round", ROUND.as_bytes());
    let session = Session::new(session);
    let keys = [&open.database, &open.proxy].map(|signed| {
        let public = data_encoding::BASE64.decode(signed.public.as_bytes()).unwrap();
        GROUP.decode(&public[..32]).unwrap()
    });
    let both = GROUP.add(&keys[0], &keys[1]);
    let mut first = [0; 8];
    first.copy_from_slice(&batch[..8]);
    let first = u64::from_le_bytes(first) >> 20 << 20;
    let mut rng = fresh_rng().unwrap();
    let mut reports = Vec::new();
    for (number, (row, key)) in (first..).zip(pairs) {
        let padded = |text: &str| {
            let mut padded = [0; 16];
            padded[..text.len()].copy_from_slice(text.as_bytes());
            padded
        };
        let message = [&session.derive("aggregate row")[..], &padded(row)].concat();
        let row = GROUP.hash_to_points(&[message], b"tacita 1 aggregate row");
        let key = GROUP.embed(&padded(key));
        let known = GROUP.random_scalars(2, &mut rng);
        let mut report = Vec::new();
        for ((plain, public), mask) in [(row, &keys[0]), (key, &both)].into_iter().zip(&known) {
            report.extend(GROUP.encode(&GROUP.multiply_generator(std::slice::from_ref(mask))));
            report.extend(GROUP.encode(&GROUP.add(&plain, &GROUP.multiply(public, mask))));
        }
        let mut context = Transcript::new("aggregate");
        context.append("round", session.id()).append("purpose", b"report");
        for agreed in [params.key_bytes() as u64, u64::from(params.values()), u64::from(params.distinct())] {
            context.append("agreed", &agreed.to_le_bytes());
        }
        context.append("keys", &GROUP.encode(&[keys[0][0].clone(), keys[1][0].clone()]));
        context.append("participant", world.reporter(name).as_bytes());
        context.append("number", &number.to_le_bytes()).append("ciphertexts", &report);
        report.extend(masks::prove(&GROUP, 1, &[&known[..1], &known[1..]], |_| context.clone(), &mut rng));
        reports.extend(report);
    }
    reports
}
