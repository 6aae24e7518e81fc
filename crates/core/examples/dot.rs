//! Sum of a shop's prices times its partner's quantities. Both hold shares of the sum before the shop, and
//! only the shop, learns it.
//!
//! `cargo run --release -p tacita-core --example dot`

use tacita_core::Result;
use tacita_core::prelude::*;
use tacita_core::protocol::dot::{Columns, Integers, Modulus, Shape, lattice, reveal};

const PRICES: [i64; 4] = [250, 1999, -120, 75];
const QUANTITIES: [i64; 4] = [3, 0, 2, 10];

/// A party's part: its column, times the other's. Returns the sum if the party learns it.
fn multiply(side: Side, numbers: &[i64], channel: &mut Channel) -> Result<Option<i128>> {
    let mut rng = fresh_rng()?;
    let (session, theirs) = agree(b"prices and quantities, lattice", numbers.len(), 1 << 20, channel, &mut rng)?;
    if theirs != numbers.len() {
        return Err(channel.conclude_for(Error::Terms(format!("{} rows here, {theirs} there", numbers.len()))));
    }
    let shape = Shape { rows: numbers.len(), first: 1, second: 1, integers: Integers::new(16, true)? };
    let params = lattice::Params::new(shape, "2^64".parse::<Modulus>()?, None)?;
    let mut columns = Columns::new(shape.integers, shape.rows);
    columns.push(numbers.iter().copied())?;
    let shares = lattice::run(side, &columns, &params, &session, channel, &mut rng)?;
    let opened = reveal(&shares, side == Side::First, side == Side::Second, channel)?;
    // Modulo 2^64, of which the upper half are negative.
    Ok(opened.map(|sums| i128::from(sums[0] as u64 as i64)))
}

/// Runs the shop and its partner, and prints the sum.
pub fn main() -> Result<()> {
    let (mut to_partner, mut to_shop) = Channel::pair("shop", "partner");
    let (sum, nothing) = std::thread::scope(|scope| {
        let partner = scope.spawn(|| {
            let outcome = multiply(Side::Second, &QUANTITIES, &mut to_shop);
            to_shop.end(outcome)
        });
        let outcome = multiply(Side::First, &PRICES, &mut to_partner);
        (to_partner.end(outcome), partner.join().expect("a thread that does not panic"))
    });
    let ((sum, traffic), (nothing, _)) = (sum?, nothing?);
    let expected: i64 = PRICES.iter().zip(QUANTITIES).map(|(price, quantity)| price * quantity).sum();
    assert_eq!((sum, nothing), (Some(expected.into()), None));
    println!("sum: {}, {} bytes sent", sum.unwrap_or_default(), traffic.sent);
    Ok(())
}
