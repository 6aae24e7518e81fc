//! Submissions that a participant makes twice.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{Path, Request};
use axum::routing::{get, put};
use axum::{Json, Router};
use serde_json::{Value, json};
use tacita_aggregate::participant::submit::{Submitting, submit};
use tacita_aggregate::transport::{Admission, ApiRequest, Server, SharedTraffic, stand};
use tacita_aggregate::wire::hello::ServiceInfo;
use tacita_aggregate::wire::service::Service;
use tacita_node::base::cancel::Cancel;
use tacita_node::jobs::aggregate::reports::ReportsInput;
use tacita_node::watch::NoProgress;

use super::world::{PATIENT, ROUND, World};

/// Names and bodies of batches that came.
type Came = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// Stands in place of the proxy, and keeps what comes. Where it listens is in the directory `recorded`.
fn record(world: &World) -> Came {
    let proxy = world.proxy("a");
    world.keys(&proxy);
    let open = proxy.ask(&ApiRequest::get(format!("/v1/rounds/{ROUND}"), 1 << 16), PATIENT).unwrap();
    let open: Value = serde_json::from_slice(&open.body).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    std::fs::create_dir(world.at("recorded")).unwrap();
    std::fs::write(world.at("recorded").join("proxy-1"), listener.local_addr().unwrap().to_string()).unwrap();
    let own = ServiceInfo {
        agreement: tacita_node::base::hex::hex(&world.setting.agreement),
        service: None,
        version: String::new(),
        clock: 0,
        participant: Some("a".into()),
    };
    let came = Came::default();
    let kept = came.clone();
    let take = move |Path((_, batch)): Path<(String, String)>, request: Request| async move {
        let body = to_bytes(request.into_body(), 1 << 20).await.unwrap().to_vec();
        kept.lock().unwrap().push((batch, body));
        Json(json!({ "reports": 2, "known": false }))
    };
    let server = Server {
        identity: world.identity("proxy"),
        admission: Arc::new(Admission::new(Vec::new(), Vec::new(), Some(&world.at("participants"))).unwrap()),
        traffic: SharedTraffic::default(),
        routes: Router::new()
            .route("/v1/here", get(move || async move { Json(own) }))
            .route("/v1/rounds/{round}", get(move || async move { Json(open) }))
            .route("/v1/rounds/{round}/reports/{batch}", put(take)),
        cancel: Cancel::default(),
    };
    world.runtime.spawn(stand(Arc::new(server), listener));
    came
}

fn submit_to(world: &World, addresses: &str) -> Value {
    let input = world.at("items.csv");
    std::fs::write(&input, "item\nx\ny\n").unwrap();
    submit(&Submitting {
        setting: world.setting.clone(),
        me: "a".into(),
        identity: world.identity("a"),
        input: ReportsInput {
            path: input,
            options: Default::default(),
            listing: None,
            expand: None,
            allow_unreadable: false,
        },
        round: ROUND.into(),
        resume: false,
        batch: None,
        timeout: Duration::from_secs(60),
        patience: Duration::from_secs(60),
        announce: Some(world.at(addresses)),
        screen: Arc::new(NoProgress),
        cancel: Cancel::default(),
    })
    .unwrap()["submitted"]
        .clone()
}

/// Reports are encrypted differently each time, under the one name of their batch. The key of the participant's
/// identity, which may be stolen later, does not tell what they were encrypted with.
#[test]
fn reports_are_encrypted_anew_under_the_name_of_their_batch() {
    let world = World::started(&["a", "b"], json!({}));
    let came = record(&world);
    let bodies: Vec<_> = (0..2)
        .map(|_| {
            submit_to(&world, "recorded");
            came.lock().unwrap().pop().unwrap()
        })
        .collect();
    let (params, _) = world.keys(&world.proxy("a"));
    assert_eq!(bodies[0].0, bodies[1].0, "the batch has another name");
    assert_eq!((bodies[0].1.len(), bodies[1].1.len()), (2 * params.report_bytes(), 2 * params.report_bytes()));
    // Not one point of a ciphertext is that of the other.
    let points = |body: &[u8]| body.chunks(32).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let same = points(&bodies[0].1).iter().zip(points(&bodies[1].1)).filter(|(one, other)| *one == other).count();
    assert_eq!(same, 0, "of {}", points(&bodies[0].1).len());

    // At the proxy itself it counts once, encrypted as it was each time.
    for (body, known) in [(&bodies[0].1, false), (&bodies[1].1, true)] {
        let path = format!("/v1/rounds/{ROUND}/reports/{}", bodies[0].0);
        let answer =
            world.client("a", Service::Proxy(0)).ask(&ApiRequest::put(path, body.clone(), 1 << 16), PATIENT).unwrap();
        assert_eq!(
            serde_json::from_slice::<Value>(&answer.body).unwrap(),
            json!({ "reports": 2, "known": known }),
            "{:?}",
            answer.told()
        );
    }
    assert_eq!(submit_to(&world, "addresses")["known"], json!(1));
    world.submit("b", &[2; 16], &[("x", 0)]);
    assert_eq!(world.over().numbers.unwrap().reports, 3);
    assert_eq!(world.result("b"), [("x".into(), 2)].into());
}
