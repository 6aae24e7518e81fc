//! Choice of the group.

use super::Strategy;
use crate::primitive::group::Group;
use crate::primitive::published::polynomial;
use crate::security::Level;

/// A group of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Curve {
    /// Elements of the group ristretto255.
    Ristretto255,
    /// Pallas, whose scalars have roots of unity of orders up to 2^32.
    Pallas,
    /// Points of the curve P-384.
    P384,
    /// Points of the curve P-521.
    P521,
}

/// Runs `$work` with the `$group` of a curve.
macro_rules! with {
    ($curve:expr, |$group:ident| $work:expr) => {
        match $curve {
            $crate::protocol::published::intersect::polynomial::Curve::Ristretto255 => {
                let $group = &$crate::primitive::group::Ristretto255;
                $work
            }
            $crate::protocol::published::intersect::polynomial::Curve::Pallas => {
                let $group = &$crate::primitive::published::Pallas;
                $work
            }
            $crate::protocol::published::intersect::polynomial::Curve::P384 => {
                let $group = &$crate::primitive::group::P384::new();
                $work
            }
            $crate::protocol::published::intersect::polynomial::Curve::P521 => {
                let $group = &$crate::primitive::group::P521::new();
                $work
            }
        }
    };
}
pub(in crate::protocol) use with;

impl Curve {
    /// The group of a level for a strategy; none if there is none.
    pub fn of(level: Level, strategy: Strategy) -> Option<Curve> {
        match (level, strategy) {
            (Level::Bits128, Strategy::Fft) => Some(Curve::Pallas),
            (Level::Bits128, _) => Some(Curve::Ristretto255),
            (_, Strategy::Fft) => None,
            (Level::Bits192, _) => Some(Curve::P384),
            (Level::Bits256, _) => Some(Curve::P521),
            _ => None,
        }
    }

    /// Returns the name of the group.
    pub fn name(self) -> &'static str {
        match self {
            Curve::Ristretto255 => "ristretto255",
            Curve::Pallas => "Pallas",
            Curve::P384 => "P-384",
            Curve::P521 => "P-521",
        }
    }

    /// Length of an encoded point.
    pub(crate) fn point_bytes(self) -> usize {
        with!(self, |group| group.point_bytes())
    }

    /// Bytes that a point takes in memory.
    pub(super) fn point_memory(self) -> usize {
        fn of<G: Group>(_: &G) -> usize {
            size_of::<G::Point>()
        }
        with!(self, |group| of(group))
    }

    /// Whether there are roots of unity to multiply polynomials whose product has so many coefficients.
    pub(super) fn has_roots_for(self, coefficients: usize) -> bool {
        with!(self, |group| polynomial::MultiplyStrategy::Fft.can(group, coefficients))
    }
}
