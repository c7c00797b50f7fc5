//! Passes the elements of an ndarray to the engine for writing.

use ndarray::{ArrayViewMut, CowArray, IxDyn, ShapeBuilder};
use ndzarr_codec::strided::Strided;
use ndzarr_engine::{Coverage, Picked, Source};

use crate::element_types::plain_element::PlainElement;
use crate::tiles::assign::assign;
use crate::tiles::steps::{self, Picks};

/// Elements of an ndarray to be written. With steps, it represents a larger box, of which it has
/// the selected elements.
pub(crate) struct ElementSource<'a, T> {
    pub(crate) elements: CowArray<'a, T, IxDyn>,
    pub(crate) axes: Vec<Picks>,
}

impl<T: PlainElement> Source for ElementSource<'_, T> {
    fn gather(&self, start: &[usize], len: &[usize], out: &mut [u8], offset: usize, strides: &[isize]) {
        let size = size_of::<T::Repr>();
        let place = Strided { offset, strides };
        let each = steps::each_part(self.axes.iter(), start, len, place, |selected| {
            let mut src = self.elements.view();
            selected.narrow(&mut src);
            let to = selected.strides;
            if let Ok(out) = bytemuck::try_cast_slice_mut::<u8, T::Repr>(out)
                && let Ok(dst) = ArrayViewMut::from_shape(
                    IxDyn(src.shape()).strides(IxDyn(to)),
                    &mut out[selected.offset..],
                )
            {
                assign(src, dst, T::to_repr);
                return Ok(());
            }
            for (index, element) in src.indexed_iter() {
                let at: usize = (0..to.len()).map(|axis| index[axis] * to[axis]).sum();
                let at = (selected.offset + at) * size;
                out[at..at + size].copy_from_slice(bytemuck::bytes_of(&element.to_repr()));
            }
            Ok(())
        });
        each.expect("a chunk is put together forwards");
    }

    fn is_dense(&self) -> bool {
        steps::is_dense(&self.axes)
    }

    fn picked(&self) -> Picked {
        steps::picked_along(&self.axes)
    }

    fn coverage(&self, start: &[usize], len: &[usize]) -> Coverage {
        steps::coverage(&self.axes, start, len)
    }

    fn is_c_order(&self) -> bool {
        let strides = self.elements.strides();
        strides.is_sorted_by(|outer, inner| outer >= inner) && strides.last() == Some(&1)
    }

    fn piece(&self, start: &[usize], len: &[usize]) -> Box<dyn Source + Send> {
        let (elements, axes) = steps::piece(&self.elements, &self.axes, start, len);
        Box::new(ElementSource { elements, axes })
    }
}
