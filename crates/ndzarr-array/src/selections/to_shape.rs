//! `ToShape`: what gives the shape of an array or a chunk.

use ndarray::{Dim, Dimension};

/// The lengths of the axes of an array or a chunk: an array, slice or vector of `u64`, the
/// `shape()` or `raw_dim()` of an ndarray, or a tuple of `usize`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape",
    note = "`[10, 20]`, `(10, 20)`, a `Vec<u64>` or the `shape()` of an ndarray is"
)]
pub trait ToShape {
    /// The length of each axis, in elements.
    fn to_shape(&self) -> Vec<u64>;
}

impl<S: ToShape + ?Sized> ToShape for &S {
    fn to_shape(&self) -> Vec<u64> {
        (**self).to_shape()
    }
}

impl ToShape for [u64] {
    fn to_shape(&self) -> Vec<u64> {
        self.to_vec()
    }
}

impl<const N: usize> ToShape for [u64; N] {
    fn to_shape(&self) -> Vec<u64> {
        self.to_vec()
    }
}

impl ToShape for Vec<u64> {
    fn to_shape(&self) -> Vec<u64> {
        self.clone()
    }
}

impl ToShape for [usize] {
    fn to_shape(&self) -> Vec<u64> {
        self.iter().map(|&len| len as u64).collect()
    }
}

impl<I> ToShape for Dim<I>
where
    Self: Dimension,
{
    fn to_shape(&self) -> Vec<u64> {
        self.slice().to_shape()
    }
}

macro_rules! tuples {
    ($(($($len:ident: $int:ty),+);)*) => {$(
        impl ToShape for ($($int,)+) {
            fn to_shape(&self) -> Vec<u64> {
                let ($($len,)+) = *self;
                [$($len),+][..].to_shape()
            }
        }
    )*};
}
tuples! {
    (a: usize);
    (a: usize, b: usize);
    (a: usize, b: usize, c: usize);
    (a: usize, b: usize, c: usize, d: usize);
    (a: usize, b: usize, c: usize, d: usize, e: usize);
    (a: usize, b: usize, c: usize, d: usize, e: usize, f: usize);
}
