//! `Job`: decodes the stored bytes of a chunk or inner chunk into a tile.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use ndzarr_codec::{Ahead, Elements, Layout, Workspace};

use crate::cache::{Decoded, Held};
use crate::error::bad_answer;
use crate::reading::wanted::{Content, Wanted};
use crate::tile::put_from_anywhere;
use crate::{Broken, EngineCause, Tile};

/// The work that fills a tile, with all its I/O done.
pub struct Job<'t> {
    tile: Box<dyn Tile + 't>,
    wanted: Wanted,
    content: Content,
    /// The decoded content, if [`decode_two`](Self::decode_two) has produced it. Boxed, since a
    /// shard may have very many jobs.
    ahead: Option<Box<Ahead>>,
}

impl<'t> Job<'t> {
    pub(crate) fn new(wanted: Wanted, content: Content, tile: Box<dyn Tile + 't>) -> Self {
        Self {
            tile,
            wanted,
            content,
            ahead: None,
        }
    }

    /// Fills its part of the output.
    ///
    /// # Errors
    /// The stored value is broken; the tile's type does not allow the elements.
    pub fn run(mut self, workspace: &mut Workspace) -> Result<(), EngineCause> {
        self.attempt(workspace).map_err(|cause| self.within(cause))
    }

    /// Names the inner chunk in an error, if the job decodes one.
    pub(crate) fn within(&self, cause: EngineCause) -> EngineCause {
        cause.within(&self.wanted.inner_chunk)
    }

    /// Fills the output with the fill value, because the stored value is broken.
    pub(crate) fn fill_over(mut self, cause: EngineCause) -> Result<Broken, EngineCause> {
        self.tile.fill(self.wanted.chain.fill().bytes())?;
        Ok(Broken::new(&self.wanted.inner_chunk, cause))
    }

    /// The range of the pinned value that it still needs.
    pub(crate) fn late(&self) -> Option<Range<u64>> {
        match &self.content {
            Content::Late(range) => Some(range.clone()),
            Content::Missing | Content::Whole(_) | Content::Decoded(_) | Content::Windows(_) => {
                None
            }
        }
    }

    /// Takes the range that [`late`](Self::late) asked for.
    pub(crate) fn supply(&mut self, part: Bytes) {
        self.content = Content::Whole(part);
    }

    /// True if [`decode_two`](Self::decode_two) may be worth a try.
    pub(crate) fn decodes_two(&self) -> bool {
        matches!(self.content, Content::Whole(_))
            && self.wanted.slot.is_none()
            && self.wanted.chain.decodes_two()
    }

    /// Decodes the values of two jobs together, where that is faster than one after the other. They
    /// still have to be run, and report errors in their values then.
    pub(crate) fn decode_two(&mut self, other: &mut Job<'_>, workspace: &mut Workspace) {
        let (Content::Whole(a), Content::Whole(b)) = (&self.content, &other.content) else {
            return;
        };
        let chain = &self.wanted.chain;
        if !Arc::ptr_eq(chain, &other.wanted.chain) {
            return;
        }
        let both = chain.decode_two([a, b], [&self.wanted.shape, &other.wanted.shape], workspace);
        if let Some(both) = both {
            [self.ahead, other.ahead] = both.map(|ahead| Some(Box::new(ahead)));
        }
    }

    /// True if it decodes a whole stored value.
    pub(crate) fn is_for_whole_value(&self) -> bool {
        self.wanted.at.is_none() && matches!(self.content, Content::Whole(_))
    }

    /// [Attempts](Self::attempt) it with another value.
    pub(crate) fn attempt_with(
        &mut self,
        content: Content,
        workspace: &mut Workspace,
    ) -> Result<(), EngineCause> {
        self.content = content;
        self.attempt(workspace)
    }

