//! Allocates the ndarray arrays that reads return, aligned and without touching their pages.

use bytemuck::Zeroable;
use ndarray::{Array1, ArrayD, ArrayViewD, Axis, IxDyn, s};

use crate::error::{Error, ErrorKind, Result};
use crate::tiles::raw;

/// Results of at least this many bytes begin at a multiple of [`ALIGNMENT`].
const ALIGNED_FROM: usize = 1 << 20;

/// Results of at least this many bytes begin at a huge page, so that they contain hardly any small
/// pages. The bytes skipped before it are not touched; only a clone of the array copies them.
const PAGED_FROM: usize = 16 << 20;

/// A cache line, and the width of a streaming store.
const ALIGNMENT: usize = 64;

/// A new array of zero bytes in standard layout. Large ones consist of untouched pages.
pub(crate) fn blank<T: Zeroable>(shape: &[usize]) -> Result<ArrayD<T>> {
    let too_large = || too_large(shape);
    let size = size_of::<T>().max(1);
    // ndarray requires the product of all non-zero lengths to be addressable.
    let n = shape
        .iter()
        .filter(|&&n| n != 0)
        .try_fold(1usize, |product, &n| product.checked_mul(n))
        .filter(|n| {
            n.checked_mul(size)
                .and_then(|bytes| isize::try_from(bytes).ok())
                .is_some()
        })
        .ok_or_else(too_large)?;
    let n = if shape.contains(&0) { 0 } else { n };
    let alignment = match n * size {
        PAGED_FROM.. => raw::HUGE_PAGE,
        ALIGNED_FROM.. => ALIGNMENT,
        _ => 1,
    };
    let padding = if alignment > 1 {
        alignment.div_ceil(size)
    } else {
        0
    };
    let mut elements: Vec<T> =
        bytemuck::allocation::try_zeroed_vec(n + padding).map_err(|()| too_large())?;
    raw::advise_huge(&mut elements);
    // Elements of some sizes never begin at such an address, or only further on.
    let start = [alignment, ALIGNMENT].map(|to| elements.as_ptr().align_offset(to));
    let start = start
        .into_iter()
        .find(|&start| start <= padding)
        .unwrap_or(0);
    let elements = Array1::from_vec(elements).slice_move(s![start..start + n]);
    elements
        .into_shape_with_order(IxDyn(shape))
        .map_err(|_| too_large())
}

/// New zero bytes for the packed elements of an array.
pub(crate) fn blank_bytes(shape: &[usize], size: usize) -> Result<Vec<u8>> {
    let too_large = || {
        let what =
            format!("a result of shape {shape:?} with {size} bytes each does not fit into memory");
        Error::new(ErrorKind::OutOfMemory, what)
    };
    let len = shape
        .iter()
        .try_fold(size, |len, &n| len.checked_mul(n))
        .ok_or_else(too_large)?;
    let mut bytes = bytemuck::allocation::try_zeroed_vec(len).map_err(|()| too_large())?;
    raw::advise_huge(&mut bytes);
    Ok(bytes)
}

/// A new array of copies of one value in standard layout.
pub(crate) fn blank_of<T: Clone>(shape: &[usize], value: &T) -> Result<ArrayD<T>> {
    let (mut elements, n) = room(shape)?;
    elements.resize(n, value.clone());
    ArrayD::from_shape_vec(IxDyn(shape), elements).map_err(|_| too_large(shape))
}

/// A new array of the elements at these indices along some axes, in ascending order; in standard
/// layout.
pub(crate) fn taken<T: Clone>(
    from: ArrayViewD<'_, T>,
    lists: &[(Axis, &[usize])],
) -> Result<ArrayD<T>> {
    let mut shape = from.shape().to_vec();
    lists
        .iter()
        .for_each(|(axis, indices)| shape[axis.index()] = indices.len());
    let (mut elements, _) = room(&shape)?;
    take(from, 0, lists, &mut elements);
    ArrayD::from_shape_vec(IxDyn(&shape), elements).map_err(|_| too_large(&shape))
}

/// Appends elements of a part that is one index along each of the axes before `first`.
fn take<T: Clone>(
    from: ArrayViewD<'_, T>,
    first: usize,
    lists: &[(Axis, &[usize])],
    to: &mut Vec<T>,
) {
    match lists {
        [] => match from.to_slice() {
            Some(from) => to.extend_from_slice(from),
            None => to.extend(from.iter().cloned()),
        },
        [(axis, indices), lists @ ..] if axis.index() == first => match from.ndim() {
            1 => to.extend(indices.iter().map(|&at| from[at].clone())),
            _ => indices
                .iter()
                .for_each(|&at| take(from.index_axis(Axis(0), at), first + 1, lists, to)),
        },
        _ => from
            .outer_iter()
            .for_each(|from| take(from, first + 1, lists, to)),
    }
}

/// Room for the elements of an array, and their number.
fn room<T>(shape: &[usize]) -> Result<(Vec<T>, usize)> {
    let n = shape
        .iter()
        .try_fold(1usize, |n, &len| n.checked_mul(len))
        .ok_or_else(|| too_large(shape))?;
    let mut elements = Vec::new();
    elements
        .try_reserve_exact(n)
        .map_err(|_| too_large(shape))?;
    Ok((elements, n))
}

fn too_large(shape: &[usize]) -> Error {
    Error::new(
        ErrorKind::OutOfMemory,
        format!("a result of shape {shape:?} does not fit into memory"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_results_begin_where_lines_and_pages_do() {
        fn address<T: Zeroable + PartialEq>(n: usize) -> usize {
            let result = blank::<T>(&[n]).expect("there is memory");
            assert!(result.len() == n && result.iter().all(|element| *element == T::zeroed()));
            result.as_ptr().addr()
        }
        assert!(address::<u16>(ALIGNED_FROM / 2).is_multiple_of(ALIGNMENT));
        assert!(address::<[u8; 12]>(ALIGNED_FROM / 12 + 1).is_multiple_of(4));
        for n in [PAGED_FROM / 8, PAGED_FROM / 8 + 77] {
            assert!(address::<f64>(n).is_multiple_of(raw::HUGE_PAGE));
        }
        // Elements of 3 bytes reach every address, those of 12 bytes only some.
        assert!(address::<[u8; 3]>(PAGED_FROM / 3 + 1).is_multiple_of(ALIGNMENT));
        assert!(address::<[u32; 3]>(PAGED_FROM / 12 + 1).is_multiple_of(4));
    }
}
