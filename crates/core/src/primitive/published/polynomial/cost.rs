//! Choice of the strategy that takes the least work. Work is counted in products of an element and a scalar, with
//! [`Module::IN_SUM`] and [`Module::SUM`] as measured.

use super::evaluate::GROUP;
use super::fft;
use super::module::Module;
use super::multiply::MultiplyStrategy;

impl MultiplyStrategy {
    /// The strategy that multiplies polynomials of so many coefficients with the least work, of those that the field
    /// has.
    pub fn fastest<M: Module>(module: &M, first: usize, second: usize) -> MultiplyStrategy {
        let can = |strategy: &MultiplyStrategy| strategy.can(module.field(), (first + second).saturating_sub(1));
        let work = |strategy: MultiplyStrategy| (strategy, strategy.work::<M>(module.school(), first, second));
        let all = MultiplyStrategy::ALL.into_iter().filter(can).map(work);
        all.min_by(|(_, one), (_, other)| one.total_cmp(other))
            .map_or(MultiplyStrategy::Schoolbook, |(strategy, _)| strategy)
    }

    /// The work of multiplying polynomials of so many coefficients, down to `school` of them ([`Module::school`]).
    pub(crate) fn work<M: Module>(self, school: usize, first: usize, second: usize) -> f64 {
        match self {
            MultiplyStrategy::Schoolbook => first as f64 * second as f64 * M::IN_SUM,
            MultiplyStrategy::Karatsuba => squares::<M>(first, second, |count| karatsuba::<M>(school, count)),
            MultiplyStrategy::Toom3 => squares::<M>(first, second, |count| toom3::<M>(school, count)),
            MultiplyStrategy::Fft => transforms::<M>(first + second),
        }
    }

    /// The work of evaluating a polynomial of so many coefficients at so many points: a middle product takes what a
    /// product does.
    pub(crate) fn work_of_evaluation<M: Module>(self, school: usize, coefficients: usize, points: usize) -> f64 {
        let most = coefficients.max(GROUP);
        if points > most {
            return points as f64 / most as f64 * self.work_of_evaluation::<M>(school, coefficients, most);
        }
        if points <= GROUP {
            coefficients as f64 * points as f64 * M::IN_SUM
        } else {
            self.work::<M>(school, coefficients, points) + self.work_of_descent::<M>(school, points)
        }
    }

    fn work_of_descent<M: Module>(self, school: usize, points: usize) -> f64 {
        let half = points.div_ceil(2);
        if points <= GROUP {
            (points * points) as f64 * M::IN_SUM
        } else {
            2.0 * (self.work::<M>(school, half, half) + self.work_of_descent::<M>(school, half))
        }
    }
}

/// The longer polynomial is cut into pieces as long as the shorter one.
fn squares<M: Module>(first: usize, second: usize, square: impl Fn(usize) -> f64) -> f64 {
    let (short, long) = (first.min(second), first.max(second));
    long.div_ceil(short.max(1)) as f64 * (square(short) + short as f64 * M::SUM)
}

fn karatsuba<M: Module>(school: usize, count: usize) -> f64 {
    if count <= school {
        (count * count) as f64 * M::IN_SUM
    } else {
        3.0 * karatsuba::<M>(school, count.div_ceil(2)) + 4.0 * count as f64 * M::SUM
    }
}

fn toom3<M: Module>(school: usize, count: usize) -> f64 {
    if count <= 2 * school {
        karatsuba::<M>(school, count)
    } else {
        5.0 * toom3::<M>(school, count.div_ceil(3)) + 20.0 * count as f64 * M::SUM
    }
}

/// Two transforms of the elements, with a product for each factor that is not 1, and the products between them.
fn transforms<M: Module>(coefficients: usize) -> f64 {
    let product = coefficients.saturating_sub(1);
    let Some(log2) = fft::size(product - usize::from(fft::takes_less(product))) else { return f64::INFINITY };
    let (count, levels) = ((1u64 << log2) as f64, f64::from(log2));
    let transform = count / 2.0 * levels - (count - 1.0) + count * levels * M::SUM;
    2.0 * transform + count + M::OWN_TRANSFORM * transform
}
