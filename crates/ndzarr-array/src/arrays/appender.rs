//! `Appender`: extends an array bit by bit, and publishes on request.

use std::marker::PhantomData;

use ndarray::Dimension;
use ndzarr_engine::Source;

use crate::arrays::info::{ArrayInfo, Growth};
use crate::element_types::any_elements::AnyElements;
use crate::element_types::element::Element;
use crate::element_types::element_type::Any;
use crate::error::{Error, ErrorKind, Result};
use crate::mode::{Asynchronous, Blocking};
use crate::tiles::to_view::ToView;

/// Extends an array along an axis, a frame or a few at a time.
///
/// [`push`](Self::push) encodes whole inner chunks at once and keeps them next to the shard, in a
/// folder as a file. [`publish`](Self::publish) shows the shards and then the shape, so that a
/// follower, which calls [`refresh`](crate::Array::refresh), never reads a frame before it is
/// stored. A full row of shards is published by itself, without a copy if nothing of it was
/// published before. Chunks of several frames, and arrays without shards, are encoded once they are
/// full or published.
///
/// - If another writer appends to the array or resizes it meanwhile, [`publish`](Self::publish)
///   fails, and nothing that was published is lost.
/// - Dropping it, or the death of the process, leaves what was published. The next appender reuses
///   left-over files.
/// - No lock is held between calls. Like [`append`](crate::Array::append), a publication locks the
///   document, then each shard in turn.
/// - In stores without locks (buckets, memory) the shape comes first, as for `append`, to reserve
///   the frames: until the shards are stored, they read as the fill value. If no one else writes to
///   the array, say [`LastWriterWins`](crate::ConcurrentUpdate::LastWriterWins), and the shards
///   come first there too.
///
/// ```
/// use ndarray::{Array2, Axis};
/// use ndzarr::{Array, MemoryStore};
///
/// let store = MemoryStore::new();
/// let movie = Array::<u16>::builder([0, 4, 4]).chunks([1, 4, 4]).shards([64, 4, 4]);
/// let movie = movie.create((&store, "movie"))?;
/// let mut follower = Array::<u16>::open((&store, "movie"))?;
///
/// let mut appender = movie.appender(0)?;
/// for n in 1..=10 {
///     appender.push(&Array2::from_elem((4, 4), n))?;
/// }
/// appender.publish()?;
/// follower.refresh()?;
/// assert_eq!(follower.shape(), [10, 4, 4]);
/// assert_eq!(follower.read((9, 0, 0))?[[]], 10);
///
/// appender.push(&Array2::from_elem((4, 4), 11).insert_axis(Axis(0)))?;
/// appender.finish()?;
/// assert_eq!(Array::<u16>::open((&store, "movie"))?.shape(), [11, 4, 4]);
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[derive(Debug)]
pub struct Appender<T, M = Blocking> {
    info: ArrayInfo,
    /// `None` after a call that failed or was dropped.
    growth: Option<Growth>,
    mode: PhantomData<fn(T, M)>,
}

impl<T, M> Appender<T, M> {
    pub(crate) async fn begin(info: ArrayInfo, axis: usize) -> Result<Self> {
        let growth = Some(Growth::begin(info.clone(), axis).await?);
        Ok(Self {
            info,
            growth,
            mode: PhantomData,
        })
    }

    fn take(&mut self) -> Result<Growth> {
        self.growth.take().ok_or_else(|| {
            let what =
                "an earlier call failed or was dropped: begin another appender at the published end";
            self.info.name(Error::new(ErrorKind::Cancelled, what))
        })
    }

    /// Takes what was added so far, for elements of this shape, and the shape with the axis.
    fn take_for(&mut self, shape: &[usize]) -> Result<(Growth, Vec<u64>)> {
        let growth = self.take()?;
        match growth.shape(shape) {
            Ok(shape) => Ok((growth, shape)),
            Err(error) => {
                self.growth = Some(growth);
                Err(error)
            }
        }
    }

    fn is_due(&self) -> Result<bool> {
        // After a failure, publishing says what is wrong.
        self.growth.as_ref().map_or(Ok(true), Growth::is_due)
    }
}

impl<T> Appender<T> {
    fn add(&mut self, given: &[usize], source: Box<dyn Source + '_>) -> Result<()> {
        let (mut growth, shape) = self.take_for(given)?;
        let source = growth.with_axis(given, source);
        let n = shape[growth.axis()];
        let mut from = 0;
        while from < n {
            from += growth.take(&shape, &*source, from)?;
            if growth.is_row_full() {
                self.info.wait_change(growth.publish())?;
            }
        }
        self.growth = Some(growth);
        Ok(())
    }

    /// Makes everything that was added visible: first the chunks, then the shape. A reader sees
    /// both or, with the old shape, neither. Without new elements nothing happens.
    ///
    /// If the last shard is not full, it is rewritten, since no value is changed in place. File
    /// systems with reflinks (Btrfs, XFS) share its blocks with the new one; elsewhere its content
    /// is copied, without being decoded. n publications in a shard of s bytes copy about n·s/2
    /// bytes: [`publish_if_due`](Self::publish_if_due), or fewer frames in a shard, bounds that.
    ///
    /// # Errors
    /// [`Conflict`](ErrorKind::Conflict): another writer appended to the array or resized it;
    /// nothing was published. The array is gone, or the store fails. In any case no more can be
    /// added afterwards.
    pub fn publish(&mut self) -> Result<()> {
        let mut growth = self.take()?;
        self.info.wait_change(growth.publish())?;
        self.growth = Some(growth);
        Ok(())
    }

