//! Choice of the way to make the products of a level: the first party decides and tells the second.

use crate::channel::Channel;
use crate::channel::labels::rules::WAY;
use crate::error::Result;

/// Way in which products are made: the protocol, and whether products of one column here and many there are apart from
/// others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// Under encryption ([`crate::protocol::dot::lattice`]), or by oblivious transfer ([`crate::protocol::dot::ot`]).
    pub encrypted: bool,
    /// Whether the products are made in two parts.
    pub split: bool,
}

impl Way {
    /// Tells the second party.
    pub fn send(self, channel: &mut Channel) -> Result<()> {
        channel.send(WAY, vec![self.code()])
    }

    /// Receives the way that the first party tells.
    ///
    /// Errors: the channel's; a way that is none, or not `possible`.
    pub fn receive(possible: impl FnOnce(&Way) -> bool, channel: &mut Channel) -> Result<Way> {
        let code = channel.receive(WAY, 1)?;
        Way::of_code(code[0]).filter(possible).ok_or_else(|| channel.violation("`way` is none that was agreed on"))
    }

    /// Bit 0 is set for encryption, bit 1 for parts.
    fn code(self) -> u8 {
        u8::from(self.encrypted) | u8::from(self.split) << 1
    }

    fn of_code(code: u8) -> Option<Way> {
        (code < 4).then_some(Way { encrypted: code & 1 == 1, split: code & 2 == 2 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_written_and_read() {
        for encrypted in [false, true] {
            for split in [false, true] {
                let way = Way { encrypted, split };
                assert_eq!(Way::of_code(way.code()), Some(way));
            }
        }
        assert!((4..=255).all(|code| Way::of_code(code).is_none()));
    }
}
