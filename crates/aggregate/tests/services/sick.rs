//! A database that takes no entries of a round for a long time, and answers all else.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tacita_aggregate::proxy::{self, ProxyConfig};
use tacita_aggregate::serve::RoleConfig;
use tacita_aggregate::transport::{Admission, ApiRequest, Client, Server, SharedTraffic, stand};
use tacita_aggregate::wire::reply::{ApiError, RefusalReason};
use tacita_aggregate::wire::rounds::RoundState;
use tacita_aggregate::wire::service::Service;
use tacita_node::base::cancel::Cancel;

use super::world::World;

const MAX_BYTES: usize = 1 << 22;

/// Proxy in front of a database, which passes on all requests but entries while it is sick.
struct Front {
    database: Client,
    is_sick: AtomicBool,
    refused: Sender<()>,
}

async fn answer(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().unwrap().to_string();
    if path.contains("/entries/") && front.is_sick.load(Ordering::Acquire) {
        let _ = front.refused.send(());
        return ApiError::new(RefusalReason::Busy, "too many requests").into_response();
    }
    let json = parts.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    let body = to_bytes(body, MAX_BYTES).await.unwrap();
    let ask = ApiRequest { method: parts.method, path, body, json, most: MAX_BYTES };
    let answer = tokio::task::spawn_blocking(move || front.database.once(&ask)).await.unwrap();
    match answer {
        Ok(answer) => (StatusCode::from_u16(answer.status).unwrap(), Body::from(answer.body)).into_response(),
        Err(_) => ApiError::new(RefusalReason::Busy, "the database does not answer").into_response(),
    }
}

/// Stands before the database of a world: where that is says a directory of addresses of its own.
fn stand_before(world: &World, refused: Sender<()>) -> Arc<Front> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    std::fs::create_dir(world.at("front")).unwrap();
    std::fs::write(world.at("front").join("database-1"), listener.local_addr().unwrap().to_string()).unwrap();
    let database = world.client("proxy", Service::Database(0));
    let front = Arc::new(Front { database, is_sick: AtomicBool::new(true), refused });
    let server = Server {
        identity: world.identity("database"),
        admission: Arc::new(Admission::new(world.setting.services().unwrap(), Vec::new(), None).unwrap()),
        traffic: SharedTraffic::default(),
        routes: Router::new().fallback(answer).with_state(front.clone()),
        cancel: Cancel::default(),
    };
    world.runtime.spawn(stand(Arc::new(server), listener));
    front
}

#[test]
fn a_round_whose_entries_are_not_taken_for_long_goes_on_taking_reports() {
    let names: Vec<String> = ["a", "b", "c"].map(String::from).into();
    let mut world = World::new(&names, json!({ "min_participants": 2, "batch_size": 4 }));
    ["database", "oracle"].iter().for_each(|role| world.start(role));
    let (refused, refusals) = channel();
    let front = stand_before(&world, refused);
    // The others find the proxy where it says that it listens.
    std::os::unix::fs::symlink(world.at("front").join("proxy-1"), world.at("addresses").join("proxy-1")).unwrap();
    let cancel = Cancel::default();
    let serving = RoleConfig { announce: Some(world.at("front")), ..world.serving("proxy", &cancel) };
    let running = std::thread::spawn(move || proxy::serve(ProxyConfig { serving, queue_bytes: proxy::QUEUE_BYTES }));
    let items: Vec<String> = (0..12).map(|number| format!("item-{number}")).collect();
    let many: Vec<(&str, u32)> = items.iter().map(|item| (item.as_str(), 0)).collect();
    world.submit("a", &[1; 16], &many);
    world.submit("b", &[2; 16], &many);
    refusals.recv_timeout(Duration::from_secs(60)).unwrap();
    // What comes now is acknowledged, although the round sends nothing.
    world.submit("c", &[3; 16], &many[..1]);
    front.is_sick.store(false, Ordering::Release);
    assert_eq!(world.over().state, RoundState::Revealed);
    let result = world.result("a");
    assert!(result.len() == 12 && result["item-0"] == 3 && result["item-1"] == 2, "{result:?}");
    cancel.cancel();
    let _ = running.join().unwrap();
}
