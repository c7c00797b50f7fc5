//! Elements of variable size, for arrays whose type is known only at run time: their contents.

use ndarray::{ArrayView, IxDyn};

use crate::arrays::info::ArrayInfo;
use crate::error::{Error, ErrorKind, Result};
use crate::mode::Mode;
use crate::selections::resolved::Resolved;

impl ArrayInfo {
    pub(crate) async fn read_vlen(&self, resolved: &Resolved) -> Result<Vec<Vec<u8>>> {
        self.check_vlen()?;
        Ok(self.read_elements(resolved).await?.into_iter().collect())
    }

    pub(crate) async fn write_vlen<M: Mode>(
        &self,
        resolved: &Resolved,
        elements: &[Vec<u8>],
    ) -> Result<()> {
        self.check_vlen()?;
        let elements = ArrayView::from_shape(IxDyn(&resolved.shape()), elements);
        let elements = elements.map_err(|error| Error::new(ErrorKind::WrongShape, error));
        self.write_elements::<M, _>(resolved, self.named(elements)?)
            .await
    }

    fn check_vlen(&self) -> Result<()> {
        match self.data_type().elem_size() {
            None => Ok(()),
            Some(_) => {
                let what = format!(
                    "{} has a fixed size: its elements are bytes",
                    self.data_type()
                );
                Err(self.name(Error::new(ErrorKind::InvalidArgument, what)))
            }
        }
    }
}
