use ndzarr_codec::c_strides;
use ndzarr_codec::strided::{self, Strided};

use crate::Source;

/// Elements in C order in memory of their own.
#[derive(Debug)]
pub(crate) struct Piece {
    bytes: Vec<u8>,
    strides: Vec<isize>,
    size: usize,
}

impl Piece {
    pub(crate) fn gather(source: &dyn Source, start: &[usize], len: &[usize], size: usize) -> Self {
        let strides = c_strides(len);
        let mut bytes = vec![0; size * len.iter().product::<usize>()];
        source.gather(start, len, &mut bytes, 0, &strides);
        Self { bytes, strides, size }
    }
}

impl Source for Piece {
    fn gather(&self, start: &[usize], len: &[usize], out: &mut [u8], offset: usize, strides: &[isize]) {
        let at = start.iter().zip(&self.strides).map(|(&at, &stride)| at * stride as usize).sum();
        let from = Strided { offset: at, strides: &self.strides };
        strided::copy(len, self.size, &self.bytes, from, out, Strided { offset, strides });
    }
}