    /// Fills its part of the output. A job that failed can be run again.
    pub(crate) fn attempt(&mut self, workspace: &mut Workspace) -> Result<(), EngineCause> {
        let Self {
            tile,
            wanted,
            content,
            ahead,
        } = self;
        let tile = &mut **tile;
        let chain = &wanted.chain;
        if let Some(ahead) = ahead.take() {
            return chain.put_ahead(*ahead, workspace, |elements, layout| {
                put(wanted, tile, elements, layout)
            });
        }
        match content {
            Content::Missing => tile.fill(chain.fill().bytes()),
            Content::Late(_) => Err(bad_answer()),
            Content::Decoded(decoded) => put(wanted, tile, decoded.elements(), &decoded.layout),
            Content::Windows(windows) => windows.iter().try_for_each(|(window, bytes)| {
                let elements = Elements::Fixed {
                    bytes,
                    size: chain.elem_size(),
                };
                let (part, at) = wanted.window_part(window);
                put_from_anywhere(tile, elements, &part, &at)
            }),
            Content::Whole(encoded) if wanted.slot.is_some() => {
                let decoded = decode_and_keep(wanted, encoded, workspace)?;
                put(wanted, tile, decoded.elements(), &decoded.layout)
            }
            Content::Whole(encoded) => {
                if wanted.is_all()
                    && wanted.axes.is_sorted()
                    && let Some(out) = tile.contiguous()
                    && chain.decode_into(encoded, &wanted.shape, out, workspace)?
                {
                    return Ok(());
                }
                decode(wanted, encoded, workspace, |elements, layout| {
                    put(wanted, tile, elements, layout)
                })
            }
        }
    }

    /// A closure that decodes its value into separate memory, on any thread, for
    /// [`put`](Self::put); `None` if there is nothing to decode.
    pub(crate) fn detach(
        &mut self,
    ) -> Option<impl FnOnce(&mut Workspace) -> Result<Arc<Decoded>, EngineCause> + Send + 'static>
    {
        let Content::Whole(encoded) = &mut self.content else {
            return None;
        };
        let encoded = std::mem::take(encoded);
        let wanted = self.wanted.clone();
        Some(move |workspace: &mut Workspace| {
            decode_and_keep(&wanted, &encoded, workspace)
                .map_err(|cause| cause.within(&wanted.inner_chunk))
        })
    }

    /// Puts decoded elements in place.
    pub(crate) fn put(&mut self, decoded: &Decoded) -> Result<(), EngineCause> {
        let Self { wanted, tile, .. } = self;
        put(wanted, &mut **tile, decoded.elements(), &decoded.layout)
            .map_err(|cause| cause.within(&wanted.inner_chunk))
    }
}

/// Decodes a value into separate memory, all of it if it is kept in a cache.
fn decode_and_keep(
    wanted: &Wanted,
    encoded: &Bytes,
    workspace: &mut Workspace,
) -> Result<Arc<Decoded>, EngineCause> {
    let mut decoded = None;
    let take = |elements: Elements<'_>, layout: &Layout| {
        decoded = Some(Arc::new(Decoded::of(elements, layout)));
        Ok(())
    };
    match &wanted.slot {
        Some(_) => wanted
            .chain
            .decode(encoded, &wanted.shape, workspace, take)?,
        None => decode(wanted, encoded, workspace, take)?,
    }
    let decoded =
        decoded.ok_or_else(|| EngineCause::Element("no elements were decoded".to_owned()))?;
    if let Some(slot) = &wanted.slot {
        let held = if slot.keeps_encoded() {
            Held::Encoded(encoded.clone())
        } else {
            Held::Decoded(Arc::clone(&decoded))
        };
        slot.keep(&wanted.shape, held);
    }
    Ok(decoded)
}

/// Decodes a value. Elements that are not wanted may have any value in `put`.
fn decode(
    wanted: &Wanted,
    encoded: &[u8],
    workspace: &mut Workspace,
    put: impl FnOnce(Elements<'_>, &Layout) -> Result<(), EngineCause>,
) -> Result<(), EngineCause> {
    let Wanted {
        chain, shape, want, ..
    } = wanted;
    if wanted.is_all() {
        return chain.decode(encoded, shape, workspace, put);
    }
    let window: Vec<Range<usize>> = want
        .ranges()
        .iter()
        .map(|range| range.start as usize..range.end as usize)
        .collect();
    chain.decode_window(encoded, shape, &window, workspace, put)
}

/// Puts the wanted ones of decoded elements in place.
fn put(
    wanted: &Wanted,
    tile: &mut dyn Tile,
    elements: Elements<'_>,
    layout: &Layout,
) -> Result<(), EngineCause> {
    let part = wanted.part(layout);
    if part.extent != tile.shape() {
        // An N5 block that is smaller than its place: the rest is the fill value.
        tile.fill(wanted.chain.fill().bytes())?;
        if part.extent.contains(&0) {
            return Ok(());
        }
    }
    put_from_anywhere(tile, elements, &part, &vec![0; part.extent.len()])
}
