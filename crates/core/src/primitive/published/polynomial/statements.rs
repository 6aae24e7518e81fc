//! Statements of Kim & Kim on encrypted polynomials that do not hold.

use chacha20::ChaCha20Rng;
use crypto_bigint::{BoxedUint, Resize};
use rand_core::SeedableRng;

use super::*;
use crate::primitive::group::{ModP, Ristretto255, ScalarField};

/// Table 2, for t = 15.
const P: &str = concat!(
    "176821459277259303421583865232327491029329315986787879588887348471015046336109568378039781839096440152274845",
    "047474468286445305145839919932602232825753095006134906679011561330242249939544160932857164809408073246223",
    "104610036502719936317526629926476710326459202569858995845954642968927072476545462888595589052419"
);
const Q: &str = concat!(
    "8841072963862965171079193261616374551466465799339397944436742355075231680547841890198909195482200761374",
    "723414322265257291995996630111641287654750306745333950578066512112496977208046642858240470225237340366231",
    "11552305018251359968158763314963238355163229601284929497922977321484463536238272731444297794526209"
);
const V: &str = concat!(
    "863386031627242692488202466954724077291647050716737693305114006206128155938035001845897372261213086681029",
    "516833371427179908716532421484045909339969497534209643099018611139307823486032930473304966625045937857647",
    "57375297869386093718905042299768787456214091407504813962815407540512171422107688214301072064967"
);
const G: &str = concat!(
    "112771027101018250729779708193195388338056472597126063321957170418708226388342317384362332080456458862447",
    "580298138650511193305319013082227362074073006041816626042191898512953934217265990541977999942194466866441",
    "610516750820287592776564917612174854259653020871144260785973996582504721408379343188453629073594298"
);

/// Table 2: the number p is a safe prime, but (p - 1) / 2 is v 2^10 + 1 and not v 2^15 + 1; the q printed is another
/// number, two digits short; and g, as every number that figure 1's loop chooses, is no square.
#[test]
fn parameters_that_are_published_are_not_what_they_should_be() {
    let number = |text| BoxedUint::from_str_radix_vartime(text, 10).unwrap().resize(1088);
    let [p, q, v, g] = [P, Q, V, G].map(number);
    let (one, half) = (BoxedUint::one().resize(1088), p.shr(1));
    assert!(half == v.shl(10).wrapping_add(&one) && half != v.shl(15).wrapping_add(&one));
    assert!(half != q && half.to_string_radix_vartime(10).len() == Q.len() + 2);
    let square = g.mul_mod(&g, p.as_nz_vartime().unwrap());
    assert!(ModP::new(&p, &half, &square).is_ok(), "p and (p - 1) / 2 are primes");
    assert!(ModP::new(&p, &half, &g).is_err(), "g is no square");
}

fn random(count: usize) -> Vec<<Ristretto255 as ScalarField>::Scalar> {
    Ristretto255.random_scalars(count, &mut ChaCha20Rng::from_seed([1; 32]))
}

/// Proposition 3: k^log2(3) - 1 is how many polynomials are negated; of their coefficients there are 3 k^log2(3) - 4 k + 1.
#[test]
fn karatsuba_subtracts_more_coefficients_than_is_published() {
    for log2 in 1..=7 {
        let (k, power) = (1u64 << log2, 3u64.pow(log2));
        let counting = CountingModule::new(Scalars(&Ristretto255), 1);
        multiply(&counting, MultiplyStrategy::Karatsuba, &random(k as usize), &random(k as usize));
        let counts = counting.counts();
        assert_eq!((counts.polynomials, counts.products), (power - 1, power), "{k}");
        assert_eq!(counts.differences, 3 * power + 1 - 4 * k, "{k}");
    }
}

/// Proposition 2: algorithm 2 is said to take O(k^1.28) products. With the best size of a group at each k they grow
/// like k^1.7.
#[test]
fn one_level_of_remainders_takes_more_than_is_published() {
    let least = |k: usize| {
        let (polynomial, points) = (random(2 * k), random(k));
        let products = |size: usize| {
            let counting = CountingModule::new(Scalars(&Ristretto255), 1);
            evaluate_in_groups(&counting, MultiplyStrategy::Karatsuba, &polynomial, &points, size);
            counting.counts().products as f64
        };
        (2..).map(|log2| 1 << log2).take_while(|size| *size <= k).map(products).fold(f64::INFINITY, f64::min)
    };
    let exponent = (least(128) / least(32)).log(4.0);
    assert!((1.6..1.8).contains(&exponent), "{exponent}");
    assert!(least(128) > 128f64.powf(1.7));
}
