//! Decodes a fetched value and puts its elements into tiles.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use ndzarr_codec::{Ahead, CodecChain, Elements, Layout, VlenSlot, Workspace};

use crate::tile::put_from_anywhere;
use crate::{Broken, EngineCause, Place, Tile};

/// A piece of work that fills a tile. All I/O for it is done.
pub enum Job<'t> {
    /// Nothing is stored: fill.
    Fill {
        /// Where to.
        tile: Box<dyn Tile + 't>,
        /// The fill value.
        fill: Vec<u8>,
    },
    /// An encoded value to decode.
    Decode {
        /// What to decode; borrows nothing.
        work: DecodeWork,
        /// Where to.
        sink: Sink<'t>,
    },
    /// Parts of a raw value: nothing to decode.
    Windows {
        /// Where to.
        tile: Box<dyn Tile + 't>,
        /// The parts.
        parts: Vec<WindowPart>,
        /// Size of an element in bytes.
        size: usize,
        /// The fill value.
        fill: Vec<u8>,
        /// Which inner chunk of a shard it is, as in [`Broken`].
        inner_chunk: Vec<Vec<u64>>,
    },
}

/// An encoded value with what it takes to decode it.
#[derive(Debug)]
pub struct DecodeWork {
    pub(crate) chain: Arc<CodecChain>,
    pub(crate) encoded: Bytes,
    /// What `encoded` decodes to, if [`Job::decode_two`] has done that. In a box: a shard may have very many jobs.
    pub(crate) ahead: Option<Box<Ahead>>,
    /// What of the pinned value is to be fetched into `encoded` first.
    pub(crate) late: Option<Range<u64>>,
    pub(crate) shape: Vec<u64>,
    pub(crate) inner_chunk: Vec<Vec<u64>>,
}

/// A tile, and what of the decoded elements goes into it.
pub struct Sink<'t> {
    pub(crate) tile: Box<dyn Tile + 't>,
    /// First wanted element, in axes of the tile.
    pub(crate) start: Vec<usize>,
    /// Axis `i` of the decoded elements is axis `axes[i]` of the tile.
    pub(crate) axes: Vec<usize>,
    /// Whether all decoded elements are wanted.
    pub(crate) all: bool,
}

/// A window of a raw value.
#[derive(Debug)]
pub struct WindowPart {
    pub(crate) bytes: Bytes,
    pub(crate) layout: Layout,
    pub(crate) dst: Vec<usize>,
}

/// Decoded elements that borrow nothing.
#[derive(Debug)]
pub(crate) struct Decoded {
    bytes: Vec<u8>,
    form: DecodedForm,
    layout: Layout,
}

#[derive(Debug)]
enum DecodedForm {
    Fixed { size: usize },
    Vlen { slots: Vec<VlenSlot> },
}

impl Job<'_> {
    /// Fills its part of the output.
    ///
    /// # Errors
    /// A stored value that is broken; elements that the tile's type does not allow.
    pub fn run(mut self, workspace: &mut Workspace) -> Result<(), EngineCause> {
        self.attempt(workspace)
    }

    /// As [`run`](Self::run), but what a broken value has no elements for is filled, and what is broken is given back.
    ///
    /// # Errors
    /// A configuration that does not fit; a fill value that the tile's type does not allow.
    pub fn run_or_fill(mut self, workspace: &mut Workspace) -> Result<Option<Broken>, EngineCause> {
        match self.attempt(workspace) {
            Ok(()) => Ok(None),
            Err(cause) if cause.is_corrupt() => self.fill_over(cause).map(Some),
            Err(cause) => Err(cause),
        }
    }

    /// What of the pinned value it still needs.
    pub(crate) fn late(&self) -> Option<Range<u64>> {
        match self {
            Self::Decode { work, .. } => work.late.clone(),
            Self::Fill { .. } | Self::Windows { .. } => None,
        }
    }

    /// Takes what [`late`](Self::late) asked for.
    pub(crate) fn supply(&mut self, part: Bytes) {
        if let Self::Decode { work, .. } = self {
            work.encoded = part;
            work.late = None;
        }
    }

    /// Whether [`decode_two`](Self::decode_two) may be worth a try.
    pub(crate) fn decodes_two(&self) -> bool {
        matches!(self, Self::Decode { work, .. } if work.chain.decodes_two())
    }

    /// Decodes the values of two jobs at once, where that takes less time than one after the other; they still have to be run,
    /// and tell then what is wrong with their values.
    pub(crate) fn decode_two(jobs: [&mut Self; 2], workspace: &mut Workspace) {
        let [Self::Decode { work: a, .. }, Self::Decode { work: b, .. }] = jobs else { return };
        let is_here = a.late.is_none() && b.late.is_none();
        if !is_here || !Arc::ptr_eq(&a.chain, &b.chain) {
            return;
        }
        let both = a.chain.decode_two([&a.encoded, &b.encoded], [&a.shape, &b.shape], workspace);
        if let Some([first, second]) = both {
            (a.ahead, b.ahead) = (Some(Box::new(first)), Some(Box::new(second)));
        }
    }

    fn fill_over(self, cause: EngineCause) -> Result<Broken, EngineCause> {
        let (mut tile, fill, inner_chunk) = match self {
            Self::Fill { tile, fill } => (tile, fill, Vec::new()),
            Self::Windows { tile, fill, inner_chunk, .. } => (tile, fill, inner_chunk),
            Self::Decode { work, sink } => (sink.tile, work.fill(), work.inner_chunk),
        };
        tile.fill(&fill)?;
        Ok(Broken { inner_chunk, cause })
    }

    fn attempt(&mut self, workspace: &mut Workspace) -> Result<(), EngineCause> {
        match self {
            Self::Fill { tile, fill } => tile.fill(fill),
            Self::Windows { tile, parts, size, .. } => parts.iter().try_for_each(|part| {
                let len = part.layout.extent.clone();
                let at = Place { src: vec![0; len.len()], dst: part.dst.clone(), len };
                let elements = Elements::Fixed { bytes: &part.bytes, size: *size };
                put_from_anywhere(&mut **tile, elements, &part.layout, &at)
            }),
            Self::Decode { work, sink } => {
                if let Some(ahead) = work.ahead.take() {
                    return work.chain.put_ahead(*ahead, workspace, |elements, layout| {
                        sink.put(elements, layout, work.chain.fill().bytes())
                    });
                }
                let in_order = sink.axes.iter().enumerate().all(|(i, &axis)| i == axis);
                if sink.all
                    && in_order
                    && let Some(out) = sink.tile.contiguous()
                    && work.chain.decode_into(&work.encoded, &work.shape, out, workspace)?
                {
                    return Ok(());
                }
                let wanted = sink.wanted();
                work.decode_wanted(wanted.as_deref(), workspace, |elements, layout| {
                    sink.put(elements, layout, work.chain.fill().bytes())
                })
            }
        }
    }
}

