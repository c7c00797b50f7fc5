//! Decodes a fetched value and puts its elements into a tile.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use ndzarr_codec::{Ahead, CodecChain, Elements, Layout, VlenSlot, Workspace};

use crate::tile::put_from_anywhere;
use crate::{Broken, EngineCause, Place, Tile};

/// A piece of work that fills a tile, with all its I/O done.
pub struct Job<'t> {
    pub(crate) tile: Box<dyn Tile + 't>,
    pub(crate) chain: Arc<CodecChain>,
    /// Which inner chunk of a shard it is, as in [`Broken`].
    pub(crate) inner_chunk: Vec<Vec<u64>>,
    pub(crate) work: Work,
}

/// How a tile is filled.
#[derive(Debug)]
pub(crate) enum Work {
    /// With the fill value, since nothing is stored.
    Fill,
    Decode(Decode),
    /// From parts of a raw value, without decoding.
    Windows(Vec<WindowPart>),
}

/// An encoded value and the wanted elements.
#[derive(Debug)]
pub(crate) struct Decode {
    pub(crate) encoded: Bytes,
    /// The decoded `encoded`, if [`Job::decode_two`] has produced it. Boxed, since a shard may have
    /// very many jobs.
    pub(crate) ahead: Option<Box<Ahead>>,
    /// The range of the pinned value that has to be fetched into `encoded` first.
    pub(crate) late: Option<Range<u64>>,
    pub(crate) shape: Vec<u64>,
    pub(crate) target: Target,
}

/// Which of the decoded elements go into a tile.
#[derive(Debug)]
pub(crate) struct Target {
    /// First wanted element, in axes of the tile.
    pub(crate) start: Vec<usize>,
    /// Axis `i` of the decoded elements is axis `axes[i]` of the tile.
    pub(crate) axes: Vec<usize>,
    /// Whether all decoded elements are wanted.
    pub(crate) all: bool,
}

/// A window of a raw value.
#[derive(Debug)]
pub(crate) struct WindowPart {
    pub(crate) bytes: Bytes,
    pub(crate) layout: Layout,
    pub(crate) at: Place,
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
    /// The stored value is broken; the tile's type does not allow the elements.
    pub fn run(mut self, workspace: &mut Workspace) -> Result<(), EngineCause> {
        self.attempt(workspace)
    }

    /// Like [`run`](Self::run), but fills the elements missing from a broken value and returns what
    /// is broken.
    ///
    /// # Errors
    /// The configuration does not fit; the tile's type does not allow the fill value.
    pub fn run_or_fill(mut self, workspace: &mut Workspace) -> Result<Option<Broken>, EngineCause> {
        match self.attempt(workspace) {
            Ok(()) => Ok(None),
            Err(cause) if cause.is_corrupt() => self.fill_over(cause).map(Some),
            Err(cause) => Err(cause),
        }
    }

    /// Fills the elements that a broken value does not have.
    pub(crate) fn fill_over(mut self, cause: EngineCause) -> Result<Broken, EngineCause> {
        self.tile.fill(self.chain.fill().bytes())?;
        Ok(Broken { inner_chunk: self.inner_chunk, cause })
    }

    /// The range of the pinned value that it still needs.
    pub(crate) fn late(&self) -> Option<Range<u64>> {
        match &self.work {
            Work::Decode(decode) => decode.late.clone(),
            Work::Fill | Work::Windows(_) => None,
        }
    }

    /// Takes the range that [`late`](Self::late) asked for.
    pub(crate) fn supply(&mut self, part: Bytes) {
        if let Work::Decode(decode) = &mut self.work {
            decode.encoded = part;
            decode.late = None;
        }
    }

    /// Whether [`decode_two`](Self::decode_two) may be worth a try.
    pub(crate) fn decodes_two(&self) -> bool {
        matches!(self.work, Work::Decode(_)) && self.chain.decodes_two()
    }

    /// Decodes the values of two jobs together, where that is faster than one after the other. They
    /// still have to be run, and report errors in their values then.
    pub(crate) fn decode_two(&mut self, other: &mut Job<'_>, workspace: &mut Workspace) {
        let (Work::Decode(a), Work::Decode(b)) = (&mut self.work, &mut other.work) else { return };
        let is_here = a.late.is_none() && b.late.is_none();
        if !is_here || !Arc::ptr_eq(&self.chain, &other.chain) {
            return;
        }
        let both = self.chain.decode_two([&a.encoded, &b.encoded], [&a.shape, &b.shape], workspace);
        if let Some([first, second]) = both {
            (a.ahead, b.ahead) = (Some(Box::new(first)), Some(Box::new(second)));
        }
    }

