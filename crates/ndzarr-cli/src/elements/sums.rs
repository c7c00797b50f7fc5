//! Sums over elements: least, greatest, mean, deviation, and the numbers of zeros and NaNs.

use half::{bf16, f16};
use ndzarr::Number;

/// The statistics of some elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums<T> {
    /// Elements that are numbers.
    pub(crate) n: u64,
    pub(crate) n_nan: u64,
    pub(crate) n_zero: u64,
    /// The least and the greatest.
    pub(crate) range: Option<(T, T)>,
    pub(crate) mean: f64,
    /// The sum of the squared distances from the mean.
    squares: f64,
}

impl<T> Default for Sums<T> {
    fn default() -> Self {
        Self {
            n: 0,
            n_nan: 0,
            n_zero: 0,
            range: None,
            mean: 0.0,
            squares: 0.0,
        }
    }
}

/// The number of elements that are summed together: they stay in the cache for several loops, sums
/// of integers of 16 bits do not overflow 32 bits, and their number does not overflow 16 bits.
const PART: usize = 4096;

/// The number of parallel sums, so that the processor adds several elements with one instruction.
const LANES: usize = 8;

/// Folds elements in lanes, since the compiler does not change the order of sums of floats. Several
/// loops with one kind of result each are compiled to vector instructions; one loop for all is not.
fn lanes<T: Copy, A: Copy>(part: &[T], first: A, fold: impl Fn(A, T) -> A) -> [A; LANES] {
    let (whole, rest) = part.as_chunks::<LANES>();
    let mut all = [first; LANES];
    for chunk in whole {
        for (lane, &element) in all.iter_mut().zip(chunk) {
            *lane = fold(*lane, element);
        }
    }
    for (lane, &element) in all.iter_mut().zip(rest) {
        *lane = fold(*lane, element);
    }
    all
}

impl<T: Summed> Sums<T> {
    /// Adds elements.
    pub(crate) fn add(&mut self, elements: &[T]) {
        for part in elements.chunks(PART) {
            *self = self.and(&T::sums(part));
        }
    }

    /// The statistics of `n` equal elements.
    pub(crate) fn of_same(element: T, n: u64) -> Self {
        let one = T::sums(&[element]);
        Self {
            n: one.n * n,
            n_nan: one.n_nan * n,
            n_zero: one.n_zero * n,
            ..one
        }
    }

    /// The statistics of both together, after Chan, Golub and LeVeque.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let n = self.n + other.n;
        let n_nan = self.n_nan + other.n_nan;
        let n_zero = self.n_zero + other.n_zero;
        let range = match (self.range, other.range) {
            (Some((a, b)), Some((c, d))) => {
                Some((if c < a { c } else { a }, if d > b { d } else { b }))
            }
            (range, None) | (None, range) => range,
        };
        if self.n == 0 || other.n == 0 {
            let not_empty = if self.n == 0 { other } else { self };
            return Self {
                n,
                n_nan,
                n_zero,
                range,
                mean: not_empty.mean,
                squares: not_empty.squares,
            };
        }
        let a = self.n as f64;
        let b = other.n as f64;
        let all = n as f64;
        let distance = other.mean - self.mean;
        let mean = if distance.is_finite() {
            self.mean + distance * (b / all)
        } else {
            // Infinities have no distance.
            self.mean * (a / all) + other.mean * (b / all)
        };
        Self {
            n,
            n_nan,
            n_zero,
            range,
            mean,
            squares: self.squares + other.squares + distance * distance * (a * (b / all)),
        }
    }

    /// The standard deviation of all elements, not of a sample. It is NaN if one of them is
    /// infinite.
    pub(crate) fn deviation(&self) -> f64 {
        // Rounding may leave less than 0.
        let squares = if self.squares < 0.0 {
            0.0
        } else {
            self.squares
        };
        if self.n == 0 {
            f64::NAN
        } else {
            (squares / self.n as f64).sqrt()
        }
    }
}

/// A number that can be summed.
pub(crate) trait Summed: Number {
    /// The distance from another number, without loss for integers that are close.
    fn distance(self, from: Self) -> f64;

    fn is_not_a_number(self) -> bool {
        false
    }

    /// The sums of at most [`PART`] elements.
    fn sums(part: &[Self]) -> Sums<Self> {
        by_distance(part)
    }
}

