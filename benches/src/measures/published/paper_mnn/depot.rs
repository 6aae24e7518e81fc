//! A depot between processes of this machine: the first one keeps a shelf, and each request of another is a message
//! over TCP.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use tacita_core::depot::{Depot, DepotParty, DepotStep, Parcel, Shelf};
use tacita_core::protocol::published::intersect::outsourced_bloom::{FILTER, SUMS};
use tacita_core::{Error, Result};

const ANNOUNCE: u8 = 0;
const LEAVE: u8 = 1;
const COLLECT: u8 = 2;

/// Bytes before the payload of a request: who asks, for what, the parcel, the part, and lengths of what is sent and
/// expected.
const HEADER: usize = 1 + 1 + 3 + 4 + 4 + 4;

/// The name does not travel.
const STEP: &str = "parcel";

fn code(place: DepotParty) -> u8 {
    match place {
        DepotParty::Helper => u8::MAX,
        DepotParty::Party(place) => place,
    }
}

fn place(code: u8) -> DepotParty {
    if code == u8::MAX { DepotParty::Helper } else { DepotParty::Party(code) }
}

/// Serves a shelf for as long as this process lives. Returns the port.
pub fn serve(shelf: &Arc<Shelf>) -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    let shelf = shelf.clone();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let shelf = shelf.clone();
            std::thread::spawn(move || answer(&shelf, connection));
        }
    });
    Ok(port)
}

/// Answers one connection until it ends.
fn answer(shelf: &Shelf, mut connection: TcpStream) -> io::Result<()> {
    connection.set_nodelay(true)?;
    loop {
        let mut header = [0; HEADER];
        connection.read_exact(&mut header)?;
        let [who, what, step, from, to, ..] = header;
        let number = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let (part, length, expected) = (number(5), number(9) as usize, number(13) as usize);
        let mut bytes = vec![0; length];
        connection.read_exact(&mut bytes)?;
        let parcel = Parcel { step: DepotStep { code: step, name: STEP }, from: place(from), to: place(to) };
        let user = shelf.user(place(who));
        let reply = match what {
            ANNOUNCE => user.announce(bytes).map(|all| all.concat()),
            LEAVE => user.leave(parcel, part, bytes).map(|()| Vec::new()),
            _ => user.collect(parcel, part, expected),
        };
        let reply = reply.map_err(io::Error::other)?;
        connection.write_all(&(reply.len() as u32).to_le_bytes())?;
        connection.write_all(&reply)?;
    }
}

/// The depot as a role in a process of its own reaches it.
pub struct Client {
    port: u16,
    me: DepotParty,
    /// Connections that nobody uses just now: one for each thread that asks at the same time.
    idle: Mutex<Vec<TcpStream>>,
    /// Parts of the own filter that have to be left before sums are collected.
    due: Mutex<usize>,
    left: Condvar,
    at_last: Box<dyn Fn() + Send + Sync>,
}

impl Client {
    /// A way to the depot at this port.
    pub fn new(port: u16, me: DepotParty) -> Client {
        Client::in_turns(port, me, 0, Box::new(|| ()))
    }

    /// One that lets nobody collect sums before that many parts of the own filter are left, and calls `at_last` then.
    pub fn in_turns(port: u16, me: DepotParty, parts: usize, at_last: Box<dyn Fn() + Send + Sync>) -> Client {
        Client { port, me, idle: Mutex::default(), due: Mutex::new(parts), left: Condvar::new(), at_last }
    }

    fn ask(&self, what: u8, parcel: Option<(Parcel, u32)>, bytes: &[u8], expected: usize) -> Result<Vec<u8>> {
        let asked = || -> io::Result<Vec<u8>> {
            let idle = self.idle.lock().expect("nobody panics").pop();
            let mut connection = match idle {
                Some(connection) => connection,
                None => TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?,
            };
            connection.set_nodelay(true)?;
            let [step, from, to] = parcel.map_or([0; 3], |(p, _)| [p.step.code, code(p.from), code(p.to)]);
            let mut header = vec![code(self.me), what, step, from, to];
            for number in [parcel.map_or(0, |(_, part)| part), bytes.len() as u32, expected as u32] {
                header.extend(number.to_le_bytes());
            }
            connection.write_all(&header)?;
            connection.write_all(bytes)?;
            let mut length = [0; 4];
            connection.read_exact(&mut length)?;
            let mut reply = vec![0; u32::from_le_bytes(length) as usize];
            connection.read_exact(&mut reply)?;
            self.idle.lock().expect("nobody panics").push(connection);
            Ok(reply)
        };
        asked().map_err(|error| Error::Internal(format!("the depot does not answer: {error}")))
    }
}

impl Depot for Client {
    fn announce(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        let all = self.ask(ANNOUNCE, None, &own, 0)?;
        Ok(all.chunks(own.len()).map(<[u8]>::to_vec).collect())
    }

    fn leave(&self, parcel: Parcel, part: u32, bytes: Vec<u8>) -> Result<()> {
        self.ask(LEAVE, Some((parcel, part)), &bytes, 0)?;
        if parcel.step == FILTER {
            let mut due = self.due.lock().expect("nobody panics");
            if *due == 1 {
                (self.at_last)();
            }
            *due = due.saturating_sub(1);
            self.left.notify_all();
        }
        Ok(())
    }

    fn collect(&self, parcel: Parcel, part: u32, length: usize) -> Result<Vec<u8>> {
        if parcel.step == SUMS {
            let due = self.due.lock().expect("nobody panics");
            drop(self.left.wait_while(due, |due| *due > 0).expect("nobody panics"));
        }
        self.ask(COLLECT, Some((parcel, part)), &[], length)
    }

    fn name(&self, place: DepotParty) -> String {
        match place {
            DepotParty::Helper => "the helper".into(),
            DepotParty::Party(place) => format!("party {place}"),
        }
    }
}
