//! Paillier's cryptosystem, and Goldwasser and Micali's: with secret plaintexts, secret randomness and secret keys.

use std::convert::Infallible;
use std::rc::Rc;

use chacha20::ChaCha20Rng;
use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd};
use rand_core::{Rng, SeedableRng, TryCryptoRng, TryRng};
use tacita_core::primitive::kernel::jacobi::Jacobi;
use tacita_core::primitive::kernel::montgomery::{LANES, Lanes, Montgomery};
use tacita_core::primitive::kernel::pairs::SquareArithmetic;
use tacita_core::primitive::kernel::power::power;
use tacita_core::primitive::ot::Choices;
use tacita_core::primitive::paillier::{CiphertextProducts, KeySize, PaillierPublicKey, PaillierSecretKey, Plaintexts};
use tacita_core::primitive::published::goldwasser_micali as gm;

use super::measure::{Make, Operation, Trial, trial};

/// Numbers at a time: the kernels' lanes; and as many as public encryption makes tables for.
const FEW: usize = 8;
const MANY: usize = 32;

/// The operations with keys of this size.
pub fn all(size: KeySize) -> Vec<Operation> {
    let key = Rc::new(PaillierSecretKey::generate(size, &mut ChaCha20Rng::from_seed([7; 32])));
    let power = || square_and_multiply(size);
    let mut all = vec![
        Operation::new("Paillier: decryption, ciphertext", "of 0", decrypted(&key), branching(&key)),
        Operation::new("Paillier: power of a prime key", "all ones", by_prime(size, powers), power()),
        Operation::new("Paillier: owner's encryption, randomness", "zeros", randomness(&key, true), power()),
        Operation::new("Paillier: encryption, randomness", "zeros", randomness(&key, false), power()),
        Operation::new("Paillier: encryption, plaintext", "zeros", encrypted(&key), branching(&key)),
        Operation::new("Paillier: product with plaintexts", "ones", multiplied(&key), power()),
        Operation::new("Paillier: chosen products", "none chosen", chosen(&key), multiplying_chosen(&key)),
    ];
    all.extend(of_bits(size));
    all
}

fn random_bits(count: usize, rng: &mut ChaCha20Rng) -> Vec<bool> {
    (0..count).map(|_| rng.next_u32() & 1 == 1).collect()
}

/// Decrypts ciphertexts of 0, always the same, or of random plaintexts: some of many.
fn decrypted(key: &Rc<PaillierSecretKey>) -> Make {
    let key = key.clone();
    Box::new(move |rng| {
        let key = key.clone();
        let fixed = key.encrypt(&key.public().encode(&[0; FEW]), rng);
        let many = key.encrypt(&key.public().random(FEW * MANY, rng), rng);
        let random = move |rng: &mut ChaCha20Rng| many.select((0..FEW).map(|_| rng.next_u32() as usize % (FEW * MANY)));
        trial(fixed, random, move |ciphertexts| key.decrypt(ciphertexts))
    })
}

/// The control of plaintexts: an integer is decoded as if it were a bit, of which one more encryption hangs.
fn branching(key: &Rc<PaillierSecretKey>) -> Make {
    let key = key.clone();
    Box::new(move |_| {
        let key = key.clone();
        let random = |rng: &mut ChaCha20Rng| i128::from(rng.next_u64());
        trial(0, random, move |integer| {
            let encoded = key.public().encode(&[*integer; FEW]);
            let once = key.public().add_plain(&key.encrypt(&encoded, &mut Tape::default()), &encoded);
            if *integer & 1 == 1 { key.public().add_plain(&once, &encoded) } else { once }
        })
    })
}

/// Creates trials of computations of a key's owner modulo one of its primes, which is all ones or random. Whether it is
/// a prime matters to nothing here.
fn by_prime<R: 'static>(size: KeySize, work: fn(&Odd<BoxedUint>) -> R) -> Make {
    Box::new(move |_| {
        let words = size.bits() / 128;
        let prime = |words: Vec<u64>| BoxedUint::from_words(words).into_odd().expect("its lowest bit is set");
        let random = move |rng: &mut ChaCha20Rng| {
            let mut random: Vec<u64> = (0..words).map(|_| rng.next_u64()).collect();
            (random[0], random[words - 1]) = (random[0] | 3, random[words - 1] | 3 << 62);
            prime(random)
        };
        trial(prime(vec![u64::MAX; words]), random, move |prime| work(prime))
    })
}

