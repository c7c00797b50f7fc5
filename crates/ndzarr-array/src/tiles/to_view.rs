//! `ToView`: what can be written to an array.

use ndarray::{ArrayBase, ArrayRef, ArrayView, ArrayViewD, Data, Dimension};

/// Elements to write: an ndarray or a view with any number of dimensions and any strides; a slice,
/// vector or Rust array for one axis. Its shape must be that of the place it is written to.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not hold elements of type `{T}` in a known shape",
    note = "write a reference to an ndarray, a slice or a vector with the element type of the array"
)]
pub trait ToView<T> {
    /// A view of the elements.
    fn to_view(&self) -> ArrayViewD<'_, T>;
}

impl<T, S: Data<Elem = T>, D: Dimension> ToView<T> for ArrayBase<S, D> {
    fn to_view(&self) -> ArrayViewD<'_, T> {
        self.view().into_dyn()
    }
}

impl<T, D: Dimension> ToView<T> for ArrayRef<T, D> {
    fn to_view(&self) -> ArrayViewD<'_, T> {
        self.view().into_dyn()
    }
}

impl<T> ToView<T> for [T] {
    fn to_view(&self) -> ArrayViewD<'_, T> {
        ArrayView::from(self).into_dyn()
    }
}

impl<T> ToView<T> for Vec<T> {
    fn to_view(&self) -> ArrayViewD<'_, T> {
        self[..].to_view()
    }
}

impl<T, const N: usize> ToView<T> for [T; N] {
    fn to_view(&self) -> ArrayViewD<'_, T> {
        self[..].to_view()
    }
}
