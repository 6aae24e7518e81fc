//! The driver of a job on many machines waits for another party's, with a thousand strangers. Alone in a process, whose
//! descriptors and threads are counted.

// The tests of the program use the rest.
#[path = "../../cli/tests/common/stranger.rs"]
#[allow(dead_code)]
mod stranger;

use std::time::{Duration, Instant, SystemTime};

use stranger::Listener;
use tacita_core::Result;
use tacita_node::agreement::JobSpec;
use tacita_node::base::cancel::Cancel;
use tacita_node::distributed::{self, DriverMesh, DriverRun, Meet};
use tacita_node::identity::{Identity, VALIDITY};
use tacita_node::run::connect::ConnectPlan;
use tacita_node::table::RowCounts;
use tacita_node::transport::{ALPN, LinkShape, Peer};

#[test]
fn drivers() {
    let now = SystemTime::now();
    let [a, b] = ["a", "b"].map(|name| Identity::generate(name, now, now + VALIDITY).unwrap());
    let (pin_a, pin_b) = (a.fingerprint(), b.fingerprint());
    let job = format!(
        "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"x\"]\n[parties.a]\nidentity = \"{pin_a}\"\n[parties.b]\nidentity = \
         \"{pin_b}\"\n"
    );
    let job = JobSpec::parse(&job, false).unwrap();
    let home = tempfile::tempdir().unwrap();
    let announced = home.path().join("address");
    let peer = |name: &str, pin| Peer { name: name.into(), pin };
    let meeting = || ConnectPlan {
        dials: Vec::new(),
        awaits: Vec::new(),
        listen: String::new(),
        relay: None,
        helper: None,
        announce: None,
        shape: LinkShape::default(),
    };
    let meet = |me: &'static str, identity: &Identity, meeting: ConnectPlan| -> Result<DriverMesh> {
        let mut work = DriverRun::open(&home.path().join(me), &job, me, identity, false)?;
        let timeout = Duration::from_secs(120);
        let meet = Meet {
            job: &job,
            me,
            identity,
            meeting,
            rows: RowCounts { read: 100, items: 100, ..RowCounts::default() },
            digest: [0; 32],
            buckets: 1,
            finished: Vec::new(),
            timeout,
            patience: timeout,
            cancel: Cancel::default(),
        };
        distributed::meet(&meet, &mut work)
    };
    std::thread::scope(|scope| {
        let listens = ConnectPlan {
            awaits: vec![peer("b", pin_b)],
            listen: "127.0.0.1:0".into(),
            announce: Some(announced.clone()),
            ..meeting()
        };
        let waiting = scope.spawn(|| meet("a", &a, listens));
        let until = Instant::now() + Duration::from_secs(30);
        let address = loop {
            match std::fs::read_to_string(&announced) {
                Ok(address) => break address,
                Err(error) => assert!(Instant::now() < until && !waiting.is_finished(), "{error}"),
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let listener = Listener::of(&address, &pin_a.to_string(), ALPN);
        listener.withstands(std::process::id(), || ());
        // The other one comes while strangers stay.
        let staying = listener.crowd(1.0);
        let dials = ConnectPlan { dials: vec![(peer("a", pin_a), address)], ..meeting() };
        let came = meet("b", &b, dials).unwrap();
        let waited = waiting.join().unwrap().unwrap();
        assert_eq!((came.session(), came.leads()), (waited.session(), !waited.leads()));
        drop(staying);
    });
}