/// Powers modulo the square of a prime, as Paillier's decryption takes them: the prime is the exponent, too.
fn powers(prime: &Odd<BoxedUint>) -> Lanes {
    let ring = SquareArithmetic::new(prime);
    let exponents = [prime.as_words(); LANES];
    power(&ring, &ring.enter([&vec![3; ring.words()][..]; LANES]), &exponents, prime.bits_precision() as usize)
}

/// Symbols modulo a prime, as Goldwasser and Micali's decryption takes them.
fn symbols(prime: &Odd<BoxedUint>) -> Vec<i8> {
    let field = Montgomery::new(prime);
    Jacobi::new(prime).symbols(&[field.radix(), field.one()]).to_vec()
}

/// Encrypts with randomness that is zero, or random.
fn randomness(key: &Rc<PaillierSecretKey>, by_owner: bool) -> Make {
    let key = key.clone();
    Box::new(move |rng| {
        let key = key.clone();
        let plaintexts = key.public().random(MANY, rng);
        let bytes = MANY * key.public().size().modulus_bytes() / 2;
        let random = move |rng: &mut ChaCha20Rng| {
            let mut tape = vec![0; bytes];
            rng.fill_bytes(&mut tape);
            Tape(tape, 0)
        };
        trial(Tape(vec![0; bytes], 0), random, move |tape| {
            if by_owner { key.encrypt(&plaintexts, tape) } else { key.public().encrypt(&plaintexts, tape) }
        })
    })
}

/// Encrypts zeros or random plaintexts, with the same randomness.
fn encrypted(key: &Rc<PaillierSecretKey>) -> Make {
    by_plaintexts(key, MANY, 0, |public, _, plaintexts| public.encrypt(plaintexts, &mut Tape::default()))
}

/// Multiplies ciphertexts with ones or random plaintexts.
fn multiplied(key: &Rc<PaillierSecretKey>) -> Make {
    by_plaintexts(key, FEW, 1, |public, ciphertexts, plaintexts| public.multiply(ciphertexts, plaintexts))
}

type Ciphertexts = tacita_core::primitive::paillier::PaillierCiphertexts;

fn by_plaintexts(
    key: &Rc<PaillierSecretKey>,
    count: usize,
    integer: i128,
    work: fn(&PaillierPublicKey, &Ciphertexts, &Plaintexts) -> Ciphertexts,
) -> Make {
    let key = key.clone();
    Box::new(move |rng| {
        let (key, of_random) = (key.clone(), key.clone());
        let ciphertexts = key.encrypt(&key.public().random(count, rng), rng);
        let fixed = key.public().encode(&vec![integer; count]);
        let random = move |rng: &mut ChaCha20Rng| of_random.public().random(count, rng);
        trial(fixed, random, move |plaintexts| work(key.public(), &ciphertexts, plaintexts))
    })
}

/// The control of powers: squares, and products where a bit of the exponent is not zero.
fn square_and_multiply(size: KeySize) -> Make {
    Box::new(move |rng| {
        let words = size.bits() / 128;
        let random = move |rng: &mut ChaCha20Rng| (0..words).map(|_| rng.next_u64()).collect::<Vec<_>>();
        let modulus = BoxedUint::from_words(random(rng).into_iter().map(|word| word | 1));
        let modulus: Odd<BoxedUint> = modulus.into_odd().expect("its lowest bit is set");
        let params = BoxedMontyParams::new_vartime(modulus);
        let base = BoxedMontyForm::new(BoxedUint::max(64 * words as u32).shr(1), &params);
        trial(vec![0; words], random, move |exponent| {
            let bits = exponent.iter().flat_map(|word| (0..64).map(move |bit| word >> bit & 1));
            bits.fold(BoxedMontyForm::one(&params), |power, bit| {
                let square = power.square();
                if bit == 1 { square.mul(&base) } else { square }
            })
        })
    })
}

/// The control of symbols: Euclid's algorithm, which takes as many steps as it has to.
fn euclid(size: KeySize) -> Make {
    by_prime(size, |prime| {
        let mut pair = [BoxedUint::from_words(vec![3; prime.as_words().len()]), prime.as_ref().clone()];
        while let Some(divisor) = pair[0].clone().to_nz().into_option() {
            let rest = pair[1].rem_vartime(&divisor);
            pair = [rest, divisor.get()];
        }
        pair
    })
}

