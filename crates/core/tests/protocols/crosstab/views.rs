//! Views: all that a party receives can be made up from the cells that close and the counts of the others. Bits that
//! hide products are uniform, whatever the table, and shares of closed cells never travel.

use crate::support::views::{Check, byte_counts, uniform};
use crate::support::{payloads, rng, two};
use tacita_core::Channel;
use tacita_core::primitive::ot::{MESSAGES, ideal};
use tacita_core::protocol::crosstab;
use tacita_core::protocol::dot::SHARES;
use tacita_core::protocol::shares::{ANSWERS, HIDDEN_BITS};

use super::{Table, plain};

/// Messages that travelled: tables and hidden bits of both, the closing bits of both, and shares of opened counts.
struct View {
    hidden: [Vec<u8>; 2],
    tables: Vec<u8>,
    closing: [Vec<u8>; 2],
    shares: [Vec<u8>; 2],
}

fn view(table: &Table, opens: fn(&[bool]) -> Vec<bool>) -> View {
    let role = |party: usize, channel: &mut Channel| {
        let (shares, rng) = (&table.shares(1)[party], &mut rng(3 + party as u8));
        let (mut sender, mut receiver) = ideal::pair([5; 32]);
        let closed = match party {
            0 => crosstab::first_over(shares, &table.params, &mut sender, channel, rng),
            _ => crosstab::second_over(shares, &table.params, &mut receiver, channel, rng),
        }?;
        crosstab::open(shares, &opens(&closed), true, true, channel).map(|_| closed)
    };
    let ([one, other], _) = two::record(&|channel| role(0, channel), &|channel| role(1, channel));
    let of_both = |label: u8| [payloads(&one, label), payloads(&other, label)];
    View {
        hidden: of_both(HIDDEN_BITS.code),
        tables: payloads(&one, MESSAGES.code),
        closing: of_both(ANSWERS.code),
        shares: of_both(SHARES.code),
    }
}

impl View {
    fn check(&self, table: &Table) -> Check {
        let both: Vec<u8> = self.hidden[0].iter().zip(&self.hidden[1]).map(|(one, other)| one ^ other).collect();
        for (what, bytes) in [
            ("hidden bits", &self.hidden[0]),
            ("hidden bits", &self.hidden[1]),
            ("opened bits", &both),
            ("tables", &self.tables),
        ] {
            uniform(what, &byte_counts(bytes.iter().copied()))?;
        }
        let closed = plain::closed(table, None);
        let bit = |cell: usize| (self.closing[0][cell / 8] ^ self.closing[1][cell / 8]) >> (cell % 8) & 1 == 1;
        if self.closing[0].len() != closed.len().div_ceil(8) || (0..closed.len()).any(|cell| bit(cell) != closed[cell])
        {
            return Err("more is opened than which cells close".into());
        }
        let open = closed.iter().filter(|closed| !**closed).count();
        let bytes = (open * table.params.modulus().unwrap().bits() as usize).div_ceil(8);
        if self.shares.iter().all(|shares| shares.len() == bytes) {
            Ok(())
        } else {
            Err("shares of closed cells travel".into())
        }
    }
}

/// A table in which every line has cells that are small, closed besides, and open.
fn table(small: u64) -> Table {
    let counts = (0..400u64).map(|cell| if cell % 23 == 0 { small } else { 40 + cell % 7 });
    Table::new(counts.collect(), [20, 20], 5)
}

#[test]
fn views_are_made_up_from_what_is_learned() {
    for small in [0, 1, 4] {
        view(&table(small), <[bool]>::to_vec).check(&table(small)).unwrap();
    }
}

/// A party that sends its shares of all cells, and transfers that stand open, are noticed.
#[test]
fn leaky_variants_fail() {
    let leaky = view(&table(3), |closed| vec![false; closed.len()]);
    assert!(leaky.check(&table(3)).unwrap_err().contains("closed cells travel"));
    let mut open = view(&table(3), <[bool]>::to_vec);
    open.hidden[1].fill(0);
    assert!(open.check(&table(3)).unwrap_err().contains("hidden bits"));
    let mut told = view(&table(3), <[bool]>::to_vec);
    told.closing[0][7] ^= 4;
    assert!(told.check(&table(3)).unwrap_err().contains("which cells close"));
}