    fn attempt(&mut self, workspace: &mut Workspace) -> Result<(), EngineCause> {
        let Self { tile, chain, work, .. } = self;
        let (tile, fill) = (&mut **tile, chain.fill().bytes());
        match work {
            Work::Fill => tile.fill(fill),
            Work::Windows(parts) => parts.iter().try_for_each(|WindowPart { bytes, layout, at }| {
                let elements = Elements::Fixed { bytes, size: chain.elem_size() };
                put_from_anywhere(tile, elements, layout, at)
            }),
            Work::Decode(Decode { encoded, ahead, shape, target, .. }) => {
                if let Some(ahead) = ahead.take() {
                    return chain.put_ahead(*ahead, workspace, |elements, layout| {
                        target.put(tile, elements, layout, fill)
                    });
                }
                if target.is_in_order()
                    && let Some(out) = tile.contiguous()
                    && chain.decode_into(encoded, shape, out, workspace)?
                {
                    return Ok(());
                }
                let wanted = target.wanted(tile);
                decode(chain, encoded, shape, wanted.as_deref(), workspace, |elements, layout| {
                    target.put(tile, elements, layout, fill)
                })
            }
        }
    }

    /// A closure that decodes its value into separate memory, on any thread, for
    /// [`put`](Self::put); `None` if there is nothing to decode.
    pub(crate) fn detach(
        &mut self,
    ) -> Option<impl FnOnce(&mut Workspace) -> Result<Decoded, EngineCause> + Send + 'static> {
        let Work::Decode(Decode { encoded, shape, target, .. }) = &mut self.work else { return None };
        let (encoded, shape) = (std::mem::take(encoded), std::mem::take(shape));
        let (chain, wanted) = (Arc::clone(&self.chain), target.wanted(&*self.tile));
        Some(move |workspace: &mut Workspace| {
            let mut decoded = None;
            decode(&chain, &encoded, &shape, wanted.as_deref(), workspace, |elements, layout| {
                let (bytes, form) = match elements {
                    Elements::Fixed { bytes, size } => (bytes, DecodedForm::Fixed { size }),
                    Elements::Vlen { slots, bytes } => (bytes, DecodedForm::Vlen { slots: slots.to_vec() }),
                };
                decoded = Some(Decoded { bytes: bytes.to_vec(), form, layout: layout.clone() });
                Ok(())
            })?;
            decoded.ok_or_else(|| EngineCause::Element("no elements were decoded".to_owned()))
        })
    }

    /// Puts decoded elements in place.
    pub(crate) fn put(&mut self, decoded: &Decoded) -> Result<(), EngineCause> {
        let Work::Decode(Decode { target, .. }) = &self.work else { return Ok(()) };
        let bytes = &decoded.bytes[..];
        let elements = match &decoded.form {
            DecodedForm::Fixed { size } => Elements::Fixed { bytes, size: *size },
            DecodedForm::Vlen { slots } => Elements::Vlen { slots, bytes },
        };
        target.put(&mut *self.tile, elements, &decoded.layout, self.chain.fill().bytes())
    }
}

/// Decodes a value. Elements that are not wanted may have any value in `put`.
fn decode(
    chain: &CodecChain,
    encoded: &[u8],
    shape: &[u64],
    wanted: Option<&[Range<usize>]>,
    workspace: &mut Workspace,
    put: impl FnOnce(Elements<'_>, &Layout) -> Result<(), EngineCause>,
) -> Result<(), EngineCause> {
    match wanted {
        Some(wanted) => chain.decode_window(encoded, shape, wanted, workspace, put),
        None => chain.decode(encoded, shape, workspace, put),
    }
}

impl Target {
    /// Whether it takes all decoded elements, unchanged.
    fn is_in_order(&self) -> bool {
        self.all && self.axes.iter().enumerate().all(|(i, &axis)| i == axis)
    }

    /// Which of the decoded elements it takes, along each of their axes; `None`: all.
    fn wanted(&self, tile: &dyn Tile) -> Option<Vec<Range<usize>>> {
        if self.all {
            return None;
        }
        let shape = tile.shape();
        Some(self.axes.iter().map(|&axis| self.start[axis]..self.start[axis] + shape[axis]).collect())
    }

    fn put(
        &self,
        tile: &mut dyn Tile,
        elements: Elements<'_>,
        layout: &Layout,
        fill: &[u8],
    ) -> Result<(), EngineCause> {
        let layout = layout.permuted(&self.axes);
        let shape = tile.shape();
        let len: Vec<usize> = (shape.iter().zip(&layout.extent).zip(&self.start))
            .map(|((&n, &extent), &start)| n.min(extent.saturating_sub(start)))
            .collect();
        if len != shape {
            // An N5 block that is smaller than its place: the rest is the fill value.
            tile.fill(fill)?;
            if len.contains(&0) {
                return Ok(());
            }
        }
        let at = Place { src: self.start.clone(), dst: vec![0; len.len()], len };
        put_from_anywhere(tile, elements, &layout, &at)
    }
}
