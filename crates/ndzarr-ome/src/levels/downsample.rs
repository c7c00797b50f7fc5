//! `Downsample`: how an element of a coarser level is made from elements of the finer one.

use half::{bf16, f16};
use ndzarr::ndarray::{ArrayD, ArrayViewMutD, Axis};
use ndzarr::{Cast, Element, Number};

/// How an element of a coarser level is made from the elements of the finer level that it replaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Downsample {
    /// The mean. For integers it is exact: rounded to the nearest, ties to even. A NaN makes it
    /// NaN.
    #[default]
    Mean,
    /// The most frequent value, and the least of several: for labels.
    Mode,
    /// The first element.
    Stride,
}

impl Downsample {
    /// The name in the metadata.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Mode => "mode",
            Self::Stride => "stride",
        }
    }

    /// The distance from the centre of the first of `factor` elements to the centre of the coarser
    /// one that is made of them, in elements of the finer level.
    pub(crate) fn offset(self, factor: u64) -> f64 {
        match self {
            Self::Mean | Self::Mode => (factor as f64 - 1.0) / 2.0,
            Self::Stride => 0.0,
        }
    }
}

/// Elements that levels are made of.
pub(crate) trait Sample: Element + Copy + Default + PartialOrd {
    /// A sum of up to 2^20 elements, exact for integers.
    type Sum: Copy + Default + Send;

    fn add(sum: &mut Self::Sum, element: Self);

    fn mean(sum: Self::Sum, n_elements: u64) -> Self;
}

macro_rules! samples {
    ($($type:ty, $sum:ty, |$x:ident| $wide:expr, |$s:ident, $n:ident| $mean:expr;)*) => {$(
        impl Sample for $type {
            type Sum = $sum;

            #[inline]
            fn add(sum: &mut $sum, $x: Self) {
                *sum += $wide;
            }

            #[inline]
            fn mean($s: $sum, $n: u64) -> Self {
                $mean
            }
        }
    )*};
}
samples! {
    i8, i64, |x| i64::from(x), |sum, n| of_sum(sum, n);
    i16, i64, |x| i64::from(x), |sum, n| of_sum(sum, n);
    i32, i64, |x| i64::from(x), |sum, n| of_sum(sum, n);
    u8, i64, |x| i64::from(x), |sum, n| of_sum(sum, n);
    u16, i64, |x| i64::from(x), |sum, n| of_sum(sum, n);
    u32, i64, |x| i64::from(x), |sum, n| of_sum(sum, n);
    i64, i128, |x| i128::from(x), |sum, n| of_wide_sum(sum, n) as Self;
    u64, i128, |x| i128::from(x), |sum, n| of_wide_sum(sum, n) as Self;
    f16, f64, |x| f64::from(x), |sum, n| nearest(sum / n as f64);
    bf16, f64, |x| f64::from(x), |sum, n| nearest(sum / n as f64);
    f32, f64, |x| f64::from(x), |sum, n| nearest(sum / n as f64);
    f64, f64, |x| x, |sum, n| sum / n as f64;
}

/// For the mode and strides: a mean of bools is refused.
impl Sample for bool {
    type Sum = u64;

    fn add(sum: &mut u64, element: Self) {
        *sum += u64::from(element);
    }

    fn mean(sum: u64, n_elements: u64) -> Self {
        2 * sum > n_elements
    }
}

/// The rounded mean of integers of up to 32 bits. The sum of up to 2^20 of them is at most 2^52,
/// which a float holds exactly; and a quotient that is not halfway between two integers is at least
/// 1/(2n) away from the middle, so that the quotient of floats is rounded to the right integer.
#[inline]
fn of_sum<T: Number>(sum: i64, n_elements: u64) -> T {
    nearest(sum as f64 / n_elements as f64)
}

#[inline]
fn nearest<T: Number>(float: f64) -> T {
    T::from_f64(float, Cast::Saturating).unwrap_or_default()
}

fn of_wide_sum(sum: i128, n_elements: u64) -> i128 {
    let n_elements = i128::from(n_elements);
    let quotient = sum.div_euclid(n_elements);
    let rest = sum.rem_euclid(n_elements);
    let rounds_up = 2 * rest > n_elements || 2 * rest == n_elements && quotient % 2 != 0;
    quotient + i128::from(rounds_up)
}

