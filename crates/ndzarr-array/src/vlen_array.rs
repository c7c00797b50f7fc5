//! Elements of variable size of arrays whose type is known at run time only.

use std::ops::Range;
use std::sync::Arc;

use ndarray::CowArray;
use ndzarr_codec::Swap;
use ndzarr_model::DataType;

use crate::any_array::{AnyArray, shaped};
use crate::convert_tile::{ConvertSource, ConvertTile};
use crate::error::{Error, ErrorKind, Result};
use crate::steps::Steps;

impl AnyArray {
    /// Reads a region of elements of variable size, one range for each axis: what each of them holds. Of a text that is
    /// UTF-8, of a JSON value its text, of a list its numbers in this machine's byte order. Elements of chunks that are not
    /// stored are the fill value.
    ///
    /// # Errors
    /// As [`read_bytes`](Self::read_bytes); elements of a fixed size.
    ///
    /// ```
    /// use ndzarr_array::{AnyArray, ArrayRequest, CreateOptions, DataType, Format};
    /// use ndzarr_store::MemoryStore;
    ///
    /// let request = ArrayRequest::new(vec![3], vec![2], DataType::String);
    /// let options = CreateOptions::new(Format::Zarr3);
    /// let texts = AnyArray::create(MemoryStore::new(), "texts", &request, &options)?;
    /// texts.write_vlen(&[1..3], &[b"a".to_vec(), "ü".as_bytes().to_vec()])?;
    /// assert_eq!(texts.read_vlen(&[0..3])?, [&b""[..], b"a", b"\xc3\xbc"]);
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    pub fn read_vlen(&self, region: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        let resolved = self.core.resolve(&region)?;
        let mut out = self.blank_vlen(&resolved.shape())?;
        self.core.read(&resolved.region(), self.vlen_tile(&mut out))?;
        Ok(out.into_iter().collect())
    }

    /// As [`read_vlen`](Self::read_vlen), without blocking the task.
    ///
    /// # Errors
    /// As [`read_vlen`](Self::read_vlen).
    pub async fn read_vlen_async(&self, region: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        if self.core.storage.is_blocking() {
            let region = region.to_vec();
            return self.core.elsewhere(move |core| Self { core }.read_vlen(&region)).await;
        }
        let resolved = self.core.resolve(&region)?;
        let mut out = self.blank_vlen(&resolved.shape())?;
        self.core.read_async(&resolved.region(), self.vlen_tile(&mut out)).await?;
        Ok(out.into_iter().collect())
    }

    /// Writes a region of elements of variable size, one range for each axis, from what each of them holds, in C order.
    ///
    /// # Errors
    /// The region does not fit the array; `elements` are not as many as the region has, or not such of the type; the
    /// store.
    pub fn write_vlen(&self, region: &[Range<u64>], elements: &[Vec<u8>]) -> Result<()> {
        let resolved = self.core.resolve(&region)?;
        let shape = resolved.shape();
        self.check_vlen()?;
        self.check_elements(elements.iter().map(Vec::as_slice))?;
        let source = ConvertSource {
            elements: CowArray::from(self.core.named(shaped(&shape, elements))?),
            axes: vec![Steps::ALL; shape.len()],
            convert: Arc::new(|element: &Vec<u8>, out: &mut Vec<u8>| out.extend_from_slice(element)),
        };
        self.core.write(&resolved.region(), &source)
    }

    fn check_vlen(&self) -> Result<()> {
        match self.data_type().elem_size() {
            None => Ok(()),
            Some(_) => {
                let what = format!("{} has a fixed size: its elements are bytes", self.data_type());
                Err(self.core.name(Error::new(ErrorKind::InvalidArgument, what)))
            }
        }
    }

    fn blank_vlen(&self, shape: &[usize]) -> Result<ndarray::ArrayD<Vec<u8>>> {
        self.check_vlen()?;
        self.core.named(crate::output::blank_of(shape, &Vec::new()))
    }

    fn vlen_tile<'o>(&self, out: &'o mut ndarray::ArrayD<Vec<u8>>) -> Box<dyn ndzarr_engine::Tile + 'o> {
        let data_type = self.data_type().clone();
        let axes = out.shape().iter().map(|&n| (n, Steps::ALL)).collect();
        let convert = move |content: &[u8], _: &Swap| match data_type.is_element(content) {
            true => Ok(content.to_vec()),
            false => Err(not_an_element(content, &data_type)),
        };
        Box::new(ConvertTile { view: out.view_mut(), axes, convert: Arc::new(convert) })
    }

    pub(crate) fn check_elements<'e>(&self, mut elements: impl Iterator<Item = &'e [u8]>) -> Result<()> {
        let data_type = self.data_type();
        if data_type.is_any_bits() {
            return Ok(());
        }
        match elements.find(|element| !data_type.is_element(element)) {
            None => Ok(()),
            Some(element) => {
                let what = not_an_element(element, data_type);
                Err(self.core.name(Error::new(ErrorKind::InvalidArgument, what)))
            }
        }
    }
}

/// What is wrong with an element, which may be long.
pub(crate) fn not_an_element(element: &[u8], data_type: &DataType) -> String {
    let dots = if element.len() > 16 { " …" } else { "" };
    format!("the bytes {:?}{dots} are no {data_type}", &element[..element.len().min(16)])
}
