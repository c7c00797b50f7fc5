//! Reads raw chunks a few layers at a time.

use std::ops::Range;

use ndzarr_codec::{Access, CodecChain, Elements, Layout, Swap, c_strides};
use ndzarr_grid::Region;
use ndzarr_store::{FetchedPieces, Key, Store};

use crate::reading::wanted::{REQUEST_BYTES, WINDOW_BYTES};
use crate::threads::for_each::begin_of;
use crate::threads::scratch::with_workspace;
use crate::tile::put_from_anywhere;
use crate::{ChunkedArray, EngineCause, Tile};

/// About this many bytes of a raw chunk are read at once. They stay in the cache of a core even if
/// several callers share it.
const BYTES_AT_ONCE: usize = 64 << 10;

/// Reads from a raw chunk a few layers at a time, which stay in the cache until they are put in
/// place. If it returns `false`, the store does not support this or the value is invalid; nothing
/// is lost, and the general path reports errors.
pub(crate) fn read(
    array: &ChunkedArray,
    store: &dyn Store,
    key: &Key,
    chunk: &[u64],
    want: &Region,
    tile: &mut dyn Tile,
) -> Result<bool, EngineCause> {
    let chain = &array.chain;
    let shape = &array.shape_of(chunk)[..];
    let Access::Raw { swap } = chain.access() else {
        return Ok(false);
    };
    let Some(layers) = Layers::new(chain, shape, want, swap) else {
        return Ok(false);
    };
    let size = chain.elem_size();
    let was_blank = tile.is_blank();
    let wanted = (layers.range.end - layers.range.start) as usize;
    let fetched = if let Some(out) = tile.contiguous().filter(|out| out.len() == wanted) {
        let all = std::slice::from_ref(&layers.range);
        let fetched = store.fetch_pieces(key, layers.byte_len, all, out, &mut |_| {});
        if matches!(fetched, Ok(FetchedPieces::All)) {
            layers.layout.swap.apply(out);
        }
        fetched
    } else {
        let axis = layers.axis;
        let mut part = layers.layout.clone();
        let n_layers = part.extent[axis];
        let at_once = (BYTES_AT_ONCE / layers.layer).max(1);
        let (first, ranges) = layers.begun_anywhere(at_once);
        let mut at = vec![0; shape.len()];
        at[axis] = first;
        let mut put = Ok(());
        let fetched = with_workspace(|workspace| {
            let Ok(mut scratch) = workspace.take(at_once.saturating_mul(layers.layer).min(wanted))
            else {
                return Ok(FetchedPieces::Unsupported);
            };
            let mut take = |bytes: &[u8]| {
                part.extent[axis] = bytes.len().div_ceil(layers.layer);
                let elements = Elements::Fixed { bytes, size };
                if put.is_ok() {
                    put = if at_once < n_layers {
                        tile.put(elements, &part, &at)
                    } else {
                        put_from_anywhere(tile, elements, &part, &at)
                    };
                }
                at[axis] = (at[axis] + part.extent[axis]) % n_layers;
            };
            let fetched = store.fetch_pieces(
                key,
                layers.byte_len,
                &ranges,
                scratch.bytes_mut(),
                &mut take,
            );
            workspace.give(scratch);
            fetched
        });
        if put.is_err() {
            return Ok(false);
        }
        fetched
    };
    match fetched {
        Ok(FetchedPieces::All) => {
            array.presence().confirm();
            Ok(true)
        }
        Ok(FetchedPieces::Missing) if array.fallback_key(chunk).is_none() => {
            array.presence().note_absent(chunk);
            let fill = chain.fill().bytes();
            // Memory that is already zero stays untouched.
            if !was_blank || fill.iter().any(|&byte| byte != 0) {
                tile.fill(fill)?;
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// The layers of a raw chunk in C order that overlap a region of it. Their wanted parts are close
/// together, so that they are read as one range.
struct Layers {
    /// Size of the chunk in bytes.
    byte_len: u64,
    /// Bytes from the first wanted element to the last one.
    range: Range<u64>,
    /// Layout of the wanted elements within the range.
    layout: Layout,
    /// The axis of the layers.
    axis: usize,
    /// Bytes from one layer to the next.
    layer: usize,
}

impl Layers {
    fn new(chain: &CodecChain, shape: &[u64], want: &Region, swap: Swap) -> Option<Self> {
        let size = chain.elem_size();
        // Limits all products of lengths below to what memory can hold.
        let byte_len = chain
            .encoded_len(shape)
            .filter(|&len| len > 0 && chain.is_c_order())?;
        let chunk: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
        let extent: Vec<usize> = want.shape().iter().map(|&n| n as usize).collect();
        let strides = c_strides(&chunk);
        let axis = extent
            .iter()
            .position(|&n| n > 1)
            .or(shape.len().checked_sub(1))?;
        let first: usize = want
            .start()
            .iter()
            .zip(&strides)
            .map(|(&at, &stride)| at as usize * stride as usize)
            .sum();
        // From the first wanted element to the end of the last, along ever more axes.
        let mut span = 1;
        for (&n, &stride) in extent.iter().zip(&strides).skip(axis).rev() {
            let gap = (stride as usize).checked_sub(span)? * size;
            if n > 1 && gap as u64 > REQUEST_BYTES {
                return None;
            }
            span += n.checked_sub(1)? * stride as usize;
        }
        let range = (first * size) as u64..((first + span) * size) as u64;
        let layer = strides[axis] as usize * size;
        // One layer is in memory at once: no more than a window, or than is wanted, however large
        // the document says that chunks are.
        if layer as u64 > WINDOW_BYTES.max((extent.iter().product::<usize>() * size) as u64) {
            return None;
        }
        let layout = Layout {
            offset: 0,
            extent,
            strides,
            swap,
        };
        Some(Self {
            byte_len: byte_len as u64,
            range,
            layout,
            axis,
            layer,
        })
    }

    /// The layer to begin with, see [`begin_of`], the ranges from it on and those before it.
    fn begun_anywhere(&self, at_once: usize) -> (usize, [Range<u64>; 2]) {
        let first = begin_of(self.layout.extent[self.axis].div_ceil(at_once)) * at_once;
        let middle = self.range.start + (first * self.layer) as u64;
        (first, [middle..self.range.end, self.range.start..middle])
    }
}
