//! Errors that a channel reports when its link breaks: over plain pipes frame by frame, and beneath TLS byte by byte.

use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use tacita_core::channel::{Label, Traffic};
use tacita_core::{Channel, Error, ErrorKind, Result};
use tacita_node::identity::{Identity, VALIDITY};
use tacita_node::transport::faults::{ByteFault, FaultyWriter, FrameFault, relay};
use tacita_node::transport::{Options, Peer, dial, listen};

const DATA: Label = Label::new(1, "data");
const CHUNK: usize = 3000;
const CHUNKS: usize = 10;

/// Sends everything; the other side answers nothing but its end.
fn send(mut channel: Channel) -> Result<Traffic> {
    (0..CHUNKS).try_for_each(|i| channel.send(DATA, vec![i as u8; CHUNK]))?;
    channel.finish()
}

fn receive(mut channel: Channel) -> Result<Traffic> {
    for _ in 0..CHUNKS {
        // A link without TLS may alter a payload: only TLS, or a protocol's own checks, would find that.
        channel.receive(DATA, CHUNK)?;
    }
    channel.finish()
}

fn run(sender: Channel, receiver: Channel) -> (Result<Traffic>, Result<Traffic>) {
    let start = Instant::now();
    let receiving = std::thread::spawn(move || receive(receiver));
    let results = (send(sender), receiving.join().unwrap());
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
    results
}

fn frames_with(fault: FrameFault) -> (Result<Traffic>, Result<Traffic>) {
    let ((back_reader, back_writer), (reader, writer)) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
    let hour = Duration::from_secs(3600);
    let sender = Channel::over("receiver", back_reader, FaultyWriter::new(writer, fault), hour, || ());
    let receiver = Channel::over("sender", reader, back_writer, hour, || ());
    run(sender, receiver)
}

fn kind(result: &Result<Traffic>) -> Option<ErrorKind> {
    result.as_ref().err().map(Error::kind)
}

#[test]
fn spoilt_frames_are_found() {
    use ErrorKind::{Network, Protocol};
    let cases = [
        (FrameFault::Drop(3), Protocol, "frame 4 came where frame 3 was due"),
        (FrameFault::Replay(3), Protocol, "frame 3 came where frame 4 was due"),
        (FrameFault::Reorder(3), Protocol, "frame 4 came where frame 3 was due"),
        (FrameFault::Truncate(3), Protocol, "came where"),
        // The length; the frame after it, cut at the wrong place, may be looked at first.
        (FrameFault::Flip(3, 0), Protocol, "`data` has 3001 bytes instead of 3000|came where frame 4 was due"),
        (FrameFault::Flip(3, 3), Protocol, "claims 16780"), // length, too much
        (FrameFault::Flip(3, 4), Protocol, "frame 2 came where frame 3 was due"),
        (FrameFault::Flip(3, 8), Protocol, "a frame of kind 1 claims 3000 bytes"),
        (FrameFault::Flip(3, 9), Protocol, "message 0 came where `data` (1) was due"),
        (FrameFault::Cut(3), Network, "went away"),
        (FrameFault::Cut(0), Network, "went away"),
    ];
    for (fault, expected, text) in cases {
        let (sent, received) = frames_with(fault);
        assert_eq!(kind(&received), Some(expected), "{fault:?}: {received:?}");
        let said = received.as_ref().unwrap_err().to_string();
        assert!(text.split('|').any(|text| said.contains(text)), "{fault:?}: {said}");
        // The sender is told of a violation; a cut connection it sees for itself.
        assert_eq!(kind(&sent), Some(expected), "{fault:?}: {sent:?}");
    }
    let (sent, received) = frames_with(FrameFault::Flip(3, 500));
    assert_eq!(sent.unwrap().sent, received.unwrap().received);
}

/// Bytes that the handshake takes in either direction, at most; the data come after it.
const HANDSHAKE_BYTES: u64 = 2500;

