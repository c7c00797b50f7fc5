//! Encodes elements that are made piece by piece.

use std::num::NonZeroUsize;
use std::ops::Range;

use super::StageKind;
use crate::memory::bounded;
use crate::traits::link::EncodePieces;
use crate::{CodecChain, CodecError, Swap, Workspace};

impl CodecChain {
    /// The length in bytes of the pieces, of whole elements, in which
    /// [`encode_pieces`](Self::encode_pieces) encodes an array of this shape; `None` if it has to
    /// be encoded at once.
    #[must_use]
    pub fn piece_len(&self, shape: &[u64]) -> Option<NonZeroUsize> {
        self.piecewise_encoder(shape)
            .map(|(_, _, piece_len)| piece_len)
    }

    /// The codec that encodes an array of this shape in pieces, and the lengths in bytes of all
    /// elements and of a piece.
    fn piecewise_encoder(&self, shape: &[u64]) -> Option<(&dyn EncodePieces, usize, NonZeroUsize)> {
        let is_raw = matches!(self.stage_kind, StageKind::Raw);
        let byte_len =
            bounded::byte_len(shape, self.elem_size).filter(|_| is_raw && self.is_c_order())?;
        let (codec, piece_len) = self.pipe().piecewise_encoder(byte_len)?;
        let is_part = piece_len.get() < byte_len && piece_len.get() % self.elem_size == 0;
        is_part.then_some((codec, byte_len, piece_len))
    }

    /// Encodes an array like [`encode`](Self::encode), but makes its elements just before they are
    /// encoded. `make` gets a range of the array in C order, in bytes, and writes its elements into
    /// memory that is aligned for every element type. It may get the same range twice.
    ///
    /// # Errors
    /// The chain has no [`piece_len`](Self::piece_len) for the shape, or an error of
    /// [`encode`](Self::encode).
    ///
    /// ```
    /// use ndzarr_codec::{CodecChain, CodecRegistry, Workspace};
    /// use ndzarr_model::{BloscConfig, CodecConfig, CodecSpec, DataType, FillValue};
    /// # use ndzarr_model::{BloscCname, BloscShuffle};
    ///
    /// # let cname = BloscCname::Lz4;
    /// # let shuffle = BloscShuffle::None;
    /// let blosc = BloscConfig { cname, clevel: 5, shuffle, typesize: None, blocksize: 0 };
    /// let specs = [CodecConfig::Bytes { endian: None }, CodecConfig::Blosc(blosc)].map(CodecSpec::from);
    /// let fill = FillValue::defined([0]);
    /// let chain = CodecChain::bind(&specs, &DataType::UInt { bits: 8 }, &fill, 1, &CodecRegistry::new())?;
    /// let elements: Vec<u8> = (0..1_000_000).map(|i| (i / 999) as u8).collect();
    /// let mut pieces = Vec::new();
    /// let mut whole = Vec::new();
    /// let mut workspace = Workspace::new();
    /// if chain.piece_len(&[1_000_000]).is_some() {
    ///     let mut make = |range, out: &mut [u8]| out.copy_from_slice(&elements[range]);
    ///     chain.encode_pieces(&[1_000_000], &mut make, &mut workspace, &mut pieces)?;
    ///     chain.encode(&elements, &[1_000_000], &mut workspace, &mut whole)?;
    ///     assert_eq!(pieces, whole);
    /// }
    /// # Ok::<_, ndzarr_codec::CodecError>(())
    /// ```
    pub fn encode_pieces(
        &self,
        shape: &[u64],
        make: &mut dyn FnMut(Range<usize>, &mut [u8]),
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        self.check_rank(shape)?;
        self.check_writable()?;
        let Some((codec, byte_len, _)) = self.piecewise_encoder(shape) else {
            return Err(CodecError::encode("chain", "not all elements at once"));
        };
        let swap: &Swap = self.stage.swap();
        let mut make_stored = |range: Range<usize>, piece: &mut [u8]| {
            make(range, piece);
            swap.apply(piece);
        };
        codec.encode_pieces(byte_len, &mut make_stored, out, workspace)
    }
}

