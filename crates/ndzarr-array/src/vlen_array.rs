//! Elements of variable size, for arrays whose type is known only at run time.

use std::ops::Range;
use std::sync::Arc;

use ndarray::{ArrayD, CowArray};
use ndzarr_codec::Swap;
use ndzarr_engine::Tile;

use crate::convert_tile::{ConvertSource, ConvertTile};
use crate::core::Core;
use crate::error::{Error, ErrorKind, Result, not_an_element};
use crate::packed::shaped;
use crate::steps::Steps;
use crate::storage::Colour;

impl Core {
    pub(crate) async fn read_vlen(&self, region: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        let resolved = self.resolve(&region)?;
        self.check_vlen()?;
        let mut out = self.named(crate::output::blank_of(&resolved.shape(), &Vec::new()))?;
        self.read(&resolved.region(), self.vlen_tile(&mut out)).await?;
        Ok(out.into_iter().collect())
    }

    pub(crate) async fn write_vlen(
        &self,
        region: &[Range<u64>],
        elements: &[Vec<u8>],
        colour: Colour,
    ) -> Result<()> {
        let resolved = self.resolve(&region)?;
        let shape = resolved.shape();
        self.check_vlen()?;
        self.check_elements(elements.iter().map(Vec::as_slice))?;
        let source = ConvertSource {
            elements: CowArray::from(self.named(shaped(&shape, elements))?),
            axes: vec![Steps::ALL; shape.len()],
            convert: Arc::new(|element: &Vec<u8>, out: &mut Vec<u8>| out.extend_from_slice(element)),
        };
        self.write_by(colour, &resolved.region(), &source).await
    }

    fn check_vlen(&self) -> Result<()> {
        match self.data_type().elem_size() {
            None => Ok(()),
            Some(_) => {
                let what = format!("{} has a fixed size: its elements are bytes", self.data_type());
                Err(self.name(Error::new(ErrorKind::InvalidArgument, what)))
            }
        }
    }

    fn vlen_tile<'o>(&self, out: &'o mut ArrayD<Vec<u8>>) -> Box<dyn Tile + 'o> {
        let data_type = self.data_type().clone();
        let axes = out.shape().iter().map(|&n| (n, Steps::ALL)).collect();
        let convert = move |content: &[u8], _: &Swap| match data_type.is_element(content) {
            true => Ok(content.to_vec()),
            false => Err(not_an_element(content, &data_type)),
        };
        Box::new(ConvertTile { view: out.view_mut(), axes, convert: Arc::new(convert) })
    }
}
