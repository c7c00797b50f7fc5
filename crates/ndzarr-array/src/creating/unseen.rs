//! An array whose elements come before its document, so that it does not open before it is whole.

use ndzarr_codec::CodecRegistry;
use ndzarr_metadata::{CreateOptions, Creation};

use crate::arrays::info::ArrayInfo;
use crate::error::{Error, Result};
use crate::hierarchy::note::{Note, at_end};
use crate::storage::Storage;

/// What is left to do for such an array.
#[derive(Clone, Debug)]
pub(crate) struct Unseen {
    storage: Storage,
    note: Note,
    creation: Creation,
    create: CreateOptions,
}

impl Unseen {
    /// Begins an array, as the note of a copy does: the array publishes nothing more once another
    /// one is begun or made in its place.
    pub(crate) async fn begin(
        storage: Storage,
        creation: Creation,
        create: &CreateOptions,
        registry: &CodecRegistry,
    ) -> Result<(ArrayInfo, Self)> {
        let note = Note::of_new(&creation.node);
        let fenced = note.fence(&storage)?;
        let mut info =
            ArrayInfo::new(fenced, creation.node.clone(), registry).map_err(Error::of_request)?;
        info.options.concurrent_update = create.concurrent_update;
        info.data().map_err(Error::of_request)?;
        note.begin(&storage, &creation, create.existing).await?;
        info.data()?.presence().confirm();
        Ok((
            info,
            Self {
                storage,
                note,
                creation,
                create: create.clone(),
            },
        ))
    }

    /// Writes the document. The result is the array that others open.
    pub(crate) async fn finish(
        self,
        begun: &ArrayInfo,
        registry: &CodecRegistry,
    ) -> Result<ArrayInfo> {
        let Self {
            storage,
            note,
            creation,
            create,
        } = self;
        let mut info = ArrayInfo::new(storage.clone(), creation.node.clone(), registry)?;
        info.options = begun.options.clone();
        info.view.clone_from(&begun.view);
        let _changing = info.changing();
        note.end(
            &storage,
            &at_end(creation, &create),
            create.concurrent_update,
        )
        .await?;
        Ok(info)
    }
}