#[cfg(test)]
mod tests {
    use ndzarr_model::{CodecConfig, CodecSpec, DataType, Endian, FillValue};

    use super::*;
    use crate::memory::sink;
    use crate::traits::link::{Capable, Link};
    use crate::{BytesToBytes, CodecRegistry, Dst};

    /// Stores bytes unchanged, in pieces.
    #[derive(Debug)]
    struct Plain {
        piece_len: usize,
    }

    impl BytesToBytes for Plain {
        fn name(&self) -> &'static str {
            "plain"
        }

        fn decode(&self, src: &[u8], dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
            sink::store("plain", src, dst)
        }

        fn encode(
            &self,
            src: &[u8],
            dst: &mut Vec<u8>,
            _: &mut Workspace,
        ) -> Result<(), CodecError> {
            dst.clear();
            dst.extend_from_slice(src);
            Ok(())
        }
    }

    impl Capable for Plain {
        fn piecewise_encoder(&self) -> Option<&dyn EncodePieces> {
            Some(self)
        }
    }

    impl EncodePieces for Plain {
        fn piece_len(&self, _: usize) -> Option<NonZeroUsize> {
            NonZeroUsize::new(self.piece_len)
        }

        fn encode_pieces(
            &self,
            byte_len: usize,
            make: &mut dyn FnMut(Range<usize>, &mut [u8]),
            dst: &mut Vec<u8>,
            _: &mut Workspace,
        ) -> Result<(), CodecError> {
            dst.clear();
            dst.resize(byte_len, 0);
            for (i, piece) in dst.chunks_mut(self.piece_len).enumerate() {
                let start = i * self.piece_len;
                make(start..start + piece.len(), piece);
            }
            Ok(())
        }
    }

    fn chain(endian: Endian, piece_len: usize) -> CodecChain {
        let specs = [CodecSpec::from(CodecConfig::Bytes {
            endian: Some(endian),
        })];
        let fill = FillValue::defined(0u16.to_ne_bytes());
        let uint16 = DataType::UInt { bits: 16 };
        let mut chain =
            CodecChain::bind(&specs, &uint16, &fill, 2, &CodecRegistry::new()).expect("a chain");
        chain.bytes_to_bytes = vec![Link::capable(Plain { piece_len })];
        chain
    }

    #[test]
    fn pieces_are_whole_elements_and_fewer_than_all() {
        let piece_len = |len| {
            chain(Endian::Little, len)
                .piece_len(&[2, 3])
                .map(NonZeroUsize::get)
        };
        assert_eq!(
            [0, 1, 2, 5, 10, 12, 14].map(piece_len),
            [None, None, Some(2), None, Some(10), None, None]
        );
        let mut transposed = chain(Endian::Little, 2);
        transposed.order = vec![1, 0];
        assert_eq!(transposed.piece_len(&[2, 3]), None);
    }

    #[test]
    fn what_is_made_is_stored_in_the_order_of_the_chain() {
        for (endian, stored) in [(Endian::Little, [1, 2, 3, 4]), (Endian::Big, [2, 1, 4, 3])] {
            let mut workspace = Workspace::new();
            let mut out = Vec::new();
            let elements: Vec<u8> = [0x0201u16, 0x0403]
                .iter()
                .flat_map(|n| n.to_ne_bytes())
                .collect();
            let mut make =
                |range: Range<usize>, piece: &mut [u8]| piece.copy_from_slice(&elements[range]);
            let chain = chain(endian, 2);
            chain
                .encode_pieces(&[1, 2], &mut make, &mut workspace, &mut out)
                .expect("it encodes");
            assert_eq!(out, stored, "{endian:?}");
            chain
                .encode_pieces(&[1, 1], &mut make, &mut workspace, &mut out)
                .expect_err("one is the whole");
            chain
                .encode_pieces(&[2], &mut make, &mut workspace, &mut out)
                .expect_err("two axes");
        }
    }
}