/// Multiplies those of some ciphertexts that secret bits choose.
fn chosen(key: &Rc<PaillierSecretKey>) -> Make {
    by_choices(key, |public, ciphertexts, choices| {
        let mut products = CiphertextProducts::new(public, 1);
        products.multiply(ciphertexts, std::slice::from_ref(choices));
        products.finish()
    })
}

/// The control of chosen products.
fn multiplying_chosen(key: &Rc<PaillierSecretKey>) -> Make {
    by_choices(key, |public, ciphertexts, choices| {
        let chosen = (0..MANY).filter(|number| choices.get(*number));
        chosen.fold(ciphertexts.select([0]), |product, number| public.add(&product, &ciphertexts.select([number])))
    })
}

fn by_choices(
    key: &Rc<PaillierSecretKey>,
    work: fn(&PaillierPublicKey, &Ciphertexts, &Choices) -> Ciphertexts,
) -> Make {
    let key = key.clone();
    Box::new(move |rng| {
        let key = key.clone();
        let ciphertexts = key.encrypt(&key.public().random(MANY, rng), rng);
        trial(
            Choices::zeros(MANY),
            |rng| Choices::random(MANY, rng),
            move |choices| work(key.public(), &ciphertexts, choices),
        )
    })
}

/// Returns the operations of Goldwasser and Micali's cryptosystem.
fn of_bits(size: KeySize) -> Vec<Operation> {
    let key = Rc::new(gm::GmSecretKey::generate(size, &mut ChaCha20Rng::from_seed([8; 32])));
    let of_bits = |make: fn(Rc<gm::GmSecretKey>, &mut ChaCha20Rng) -> Trial| -> Make {
        let key = key.clone();
        Box::new(move |rng| make(key.clone(), rng))
    };
    let decrypted = of_bits(|key, _| by_ciphertexts(key, |key, ciphertexts| key.decrypt(ciphertexts).to_vec()));
    // The symbol modulo the second prime, where that modulo the first says that the bit is one.
    let checking_ones = || {
        of_bits(|key, _| {
            by_ciphertexts(key, |key, ciphertexts| {
                let mut bits = key.decrypt(ciphertexts).to_vec();
                let each = ciphertexts.as_bytes().chunks(key.public().size().modulus_bytes());
                for (bit, ciphertext) in bits.iter_mut().zip(each).filter(|(bit, _)| **bit) {
                    *bit = key.public().read(ciphertext).is_ok();
                }
                bits
            })
        })
    };
    // The same random numbers each time, so that as many are passed over.
    let encrypted = of_bits(|key, _| {
        let numbers = || ChaCha20Rng::from_seed([3; 32]);
        trial(vec![false; FEW], |rng| random_bits(FEW, rng), move |bits| key.public().encrypt(bits, &mut numbers()))
    });
    vec![
        Operation::new("Goldwasser-Micali: decryption, bits", "zeros", decrypted, checking_ones()),
        Operation::new("Goldwasser-Micali: symbols of a prime key", "all ones", by_prime(size, symbols), euclid(size)),
        Operation::new("Goldwasser-Micali: encryption, bits", "zeros", encrypted, checking_ones()),
    ]
}

fn by_ciphertexts<R: 'static>(key: Rc<gm::GmSecretKey>, work: fn(&gm::GmSecretKey, &gm::GmCiphertexts) -> R) -> Trial {
    let of_random = key.clone();
    let encrypt = |key: &gm::GmSecretKey, bits: &[bool], rng: &mut ChaCha20Rng| key.public().encrypt(bits, rng);
    let fixed = encrypt(&key, &[false; FEW], &mut ChaCha20Rng::from_seed([4; 32]));
    let random = move |rng: &mut ChaCha20Rng| encrypt(&of_random, &random_bits(FEW, rng), rng);
    trial(fixed, random, move |ciphertexts| work(&key, ciphertexts))
}

/// Random numbers that have been drawn before; zeros beyond their end.
#[derive(Clone, Default)]
struct Tape(Vec<u8>, usize);

impl TryRng for Tape {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|word| word as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        let rest = self.0.get(self.1..).unwrap_or_default();
        let count = rest.len().min(bytes.len());
        bytes[..count].copy_from_slice(&rest[..count]);
        bytes[count..].fill(0);
        self.1 += bytes.len();
        Ok(())
    }
}

impl TryCryptoRng for Tape {}