/// Sums of distances from the first number, in float64.
fn by_distance<T: Summed>(part: &[T]) -> Sums<T> {
    let Some(first) = part
        .iter()
        .copied()
        .find(|number| !number.is_not_a_number())
    else {
        return Sums {
            n_nan: part.len() as u64,
            ..Sums::default()
        };
    };
    let least = |a: T, b: T| if b < a { b } else { a };
    let greatest = |a: T, b: T| if b > a { b } else { a };
    let low = lanes(part, first, least);
    let high = lanes(part, first, greatest);
    let zero = T::default();
    let zeros: u32 = part.iter().map(|&number| u32::from(number == zero)).sum();
    let nans: u32 = part
        .iter()
        .map(|number| u32::from(number.is_not_a_number()))
        .sum();
    let distance = |number: T| {
        if number.is_not_a_number() {
            0.0
        } else {
            number.distance(first)
        }
    };
    let mut sum = [0.0; LANES];
    let mut squares = [0.0; LANES];
    let (whole, rest) = part.as_chunks::<LANES>();
    let mut add = |lane: usize, number: T| {
        let distance = distance(number);
        sum[lane] += distance;
        squares[lane] += distance * distance;
    };
    for chunk in whole {
        chunk
            .iter()
            .enumerate()
            .for_each(|(lane, &number)| add(lane, number));
    }
    rest.iter()
        .enumerate()
        .for_each(|(lane, &number)| add(lane, number));
    let sum: f64 = sum.iter().sum();
    let squares: f64 = squares.iter().sum();
    let n_nan = u64::from(nans);
    let n = part.len() as u64 - n_nan;
    let from_first = sum / n as f64;
    let mean = if sum.is_finite() {
        first.to_f64() + from_first
    } else {
        // Infinities have no distance.
        let numbers = part.iter().filter(|number| !number.is_not_a_number());
        numbers.map(|number| number.to_f64() / n as f64).sum()
    };
    Sums {
        n,
        n_nan,
        n_zero: zeros.into(),
        range: Some((
            low.into_iter().fold(first, least),
            high.into_iter().fold(first, greatest),
        )),
        mean,
        squares: squares - sum * from_first,
    }
}

macro_rules! small {
    ($($type:ty, $unsigned:ty;)*) => {$(
        impl Summed for $type {
            fn distance(self, from: Self) -> f64 {
                self.to_f64() - from.to_f64()
            }

            /// Sums of integers, which are exact and quick.
            fn sums(part: &[Self]) -> Sums<Self> {
                let n = part.len() as u64;
                // From 0, so that they are not negative.
                let above = |number: &Self| u32::from(number.wrapping_sub(Self::MIN) as $unsigned);
                // The two halves of a square, so that all sums have 32 bits, of which a vector has
                // most.
                let add = |(sum, low, high): (u32, u32, u32), number: u32| {
                    let square = number * number;
                    (sum + number, low + (square & 0xffff), high + (square >> 16))
                };
                let (sum, low, high) = part.iter().map(above).fold((0, 0, 0), add);
                let sum = u64::from(sum);
                let squares = (u64::from(high) << 16) + u64::from(low);
                let wider = |(low, high): (Self, Self), &number: &Self| (low.min(number), high.max(number));
                let (low, high) = part.iter().fold((Self::MAX, Self::MIN), wider);
                let zeros: u16 = if (low..=high).contains(&0) {
                    part.iter().map(|&number| u16::from(number == 0)).sum()
                } else {
                    0
                };
                // n * squares - sum * sum does not overflow 128 bits.
                let spread = u128::from(n) * u128::from(squares) - u128::from(sum) * u128::from(sum);
                Sums {
                    n,
                    n_nan: 0,
                    n_zero: zeros.into(),
                    range: (n > 0).then_some((low, high)),
                    mean: sum as f64 / n.max(1) as f64 + f64::from(Self::MIN),
                    squares: spread as f64 / n.max(1) as f64,
                }
            }
        }
    )*};
}
small! {
    i8, u8;
    i16, u16;
    u8, u8;
    u16, u16;
}

macro_rules! large {
    ($($type:ty),*) => {$(
        impl Summed for $type {
            fn distance(self, from: Self) -> f64 {
                if self >= from { self.abs_diff(from) as f64 } else { -(self.abs_diff(from) as f64) }
            }
        }
    )*};
}
large!(i64, u64);

/// Integers that float64 represents exactly.
macro_rules! middle {
    ($($type:ty),*) => {$(
        impl Summed for $type {
            fn distance(self, from: Self) -> f64 {
                f64::from(self) - f64::from(from)
            }
        }
    )*};
}
middle!(i32, u32);