/// Computes the elements `out` from those of the finer level. Along each axis, `factors` elements
/// make one, or fewer at the end.
pub(crate) fn reduce<T: Sample>(
    method: Downsample,
    fine: &ArrayD<T>,
    factors: &[usize],
    mut out: ArrayViewMutD<'_, T>,
) {
    let fine = fine.as_standard_layout();
    let Some(elements) = fine.as_slice() else {
        return;
    };
    let last = out.ndim() - 1;
    let fine_len = fine.shape()[last];
    let factor = factors[last];
    let shape: Vec<usize> = out.shape()[..last].to_vec();
    if out.is_empty() {
        return;
    }
    let mut index = vec![0; last];
    // The rows of the finer level that make one row of the coarser level.
    let mut rows: Vec<&[T]> = Vec::new();
    let mut sums = vec![T::Sum::default(); out.shape()[last]];
    let mut values = Vec::new();
    for mut row in out.lanes_mut(Axis(last)) {
        rows.clear();
        rows_of(elements, fine.shape(), factors, &index, &mut rows);
        match method {
            Downsample::Mean => {
                sums.fill(T::Sum::default());
                for elements in &rows {
                    add_row::<T>(&mut sums, elements, factor);
                }
                for (at, (element, sum)) in row.iter_mut().zip(&sums).enumerate() {
                    let along = factor.min(fine_len - at * factor);
                    *element = T::mean(*sum, (rows.len() * along) as u64);
                }
            }
            Downsample::Mode => {
                for (at, element) in row.iter_mut().enumerate() {
                    let along = at * factor..((at + 1) * factor).min(fine_len);
                    values.clear();
                    for row in &rows {
                        values.extend_from_slice(&row[along.clone()]);
                    }
                    *element = most_frequent(&mut values);
                }
            }
            Downsample::Stride => {
                for (at, element) in row.iter_mut().enumerate() {
                    *element = rows[0][at * factor];
                }
            }
        }
        advance(&mut index, &shape);
    }
}

/// The next index in C order.
pub(crate) fn advance(index: &mut [usize], shape: &[usize]) {
    for (at, len) in index.iter_mut().zip(shape).rev() {
        *at += 1;
        if *at < *len {
            return;
        }
        *at = 0;
    }
}

/// Collects the rows along the last axis that make one row of the coarser level.
fn rows_of<'a, T>(
    elements: &'a [T],
    shape: &[usize],
    factors: &[usize],
    row: &[usize],
    rows: &mut Vec<&'a [T]>,
) {
    let last = shape.len() - 1;
    let mut starts = vec![0];
    for at in 0..last {
        let along = row[at] * factors[at]..((row[at] + 1) * factors[at]).min(shape[at]);
        starts = starts
            .iter()
            .flat_map(|start| along.clone().map(move |index| start * shape[at] + index))
            .collect();
    }
    rows.extend(
        starts
            .iter()
            .map(|start| &elements[start * shape[last]..(start + 1) * shape[last]]),
    );
}

fn add_row<T: Sample>(sums: &mut [T::Sum], row: &[T], factor: usize) {
    match factor {
        1 => sums
            .iter_mut()
            .zip(row)
            .for_each(|(sum, element)| T::add(sum, *element)),
        // A loop that compilers turn into instructions for several elements.
        2 => {
            let (pairs, rest) = row.as_chunks::<2>();
            for (sum, [a, b]) in sums.iter_mut().zip(pairs) {
                T::add(sum, *a);
                T::add(sum, *b);
            }
            if let (Some(sum), [element]) = (sums.last_mut(), rest) {
                T::add(sum, *element);
            }
        }
        _ => {
            for (sum, elements) in sums.iter_mut().zip(row.chunks(factor)) {
                elements.iter().for_each(|element| T::add(sum, *element));
            }
        }
    }
}