fn through(forth: ByteFault, back: ByteFault) -> (Result<Traffic>, Result<Traffic>) {
    let now = SystemTime::now();
    let [hospital, insurer] =
        ["hospital", "insurer"].map(|name| Identity::generate(name, now, now + VALIDITY).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = relay(listener.local_addr().unwrap(), forth, back).unwrap().to_string();
    let options =
        Options { silence: Duration::from_secs(1), heartbeat: Duration::from_millis(200), ..Options::default() };
    std::thread::scope(|scope| {
        let expected = Peer { name: "insurer".into(), pin: insurer.fingerprint() };
        let (listener, hospital, options) = (&listener, &hospital, &options);
        let listening = scope.spawn(move || listen(listener, &expected, hospital, options));
        let expected = Peer { name: "hospital".into(), pin: hospital.fingerprint() };
        let sender = dial(&address, &expected, &insurer, options).unwrap();
        run(sender.channel, listening.join().unwrap().unwrap().channel)
    })
}

#[test]
fn a_whole_link_works() {
    let (sent, received) = through(ByteFault::None, ByteFault::None);
    assert_eq!(sent.unwrap().sent, received.unwrap().received);
}

#[test]
fn nothing_altered_beneath_tls_is_accepted() {
    for at in [0, 1, 700, 20_000] {
        let (sent, received) = through(ByteFault::Flip(HANDSHAKE_BYTES + at), ByteFault::None);
        let error = received.unwrap_err();
        assert!(
            matches!(&error, Error::Network { peer, what } if peer == "insurer" && what.contains("decrypt")),
            "{error:?}"
        );
        // Nor is the other end blamed, which hears of it by TLS' alert, or by the end of the connection.
        assert_eq!(kind(&sent), Some(ErrorKind::Network), "{sent:?}");
    }
}

#[test]
fn a_cut_link_is_noticed_by_both_and_at_once() {
    for at in [HANDSHAKE_BYTES, 10_000, 25_000] {
        let start = Instant::now();
        let (sent, received) = through(ByteFault::Cut(at), ByteFault::None);
        assert!(start.elapsed() < Duration::from_secs(2));
        for (result, name) in [(sent, "hospital"), (received, "insurer")] {
            assert!(matches!(&result, Err(Error::Network { peer, .. }) if peer == name), "{result:?}");
        }
    }
}

/// The peer is this test again, in a process of its own.
#[test]
fn a_killed_process_is_noticed_and_named() {
    const ADDRESS: &str = "TACITA_TEST_ADDRESS";
    const HOME: &str = "TACITA_TEST_HOME";
    let peer = |name: &str, identity: &Identity| Peer { name: name.into(), pin: identity.fingerprint() };
    let load = |home: &Path| ["hospital", "insurer"].map(|name| Identity::load(&home.join(name)).unwrap());
    if let (Ok(address), Ok(home)) = (std::env::var(ADDRESS), std::env::var(HOME)) {
        let [hospital, insurer] = load(Path::new(&home));
        let mut channel = dial(&address, &peer("hospital", &hospital), &insurer, &Options::default()).unwrap().channel;
        loop {
            channel.send(DATA, vec![0; CHUNK]).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let home = tempfile::tempdir().unwrap();
    for name in ["hospital", "insurer"] {
        Identity::create(&home.path().join(name), name).unwrap();
    }
    let [hospital, insurer] = load(home.path());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "transport_faults::a_killed_process_is_noticed_and_named"])
        .env(ADDRESS, listener.local_addr().unwrap().to_string())
        .env(HOME, home.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut channel = listen(&listener, &peer("insurer", &insurer), &hospital, &Options::default()).unwrap().channel;
    (0..5).for_each(|_| drop(channel.receive(DATA, CHUNK).unwrap()));
    child.kill().unwrap();
    let start = Instant::now();
    let error = loop {
        if let Err(error) = channel.receive(DATA, CHUNK) {
            break error;
        }
    };
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert!(matches!(&error, Error::Network { peer, .. } if peer == "insurer"), "{error:?}");
    child.wait().unwrap();
}

#[test]
fn a_stalled_link_is_noticed_by_both() {
    let (sent, received) = through(ByteFault::Stall(10_000), ByteFault::Stall(HANDSHAKE_BYTES));
    for (result, name) in [(sent, "hospital"), (received, "insurer")] {
        assert!(matches!(&result, Err(Error::Network { peer, .. }) if peer == name), "{result:?}");
    }
}
