use ndarray::{ArrayViewD, ArrayViewMutD, Dimension, Ix2, Ix3};

/// Assigns element by element. ndarray takes far less time for each row where it knows the number of axes.
pub(crate) fn assign<R, T>(
    src: ArrayViewD<'_, R>,
    mut dst: ArrayViewMutD<'_, T>,
    each: impl Fn(&mut T, &R) + Copy,
) {
    match dst.ndim() {
        2 => assign_all::<Ix2, R, T>(src, dst, each),
        3 => assign_all::<Ix3, R, T>(src, dst, each),
        0 | 1 => dst.zip_mut_with(&src, each),
        _ => dst.outer_iter_mut().zip(src.outer_iter()).for_each(|(dst, src)| assign(src, dst, each)),
    }
}

fn assign_all<D: Dimension, R, T>(
    src: ArrayViewD<'_, R>,
    dst: ArrayViewMutD<'_, T>,
    each: impl Fn(&mut T, &R),
) {
    if let (Ok(src), Ok(mut dst)) = (src.into_dimensionality::<D>(), dst.into_dimensionality::<D>()) {
        dst.zip_mut_with(&src, each);
    }
}