impl DecodeWork {
    /// Decodes into memory of its own, for another thread to put in place.
    pub(crate) fn decode(
        self,
        wanted: Option<&[Range<usize>]>,
        workspace: &mut Workspace,
    ) -> Result<Decoded, EngineCause> {
        let mut decoded = None;
        self.decode_wanted(wanted, workspace, |elements, layout| {
            let (bytes, form) = match elements {
                Elements::Fixed { bytes, size } => (bytes, DecodedForm::Fixed { size }),
                Elements::Vlen { slots, bytes } => (bytes, DecodedForm::Vlen { slots: slots.to_vec() }),
            };
            decoded = Some(Decoded { bytes: bytes.to_vec(), form, layout: layout.clone() });
            Ok::<_, EngineCause>(())
        })?;
        decoded.ok_or_else(|| EngineCause::Element("no elements were decoded".to_owned()))
    }

    /// Of elements that are not wanted, `put` may be given any value.
    fn decode_wanted(
        &self,
        wanted: Option<&[Range<usize>]>,
        workspace: &mut Workspace,
        put: impl FnOnce(Elements<'_>, &Layout) -> Result<(), EngineCause>,
    ) -> Result<(), EngineCause> {
        let Self { chain, encoded, shape, .. } = self;
        match wanted {
            Some(wanted) => chain.decode_window(encoded, shape, wanted, workspace, put),
            None => chain.decode(encoded, shape, workspace, put),
        }
    }

    pub(crate) fn fill(&self) -> Vec<u8> {
        self.chain.fill().bytes().to_vec()
    }
}

impl Sink<'_> {
    /// Which of the decoded elements it takes, along each of their axes; `None`: all.
    pub(crate) fn wanted(&self) -> Option<Vec<Range<usize>>> {
        if self.all {
            return None;
        }
        let shape = self.tile.shape();
        Some(self.axes.iter().map(|&axis| self.start[axis]..self.start[axis] + shape[axis]).collect())
    }

    pub(crate) fn put_decoded(&mut self, decoded: &Decoded, fill: &[u8]) -> Result<(), EngineCause> {
        let bytes = &decoded.bytes[..];
        let elements = match &decoded.form {
            DecodedForm::Fixed { size } => Elements::Fixed { bytes, size: *size },
            DecodedForm::Vlen { slots } => Elements::Vlen { slots, bytes },
        };
        self.put(elements, &decoded.layout, fill)
    }

    fn put(&mut self, elements: Elements<'_>, layout: &Layout, fill: &[u8]) -> Result<(), EngineCause> {
        let layout = layout.permuted(&self.axes);
        let shape = self.tile.shape();
        let len: Vec<usize> = (shape.iter().zip(&layout.extent).zip(&self.start))
            .map(|((&n, &extent), &start)| n.min(extent.saturating_sub(start)))
            .collect();
        if len != shape {
            // An N5 block that is smaller than its place: the rest is fill.
            self.tile.fill(fill)?;
            if len.contains(&0) {
                return Ok(());
            }
        }
        let at = Place { src: self.start.clone(), dst: vec![0; len.len()], len };
        put_from_anywhere(&mut *self.tile, elements, &layout, &at)
    }
}