macro_rules! floats {
    ($($type:ty),*) => {$(
        impl Summed for $type {
            fn distance(self, from: Self) -> f64 {
                self.to_f64() - from.to_f64()
            }

            fn is_not_a_number(self) -> bool {
                self.is_nan()
            }
        }
    )*};
}
floats!(f16, bf16, f32, f64);

#[cfg(test)]
mod tests {
    use super::*;

    fn sums<T: Summed>(elements: &[T]) -> Sums<T> {
        let mut sums = Sums::default();
        sums.add(elements);
        sums
    }

    /// Mean and deviation by two passes in float64.
    fn close<T: Summed>(elements: &[T]) {
        let found = sums(elements);
        let n = elements.len() as f64;
        let mean = elements.iter().map(|x| x.to_f64()).sum::<f64>() / n;
        let spread = elements
            .iter()
            .map(|x| (x.to_f64() - mean).powi(2))
            .sum::<f64>()
            / n;
        assert!(
            (found.mean - mean).abs() <= 1e-9 * mean.abs().max(1.0),
            "{} {mean}",
            found.mean
        );
        let deviation = spread.sqrt();
        assert!((found.deviation() - deviation).abs() <= 1e-6 * deviation.max(1e-9));
        let low = elements
            .iter()
            .copied()
            .reduce(|a, b| if b < a { b } else { a });
        assert_eq!(found.range.map(|(low, _)| low), low);
        assert_eq!(found.n, elements.len() as u64);
    }

    #[test]
    fn sums_agree_with_two_passes() {
        let numbers = |n: u32| (0..n).map(|i| i.wrapping_mul(2_654_435_761));
        for n in [1, 7, 8, 9, 4096, 4097, 20_000] {
            close(&numbers(n).map(|x| x as u8).collect::<Vec<_>>());
            close(&numbers(n).map(|x| x as i8).collect::<Vec<_>>());
            close(&numbers(n).map(|x| x as u16).collect::<Vec<_>>());
            close(&numbers(n).map(|x| x as i16).collect::<Vec<_>>());
            close(&numbers(n).map(|x| x as i32).collect::<Vec<_>>());
            close(&numbers(n).map(|x| x as f32 / 7.0 + 1e6).collect::<Vec<_>>());
            close(&numbers(n).map(|x| f64::from(x) / 7.0).collect::<Vec<_>>());
        }
        close(&vec![u16::MAX; 10_000]);
        close(&vec![i16::MIN; 10_000]);
    }

    #[test]
    fn cli_14_large_integers_keep_their_spread() {
        let base = (1_u64 << 62) + 1;
        let found = sums(&[base, base + 2, base + 4]);
        assert_eq!(found.range, Some((base, base + 4)));
        // The variance of 0, 2, 4 is 8 / 3.
        assert!((found.deviation() - (8.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        let found = sums(&[i64::MIN, i64::MAX]);
        assert_eq!(found.range, Some((i64::MIN, i64::MAX)));
        assert!((found.deviation() - 2.0_f64.powi(63)).abs() < 1.0);
    }

    /// The results of `numpy.mean` and `numpy.std`.
    #[test]
    fn infinities_have_a_mean() {
        let inf = f64::INFINITY;
        let many = vec![1.0; 5000];
        for (elements, mean) in [
            (vec![inf, 1.0], inf),
            (vec![1.0, inf], inf),
            (vec![1.0, -inf, -inf, f64::NAN], -inf),
            ([&[inf][..], &many].concat(), inf),
            ([&many[..], &[inf]].concat(), inf),
            (vec![f64::MAX, -f64::MAX], 0.0),
        ] {
            assert_eq!(sums(&elements).mean, mean);
        }
        for elements in [vec![inf, -inf], [&[inf][..], &many, &[-inf]].concat()] {
            assert!(sums(&elements).mean.is_nan());
        }
        assert!(sums(&[inf, 1.0]).deviation().is_nan() && sums(&[1.0, inf]).deviation().is_nan());
        assert!(sums(&[&[inf][..], &many].concat()).deviation().is_nan());
    }

    #[test]
    fn not_numbers_are_counted_apart() {
        let found = sums(&[f32::NAN, 1.0, -0.0, f32::NAN, 3.0, 0.0]);
        assert_eq!((found.n, found.n_nan, found.n_zero), (4, 2, 2));
        assert_eq!((found.range, found.mean), (Some((-0.0, 3.0)), 1.0));
        let found = sums(&[f64::NAN; 5000]);
        assert_eq!((found.n, found.n_nan, found.range), (0, 5000, None));
        assert!(found.deviation().is_nan());
        assert!(sums::<u8>(&[]).deviation().is_nan());
    }
}
