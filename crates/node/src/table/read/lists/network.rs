//! Networks and ranges of addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses one after the other, or a single one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    /// The next address, as a number.
    next: u128,
    /// Number of addresses from that one on; 2^128 counts as 2^128 - 1.
    left: u128,
    is_v4: bool,
}

impl Network {
    /// Reads an address, a network (`10.0.0.0/24`) or a range (`10.0.0.1-10.0.0.9`).
    pub fn parse(text: &str) -> Option<Network> {
        if let Some((first, last)) = text.split_once('-') {
            return Network::range(first.trim_end().parse().ok()?, last.trim_start().parse().ok()?);
        }
        match text.split_once('/') {
            None => Network::prefix(text.parse().ok()?, None),
            Some((address, length)) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
                Network::prefix(address.parse().ok()?, Some(length.parse().ok()?))
            }
            Some((address, mask)) => Network::masked(address.parse().ok()?, mask.parse().ok()?),
        }
    }

    /// Returns the network of all addresses that begin with the first `length` bits of this one. Without a length it is
    /// the address alone.
    pub fn prefix(address: IpAddr, length: Option<u32>) -> Option<Network> {
        let (number, bits) = numbered(address);
        let host = bits.checked_sub(length.unwrap_or(bits))?;
        let left = 1u128.checked_shl(host).unwrap_or(u128::MAX);
        let common = u128::MAX.checked_shl(host).unwrap_or(0);
        Some(Network { next: number & common, left, is_v4: address.is_ipv4() })
    }

    /// The network of an address under a mask such as 255.255.255.0; none if the mask is none.
    pub fn masked(address: IpAddr, mask: IpAddr) -> Option<Network> {
        let (IpAddr::V4(_), IpAddr::V4(mask)) = (address, mask) else { return None };
        let length = mask.to_bits().leading_ones();
        let is_mask = length > 0 && mask.to_bits().count_ones() == length;
        is_mask.then(|| Network::prefix(address, Some(length))).flatten()
    }

    /// Returns the network of all addresses from `first` to `last`, both included.
    pub fn range(first: IpAddr, last: IpAddr) -> Option<Network> {
        let ((from, _), (to, _)) = (numbered(first), numbered(last));
        let is_v4 = first.is_ipv4();
        (is_v4 == last.is_ipv4() && from <= to).then(|| Network {
            next: from,
            left: (to - from).saturating_add(1),
            is_v4,
        })
    }

    /// Returns the number of addresses.
    pub fn len(&self) -> u128 {
        self.left
    }
}

/// An address as a number, and how many bits it has.
fn numbered(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()), 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    }
}

impl Iterator for Network {
    type Item = IpAddr;

    fn next(&mut self) -> Option<IpAddr> {
        self.left = self.left.checked_sub(1)?;
        let address = if self.is_v4 {
            IpAddr::V4(Ipv4Addr::from(self.next as u32))
        } else {
            IpAddr::V6(Ipv6Addr::from(self.next))
        };
        self.next = self.next.wrapping_add(1);
        Some(address)
    }
}
