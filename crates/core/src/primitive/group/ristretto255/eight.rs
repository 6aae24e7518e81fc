//! Points eight at a time, by the kernel.

use std::sync::OnceLock;

use curve25519_dalek::constants::RISTRETTO_BASEPOINT_COMPRESSED;
use curve25519_dalek::scalar::Scalar;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::edwards::{self, Extended, Table};
use super::{Batch, COMBINED, ENCODED_BYTES, Form, Multiples, Point, Sign};
use crate::primitive::kernel::backend::{self, Backend};

/// Bits of a scalar.
const SCALAR_BITS: u32 = 253;

/// Bits of the scalars that are called short.
const SHORT_BITS: u32 = 128;

/// Points in the form of eight-lane vectors.
pub(super) struct Eight;

fn kernel() -> Backend {
    backend::chosen()
}

/// The points, as the kernel has them.
fn own(points: &[Point]) -> Zeroizing<Vec<Extended>> {
    let own = |point: &Point| match &point.0 {
        Form::Eight(point) => *point,
        Form::Library(_) => unreachable!("all points of a process have one form"),
    };
    Zeroizing::new(points.iter().map(own).collect())
}

/// Room for what the kernel computes.
fn room(count: usize) -> Zeroizing<Vec<Extended>> {
    Zeroizing::new(vec![Extended::IDENTITY; count])
}

/// Puts points where they belong.
fn put(out: &mut [Point], points: &[Extended]) {
    out.iter_mut().zip(points).for_each(|(out, point)| out.0 = Form::Eight(*point));
}

fn bytes(scalars: &[Scalar]) -> Zeroizing<Vec<[u8; edwards::SCALAR_BYTES]>> {
    Zeroizing::new(scalars.iter().map(Scalar::to_bytes).collect())
}

impl Batch for Eight {
    fn identity(&self) -> Point {
        Point(Form::Eight(Extended::IDENTITY))
    }

    fn map(&self, uniform: &[[u8; 64]], out: &mut [Point]) {
        let mut points = room(uniform.len());
        edwards::map(kernel(), uniform, &mut points);
        put(out, &points);
    }

    fn add(&self, sign: Sign, points: &[Point], others: &[Point], out: &mut [Point]) {
        let mut sums = room(points.len());
        edwards::add(kernel(), sign, &own(points), &own(others), &mut sums);
        put(out, &sums);
    }

    fn any_identity(&self, points: &[Point]) -> bool {
        edwards::any_identity(kernel(), &own(points))
    }

    fn multiply(&self, points: &[Point], scalars: &[Scalar], out: &mut [Point]) {
        let mut products = room(points.len());
        edwards::multiply(kernel(), &own(points), &bytes(scalars), &mut products);
        put(out, &products);
    }

    fn multiply_generator(&self, scalars: &[Scalar], out: &mut [Point]) {
        static GENERATOR: OnceLock<Table> = OnceLock::new();
        let table = GENERATOR.get_or_init(|| {
            let mut generator = [Extended::IDENTITY];
            edwards::decode(kernel(), &[RISTRETTO_BASEPOINT_COMPRESSED.to_bytes()], &mut generator)
                .expect("the generator is a point");
            Table::new(kernel(), &generator[0])
        });
        let mut products = room(scalars.len());
        table.multiply(&bytes(scalars), &mut products);
        put(out, &products);
    }

    fn multiples(&self, point: &Point) -> Multiples {
        Multiples::Eight(Table::new(kernel(), &own(std::slice::from_ref(point))[0]))
    }

    fn worth_multiples(&self) -> usize {
        40
    }

    fn multiply_multiples(&self, multiples: &Multiples, scalars: &[Scalar], out: &mut [Point]) {
        let Multiples::Eight(table) = multiples else { unreachable!("all points of a process have one form") };
        let mut products = room(scalars.len());
        table.multiply(&bytes(scalars), &mut products);
        put(out, &products);
    }

    fn combine(&self, points: &[Point], scalars: &[Scalar]) -> Point {
        Point(Form::Eight(edwards::combine(kernel(), &own(points), &bytes(scalars), SCALAR_BITS)))
    }

    /// A sum of few products leaves most of the eight places empty: with sums of 16, 32, 64 and 128 a polynomial of as
    /// many coefficients took
    /// 1.75, 4.75, 14.3 and 47.2 ms, down to 8 coefficients by Karatsuba's way 2.3, 6.8, 20.4 and 61.1 (AVX-512 IFMA).
    fn full_sum(&self) -> usize {
        32
    }

    /// Short scalars, such as the weights of proofs that are checked together, take half the time.
    fn combine_public(&self, points: &[Point], scalars: &[Scalar]) -> Point {
        let (points, scalars) = (own(points), bytes(scalars));
        let mut sums = [Extended::IDENTITY; 2];
        for (sum, (bits, short)) in sums.iter_mut().zip([(SHORT_BITS, true), (SCALAR_BITS, false)]) {
            let of_kind = |scalar: &[u8; 32]| scalar[SHORT_BITS as usize / 8..].iter().all(|&byte| byte == 0) == short;
            let kind = points.iter().zip(scalars.iter()).filter(|(_, scalar)| of_kind(scalar));
            let (points, scalars): (Vec<_>, Vec<_>) = kind.unzip();
            *sum = edwards::combine_public(kernel(), &points, &scalars, bits);
        }
        let [short, long] = sums.map(|sum| Point(Form::Eight(sum)));
        short.combined(Sign::Plus, &long)
    }

    /// Number of points that the sum takes at once. Here, too, they fall into buckets (Pippenger).
    fn combined_public(&self) -> usize {
        32 * COMBINED
    }

    fn encode(&self, points: &[Point], out: &mut [u8]) {
        edwards::encode(kernel(), &own(points), out.as_chunks_mut::<ENCODED_BYTES>().0);
    }

    fn double_encode(&self, points: &[Point], out: &mut [u8]) {
        edwards::double_encode(kernel(), &own(points), out.as_chunks_mut::<ENCODED_BYTES>().0);
    }

    fn decode(&self, bytes: &[[u8; ENCODED_BYTES]], out: &mut [Point]) -> Result<(), usize> {
        let mut points = room(bytes.len());
        edwards::decode(kernel(), bytes, &mut points)?;
        put(out, &points);
        Ok(())
    }

    /// The string is put over the middle of its hash, of which bits are cleared so that it is a residue that is not
    /// negative.
    fn embed(&self, strings: &[[u8; 16]], out: &mut [Point]) {
        let residue = |string: &[u8; 16]| {
            let mut residue: [u8; 32] = Sha256::digest(string).into();
            residue[8..24].copy_from_slice(string);
            residue[0] &= 0b1111_1110;
            residue[31] &= 0b0011_1111;
            residue
        };
        let residues: Zeroizing<Vec<_>> = Zeroizing::new(strings.iter().map(residue).collect());
        let mut points = room(strings.len());
        edwards::map_residues(kernel(), &residues, &mut points);
        put(out, &points);
    }
}
