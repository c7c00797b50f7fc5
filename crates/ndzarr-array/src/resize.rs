//! Arrays that grow and shrink.

use ndarray::{ArrayRef, CowArray, Dimension};
use ndzarr_engine::Source;
use ndzarr_model::DataType;

use crate::any_array::AnyArray;
use crate::array::Array;
use crate::core::Colour;
use crate::element::{Element, Input};
use crate::error::Result;
use crate::steps::Steps;

macro_rules! resizing {
    () => {
        /// Gives the array another shape, in elements.
        ///
        /// Growing writes the document and nothing else; what is new is the fill value. Shrinking makes the elements that
        /// go the fill value in the chunks that stay, removes the chunks that are outside, and writes the document last:
        /// what was cut off does not come back when the array grows again, be it that the process was killed. Stored
        /// chunks are listed, never enumerated. To resize to the very same shape removes what is outside: what an
        /// appending left there that was killed, say.
        ///
        /// The number of dimensions stays. Other handles of the array, clones included, keep the shape that they have.
        /// In stores with locks, resizing takes turns with other resizing, with appending and with changes of
        /// attributes. It is not ordered against writes of elements: what others write meanwhile to the part that goes may
        /// stay there, unseen, until it grows again.
        ///
        /// # Errors
        /// Another number of dimensions, or a shape that the format cannot express; the document is not that of this
        /// array any more; writers cannot take turns in the store: nothing was changed. A chunk to be trimmed that is
        /// broken, or the store: the array has its old shape, and of the elements that were to go some are the fill value;
        /// the same call again goes on.
        ///
        /// ```
        /// use ndzarr_array::Array;
        /// use ndzarr_store::MemoryStore;
        ///
        /// let store = MemoryStore::new();
        /// let mut a = Array::<u8>::builder([6]).chunks([4]).fill_value(9).create(&store, "a")?;
        /// a.fill([0..6], 1)?;
        /// a.resize([3])?;
        /// a.resize([7])?;
        /// assert_eq!(a.read(..)?.as_slice(), Some(&[1, 1, 1, 9, 9, 9, 9][..]));
        /// assert_eq!(Array::<u8>::open_in(&store, "a")?.shape(), [7]);
        /// # Ok::<(), ndzarr_array::Error>(())
        /// ```
        pub fn resize(&mut self, shape: impl AsRef<[u64]>) -> Result<()> {
            let storage = self.core.storage.clone();
            storage.wait(self.core.resize(shape.as_ref(), Colour::Blocking))
        }

        /// As [`resize`](Self::resize), without blocking the task, apart from the document in a blocking store.
        ///
        /// # Errors
        /// As [`resize`](Self::resize).
        pub async fn resize_async(&mut self, shape: impl AsRef<[u64]>) -> Result<()> {
            let shape = shape.as_ref().to_vec();
            self.core.resize(&shape, Colour::Async).await
        }
    };
}

impl<T> Array<T> {
    resizing!();
}

impl AnyArray {
    resizing!();
}

impl<T: Element> Array<T> {
    /// Grows the array along an axis, and writes what it grows by. `data` has the array's shape but for its length along
    /// the axis.
    ///
    /// Nothing but the chunks of the new part is touched, and its document; of the old ones, those at the end that are
    /// filled in part. It counts from the shape that the document has at this moment, which may not be that of the
    /// handle. Any number of threads and processes may append to one array: each has a place of its own.
    ///
    /// - In stores with locks, appending takes turns with other appending, with resizing and with changes of attributes.
    ///   The elements are written first, so that whoever sees the new shape sees them.
    /// - In others the document is changed first, by a conditional write, which tells others that the place is taken.
    ///   Until the elements are written, it reads as the fill value.
    ///
    /// # Errors
    /// `data` has another shape, or writers cannot take turns in the store: nothing was written. As
    /// [`write`](Self::write): in stores with locks the array has its old shape; in others its new one, and what was not
    /// written is the fill value.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndzarr_array::{Array, s};
    /// use ndzarr_store::MemoryStore;
    ///
    /// let store = MemoryStore::new();
    /// let mut log = Array::<f32>::builder([0, 2]).chunks([100, 2]).create(&store, "log")?;
    /// log.append(0, &array![[1.0, 2.0]])?;
    /// log.append(0, &array![[3.0, 4.0], [5.0, 6.0]])?;
    /// assert_eq!(log.shape(), [3, 2]);
    /// assert_eq!(log.read(s![.., 1])?, array![2.0, 4.0, 6.0]);
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    pub fn append<D: Dimension>(&mut self, axis: usize, data: &ArrayRef<T, D>) -> Result<()> {
        let stored = self.data_type().clone();
        let (shape, source) = self.core.named(all_of(data, &stored))?;
        let storage = self.core.storage.clone();
        storage.wait(self.core.append(axis, &shape, &*source, Colour::Blocking))
    }

    /// As [`append`](Self::append), without blocking the task, apart from the document in a blocking store.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub async fn append_async<D: Dimension>(&mut self, axis: usize, data: &ArrayRef<T, D>) -> Result<()> {
        let stored = self.data_type().clone();
        let (shape, source) = self.core.named(all_of(data, &stored))?;
        self.core.append(axis, &shape, &*source, Colour::Async).await
    }
}

fn all_of<'a, T: Element, D: Dimension>(
    data: &'a ArrayRef<T, D>,
    stored: &'a DataType,
) -> Result<(Vec<u64>, Box<dyn Source + 'a>)> {
    T::check(data.view().into_dyn(), stored)?;
    let elements = CowArray::from(data.view().into_dyn());
    let shape = elements.shape().iter().map(|&n| n as u64).collect();
    Ok((shape, T::source(Input { axes: vec![Steps::ALL; elements.ndim()], elements, stored })))
}