fn most_frequent<T: Sample>(values: &mut [T]) -> T {
    let Some((first, others)) = values.split_first() else {
        return T::default();
    };
    if others.iter().all(|value| value == first) {
        return *first;
    }
    // NaN sorts after all numbers, and is equal to NaN.
    let is_nan = |value: &T| value.partial_cmp(value).is_none();
    values.sort_unstable_by(|a, b| {
        a.partial_cmp(b)
            .unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)))
    });
    let equal = |a: &T, b: &T| a == b || is_nan(a) && is_nan(b);
    let mut longest: &[T] = &[];
    for run in values.chunk_by(equal) {
        if run.len() > longest.len() {
            longest = run;
        }
    }
    longest.first().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use ndzarr::ndarray::{Array, Array1, Array2, IxDyn, array};

    use super::*;

    fn reduced<T: Sample>(
        method: Downsample,
        fine: impl Into<ArrayD<T>>,
        factors: &[usize],
    ) -> ArrayD<T> {
        let fine: ArrayD<T> = fine.into();
        let shape: Vec<usize> = fine
            .shape()
            .iter()
            .zip(factors)
            .map(|(len, factor)| len.div_ceil(*factor))
            .collect();
        let mut out = ArrayD::from_elem(IxDyn(&shape), T::default());
        reduce(method, &fine, factors, out.view_mut());
        out
    }

    fn mean<T: Sample>(list: &[T], factor: usize) -> Vec<T> {
        reduced(
            Downsample::Mean,
            Array1::from(list.to_vec()).into_dyn(),
            &[factor],
        )
        .into_raw_vec_and_offset()
        .0
    }

    #[test]
    fn means_of_integers_are_exact_with_ties_to_even() {
        assert_eq!(mean(&[1u8, 2, 2, 3, 255, 254, 7], 2), [2, 2, 254, 7]);
        assert_eq!(mean(&[-1i8, -2, -3, -2, -128, -128], 2), [-2, -2, -128]);
        assert_eq!(mean(&[u32::MAX, u32::MAX, u32::MAX - 1], 3), [u32::MAX]);
        assert_eq!(
            mean(&[u64::MAX, u64::MAX, u64::MAX - 1, u64::MAX], 2),
            [u64::MAX, u64::MAX - 1]
        );
        assert_eq!(
            mean(&[i64::MIN, i64::MIN + 1, i64::MAX, i64::MAX], 2),
            [i64::MIN, i64::MAX]
        );
        // 2^53 + 1 twice: a float would lose the last digit.
        assert_eq!(mean(&[(1u64 << 53) + 1; 2], 2), [(1 << 53) + 1]);
        assert_eq!(mean(&[1u16, 2, 4, 10], 3), [2, 10]);
    }

    #[test]
    fn means_of_floats_are_rounded_once() {
        assert_eq!(
            mean(&[1.0f32, 2.0, f32::MAX, f32::MAX, 0.1], 2),
            [1.5, f32::MAX, 0.1]
        );
        assert_eq!(mean(&[f16::MAX, f16::MAX], 2), [f16::MAX]);
        assert!(mean(&[1.0, f64::NAN], 2)[0].is_nan());
    }

    #[test]
    fn each_axis_has_its_factor_and_a_shorter_end() {
        let fine = Array2::from_shape_fn((3, 5), |(y, x)| (10 * y + x) as u16);
        // By hand: rows 0 and 1, then row 2; columns 0 to 2, then 3 and 4.
        assert_eq!(
            reduced(Downsample::Mean, fine.clone().into_dyn(), &[2, 3]),
            array![[6, 8], [21, 24]].into_dyn()
        );
        assert_eq!(
            reduced(Downsample::Stride, fine.clone().into_dyn(), &[2, 3]),
            array![[0, 3], [20, 23]].into_dyn()
        );
        assert_eq!(
            reduced(Downsample::Mean, fine.clone().into_dyn(), &[1, 1]),
            fine.into_dyn()
        );
    }

    #[test]
    fn the_mode_is_the_least_of_the_most_frequent() {
        let mode =
            |list: Vec<f64>| reduced(Downsample::Mode, Array1::from(list).into_dyn(), &[4])[0];
        assert_eq!(mode(vec![3.0, 1.0, 3.0, 2.0]), 3.0);
        assert_eq!(mode(vec![2.0, 1.0, 2.0, 1.0]), 1.0);
        assert_eq!(mode(vec![4.0, 3.0, 2.0, 1.0]), 1.0);
        assert!(mode(vec![f64::NAN, 1.0, f64::NAN, 2.0]).is_nan());
        assert_eq!(mode(vec![f64::NAN, 1.0, 1.0, -1.0]), 1.0);
        let labels = array![[true, true, false], [false, true, false]].into_dyn();
        assert_eq!(
            reduced(Downsample::Mode, labels, &[2, 2]),
            array![[true, false]].into_dyn()
        );
    }

    #[test]
    fn memory_in_another_order_makes_no_difference() {
        let fine = Array::from_shape_fn((4, 6), |(y, x)| (y * 100 + x * 7) as i32);
        let in_f_order = fine
            .t()
            .as_standard_layout()
            .to_owned()
            .reversed_axes()
            .into_dyn();
        assert!(!in_f_order.is_standard_layout());
        assert_eq!(
            reduced(Downsample::Mean, in_f_order, &[2, 2]),
            reduced(Downsample::Mean, fine.into_dyn(), &[2, 2])
        );
    }
}
