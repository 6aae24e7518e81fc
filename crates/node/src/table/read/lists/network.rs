//! Networks of addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses that begin with the same bits, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Network {
    /// The next address, as a number.
    next: u128,
    /// How many there are from that on; 2^128 is as many as 2^128 - 1.
    left: u128,
    is_v4: bool,
}

impl Network {
    /// An address, or one with the length of what is common behind a slash.
    pub fn parse(text: &str) -> Option<Network> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let (number, bits, is_v4) = match address {
            IpAddr::V4(v4) => (u128::from(u32::from(v4)), 32, true),
            IpAddr::V6(v6) => (u128::from(v6), 128, false),
        };
        let length = match length {
            Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok()?,
            Some(_) => return None,
            None => bits,
        };
        let host: u32 = u32::checked_sub(bits, length)?;
        let left = 1u128.checked_shl(host).unwrap_or(u128::MAX);
        // All addresses of the network, whichever of them is written.
        let common = u128::MAX.checked_shl(host).unwrap_or(0);
        Some(Network { next: number & common, left, is_v4 })
    }

    /// How many addresses there are.
    pub fn len(&self) -> u128 {
        self.left
    }
}

impl Iterator for Network {
    type Item = IpAddr;

    fn next(&mut self) -> Option<IpAddr> {
        self.left = self.left.checked_sub(1)?;
        let address = match self.is_v4 {
            true => IpAddr::V4(Ipv4Addr::from(self.next as u32)),
            false => IpAddr::V6(Ipv6Addr::from(self.next)),
        };
        self.next = self.next.wrapping_add(1);
        Some(address)
    }
}
