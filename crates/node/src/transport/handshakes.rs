//! The handshakes under way at a listener.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::IpAddr;

use rustix::io::Errno;

/// The handshakes under way at a listener, oldest first, each under a number. `H` is what the listener ends one with.
///
/// There are at most `limit`. When all places are taken, the oldest handshake of the network that holds most makes
/// room: a stranger that opens many takes no place from others. There is no bound for one network alone, since many
/// honest peers may share an address (behind a NAT, or on this machine): the newest of them always gets its place.
pub struct Handshakes<H> {
    limit: usize,
    next: u64,
    under_way: VecDeque<UnderWay<H>>,
}

struct UnderWay<H> {
    number: u64,
    from: IpAddr,
    handle: H,
}

impl<H> Handshakes<H> {
    /// Creates an empty set of handshakes.
    pub fn new(limit: usize) -> Handshakes<H> {
        Handshakes { limit, next: 0, under_way: VecDeque::new() }
    }

    /// Adds a handshake with whoever comes from an address; `begin` makes its handle, and knows its number. Returns the
    /// number, and the handle of the handshake that has to make room: the caller ends it.
    pub fn add(&mut self, from: IpAddr, begin: impl FnOnce(u64) -> H) -> (u64, Option<H>) {
        let full = self.under_way.len() >= self.limit;
        let displaced = if full { self.displace() } else { None };
        self.next += 1;
        let number = self.next;
        self.under_way.push_back(UnderWay { number, from: network(from), handle: begin(number) });
        (number, displaced)
    }

    /// Takes out the handshake that has to make room, if there is one, as where [`is_short`] says so.
    pub fn displace(&mut self) -> Option<H> {
        let place = self.first_to_go()?;
        self.under_way.remove(place).map(|displaced| displaced.handle)
    }

    /// The handshake that would make room, if all places are taken; and whether the network of `from` holds less than
    /// its network does.
    pub fn displaced_by(&self, from: IpAddr) -> Option<(&H, bool)> {
        let counts = self.counts();
        let place = self.first_to_go().filter(|_| self.under_way.len() >= self.limit)?;
        let one = &self.under_way[place];
        let count = |network: &IpAddr| counts.get(network).copied().unwrap_or(0);
        Some((&one.handle, count(&network(from)) + 1 < count(&one.from)))
    }

    /// Takes out a handshake that is over.
    pub fn remove(&mut self, number: u64) {
        self.under_way.retain(|one| one.number != number);
    }

    /// Removes all handshakes and returns their handles.
    pub fn drain(&mut self) -> impl Iterator<Item = H> + '_ {
        self.under_way.drain(..).map(|one| one.handle)
    }

    /// The place of the oldest handshake of the network that holds most.
    fn first_to_go(&self) -> Option<usize> {
        let counts = self.counts();
        let most = counts.values().max()?;
        self.under_way.iter().position(|one| counts.get(&one.from) == Some(most))
    }

    fn counts(&self) -> BTreeMap<IpAddr, usize> {
        let mut counts = BTreeMap::new();
        self.under_way.iter().for_each(|one| *counts.entry(one.from).or_default() += 1);
        counts
    }
}

/// Whether no connection can be taken because there are no more descriptors, or no memory for one.
pub fn is_short(error: &io::Error) -> bool {
    let all = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|error| all.contains(&error))
}

/// Returns the network from which one host can choose its addresses: one of IPv4, or 2^64 of IPv6.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) >> 64 << 64).into()),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn add(handshakes: &mut Handshakes<u64>, from: &str) -> (u64, Option<u64>) {
        handshakes.add(address(from), |number| number)
    }

    #[test]
    fn the_network_that_holds_most_makes_room() {
        let mut handshakes = Handshakes::new(4);
        assert_eq!(add(&mut handshakes, "192.0.2.1"), (1, None));
        (2..5).for_each(|number| assert_eq!(add(&mut handshakes, "192.0.2.2"), (number, None)));
        // The oldest of all is of an address that holds less.
        assert_eq!(add(&mut handshakes, "192.0.2.2"), (5, Some(2)));
        assert_eq!(add(&mut handshakes, "192.0.2.3"), (6, Some(3)));
        // However it is written, it is one address.
        assert_eq!(add(&mut handshakes, "192.0.2.3"), (7, Some(4)));
        assert_eq!(add(&mut handshakes, "::ffff:192.0.2.3"), (8, Some(6)));
        assert_eq!(handshakes.displace(), Some(7));
        assert_eq!(add(&mut handshakes, "192.0.2.4"), (9, None));
        handshakes.remove(5);
        assert_eq!(handshakes.drain().collect::<Vec<_>>(), [1, 8, 9]);
        assert_eq!(handshakes.displace(), None);
    }

    /// Peers that share an address get in, however many of them there are.
    #[test]
    fn the_newest_of_one_address_gets_a_place() {
        let mut handshakes = Handshakes::new(2);
        for number in 1..100 {
            assert_eq!(add(&mut handshakes, "127.0.0.1"), (number, (number > 2).then(|| number - 2)));
        }
    }

    #[test]
    fn a_host_has_one_network_of_ipv6() {
        let mut handshakes = Handshakes::new(3);
        add(&mut handshakes, "2001:db8:0:2::1");
        add(&mut handshakes, "2001:db8:0:1::1");
        add(&mut handshakes, "2001:db8:0:1:ffff::1");
        assert_eq!(add(&mut handshakes, "192.0.2.1"), (4, Some(2)));
    }

    #[test]
    fn it_is_known_before_who_would_make_room() {
        let mut handshakes = Handshakes::new(2);
        add(&mut handshakes, "192.0.2.1");
        assert_eq!(handshakes.displaced_by(address("192.0.2.1")), None);
        add(&mut handshakes, "192.0.2.1");
        assert_eq!(handshakes.displaced_by(address("192.0.2.1")), Some((&1, false)));
        assert_eq!(handshakes.displaced_by(address("192.0.2.2")), Some((&1, true)));
        add(&mut handshakes, "192.0.2.2");
        // One each: nobody holds less.
        assert_eq!(handshakes.displaced_by(address("192.0.2.3")), Some((&2, false)));
    }
}