    /// Publishes what was added if it is at least an eighth of what its shards show already, and
    /// returns whether it did. However often this is called, each byte is written at most 10 times,
    /// and followers see all but the last eighth of a shard. A full row of shards, and
    /// [`finish`](Self::finish), publish the rest.
    ///
    /// ```
    /// use ndzarr::{Array, MemoryStore};
    ///
    /// let log = Array::<u8>::builder([0]).chunks([1]).shards([64]).create((MemoryStore::new(), "log"))?;
    /// let (mut appender, mut published) = (log.appender(0)?, 0);
    /// for n in 0..64 {
    ///     appender.push(&[n])?;
    ///     published += u32::from(appender.publish_if_due()?);
    /// }
    /// assert_eq!(published, 22);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`publish`](Self::publish).
    pub fn publish_if_due(&mut self) -> Result<bool> {
        let is_due = self.is_due()?;
        if is_due {
            self.publish()?;
        }
        Ok(is_due)
    }

    /// Publishes the rest. Dropping the appender instead leaves what was published before.
    ///
    /// # Errors
    /// As for [`publish`](Self::publish).
    pub fn finish(mut self) -> Result<()> {
        self.publish()
    }
}

impl<T: Element> Appender<T> {
    /// Adds elements after those added before, and publishes if a row of shards (of chunks, without
    /// shards) is full. `data` has the array's shape except for the length along the axis, or is
    /// one frame without the axis.
    ///
    /// # Errors
    /// `data` has another shape: the appender stays usable. A codec fails, or an error of
    /// [`publish`](Self::publish): no more can be added.
    pub fn push(&mut self, data: &(impl ToView<T> + ?Sized)) -> Result<()> {
        let info = self.info.clone();
        let data = data.to_view();
        let shape = data.shape().to_vec();
        self.add(&shape, info.box_source(data)?)
    }
}

impl Appender<Any> {
    /// Adds elements, like `push` of an appender of a Rust type.
    ///
    /// # Errors
    /// `data` has another type or shape than the array: the appender stays usable. A codec fails,
    /// or an error of [`publish`](Self::publish): no more can be added.
    pub fn push<D: Dimension>(&mut self, data: &AnyElements<D>) -> Result<()> {
        let info = self.info.clone();
        self.add(data.shape(), info.any_source(data)?)
    }
}

impl<T> Appender<T, Asynchronous> {
    async fn add(&mut self, given: Vec<usize>, source: Box<dyn Source + Send>) -> Result<()> {
        let (mut growth, shape) = self.take_for(&given)?;
        let mut source: Box<dyn Source> = growth.with_axis(&given, source);
        let n = shape[growth.axis()];
        let mut from = 0;
        while from < n {
            // The library's threads encode, so that the polling task is not blocked.
            let shape = shape.clone();
            let taken;
            (growth, source, taken) = self
                .info
                .work_on_pool(move || {
                    let taken = growth.take(&shape, &*source, from);
                    (growth, source, taken)
                })
                .await;
            from += taken?;
            if growth.is_row_full() {
                growth = self.published(growth).await?;
            }
        }
        self.growth = Some(growth);
        Ok(())
    }

    /// Publishes what was added. Returns it, so that more can be added.
    async fn published(&self, mut growth: Growth) -> Result<Growth> {
        let publish = |_| async move {
            growth.publish().await?;
            Ok(growth)
        };
        self.info.on_change_thread(publish).await
    }

    /// Asynchronous [`Appender::publish`]. If the future is dropped, no more can be added.
    ///
    /// # Errors
    /// As for [`Appender::publish`].
    pub async fn publish(&mut self) -> Result<()> {
        let growth = self.take()?;
        self.growth = Some(self.published(growth).await?);
        Ok(())
    }

    /// Asynchronous [`Appender::publish_if_due`].
    ///
    /// # Errors
    /// As for [`Appender::publish`].
    pub async fn publish_if_due(&mut self) -> Result<bool> {
        let is_due = self.is_due()?;
        if is_due {
            self.publish().await?;
        }
        Ok(is_due)
    }

    /// Asynchronous [`Appender::finish`].
    ///
    /// # Errors
    /// As for [`Appender::publish`].
    pub async fn finish(mut self) -> Result<()> {
        self.publish().await
    }
}

impl<T: Element> Appender<T, Asynchronous> {
    /// Asynchronous [`Appender::push`]. The elements are copied, and encoded by the library's
    /// threads. If the future is dropped, no more can be added.
    ///
    /// # Errors
    /// As for [`Appender::push`].
    pub async fn push(&mut self, data: &(impl ToView<T> + Sync + ?Sized)) -> Result<()> {
        let info = self.info.clone();
        let data = data.to_view();
        let shape = data.shape().to_vec();
        let source = info.box_source(data)?.piece(&vec![0; shape.len()], &shape);
        self.add(shape, source).await
    }
}

impl Appender<Any, Asynchronous> {
    /// Asynchronous [`Appender::push`]. The elements are copied, and encoded by the library's
    /// threads. If the future is dropped, no more can be added.
    ///
    /// # Errors
    /// As for [`Appender::push`].
    pub async fn push<D: Dimension>(&mut self, data: &AnyElements<D>) -> Result<()> {
        let info = self.info.clone();
        let shape = data.shape().to_vec();
        let source = info.any_source(data)?.piece(&vec![0; shape.len()], &shape);
        self.add(shape, source).await
    }
}
