//! Creates and removes nodes.

use ndzarr_engine::ConcurrentUpdate;
use ndzarr_metadata::{
    Claim, Creation, Document, DocumentChange, Erasure, ExistingDocument, Limits, complete_document,
};
use ndzarr_store::{Key, Precondition, Put};

use super::{Published, Storage};
use crate::creating::occupied;
use crate::creating::replaces_source::removal;
use crate::error::{Error, ErrorKind, Result};
use crate::hierarchy::consolidated;

/// The place of a new node, which a note may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Site {
    Free,
    Noted,
}

impl Storage {
    /// Carries out the creation of a node. If several callers create one at the same path at the
    /// same time, all but one of them find it existing.
    pub(crate) async fn create(&self, creation: &Creation, policy: ConcurrentUpdate) -> Result<()> {
        self.create_at(creation, policy, Site::Free).await
    }

    /// Carries out the creation at the end of a copy, whose note was at the place while its
    /// elements were written.
    pub(crate) async fn create_noted(
        &self,
        creation: &Creation,
        policy: ConcurrentUpdate,
    ) -> Result<()> {
        self.create_at(creation, policy, Site::Noted).await
    }

    async fn create_at(
        &self,
        creation: &Creation,
        policy: ConcurrentUpdate,
        site: Site,
    ) -> Result<()> {
        occupied::check_replaced(self, creation).await?;
        let limits = &creation.node.context.limits;
        let erasure = removal(creation);
        let mut keys = creation.erase.clone();
        keys.extend(creation.put.iter().map(|document| document.key.clone()));
        let is_own = |document: &&Document| {
            matches!(
                document.existing,
                ExistingDocument::Refuse | ExistingDocument::Replace
            )
        };
        match creation.claim_of_new() {
            None => {
                self.remove(&erasure).await?;
                for document in &creation.put {
                    self.put_new(document, limits).await?;
                }
            }
            Some(claim) => {
                for document in creation.put.iter().filter(|document| !is_own(document)) {
                    self.put_new(document, limits).await?;
                }
                let own: Vec<&Document> = creation.put.iter().filter(is_own).collect();
                self.create_claimed(claim, &erasure, &own, limits, site)
                    .await?;
                keys.push(claim.group.key.clone());
            }
        }
        let change = DocumentChange {
            keys,
            prefixes: creation.erase_prefixes.clone(),
        };
        consolidated::refresh(self, &creation.node, &change, policy).await
    }

    /// Writes the documents of a node while no other caller can create one there: under the lock of
    /// the document of a group or, without locks, with a group in its place meanwhile.
    async fn create_claimed(
        &self,
        claim: &Claim,
        erasure: &Erasure,
        own: &[&Document],
        limits: &Limits,
        site: Site,
    ) -> Result<()> {
        let group = &claim.group;
        let held = self.hold(&group.key, limits).await?;
        if held.value().is_some() {
            return Err(self.occupied(&group.key));
        }
        let is_group = own.iter().find(|document| document.key == group.key);
        if site == Site::Noted && !held.excludes_others() {
            return self.create_unclaimed(claim, own, limits).await;
        }
        if held.excludes_others() {
            self.put_claimed(claim, erasure, own, limits).await?;
            if let Some(document) = is_group {
                held.publish(&document.value, ConcurrentUpdate::LastWriterWins)
                    .await?;
            }
            return Ok(());
        }
        let value = &is_group.unwrap_or(&group).value;
        // If writers cannot be serialized, this is the best that the store allows.
        if held
            .publish(value, ConcurrentUpdate::LastWriterWins)
            .await?
            == Published::No
        {
            return Err(self.occupied(&group.key));
        }
        let made = self.put_claimed(claim, erasure, own, limits).await;
        if is_group.is_none() || made.is_err() {
            self.erase(&group.key).await?;
        }
        made
    }

    /// Writes the documents of a node but that of a group, which is claimed.
    async fn put_claimed(
        &self,
        claim: &Claim,
        erasure: &Erasure,
        own: &[&Document],
        limits: &Limits,
    ) -> Result<()> {
        if self.has(&claim.array).await? {
            return Err(self.occupied(&claim.array));
        }
        self.remove(erasure).await?;
        for document in own
            .iter()
            .filter(|document| document.key != claim.group.key)
        {
            self.put_new(document, limits).await?;
        }
        Ok(())
    }

    /// Writes the documents of a node without a claim, which would open as a group while it exists:
    /// that of the node comes last. Another caller that creates a node of the other kind, and has
    /// begun before the note was there, finds this one, or is found.
    async fn create_unclaimed(
        &self,
        claim: &Claim,
        own: &[&Document],
        limits: &Limits,
    ) -> Result<()> {
        let is_group = own.iter().any(|document| document.key == claim.group.key);
        let (made, other) = if is_group {
            (&claim.group.key, &claim.array)
        } else {
            (&claim.array, &claim.group.key)
        };
        // Its attributes must stay.
        if self.has(other).await? {
            return Err(self.occupied(other));
        }
        for document in own {
            self.put_new(document, limits).await?;
        }
        if self.has(other).await? {
            self.erase(made).await?;
            return Err(self.occupied(other));
        }
        Ok(())
    }

    async fn put_new(&self, document: &Document, limits: &Limits) -> Result<()> {
        let only_if = match document.existing {
            ExistingDocument::Keep => Precondition::Absent,
            ExistingDocument::Replace => Precondition::None,
            ExistingDocument::Complete => return self.complete(document, limits).await,
            ExistingDocument::Refuse => {
                let held = self.hold(&document.key, limits).await?;
                let is_none = |value: &[u8]| value.trim_ascii() == b"null";
                // If writers cannot be serialized, this is the best that the store allows.
                let policy = ConcurrentUpdate::LastWriterWins;
                let exists = held.value().is_some_and(|value| !is_none(value))
                    || held.publish(&document.value, policy).await? == Published::No;
                return if exists {
                    Err(self.occupied(&document.key))
                } else {
                    Ok(())
                };
            }
        };
        let key = self.named(Key::new(&document.key))?;
        if matches!(
            self.put(&key, document.value.clone(), only_if).await?,
            Put::Unsupported
        ) && self
            .pinned_value(&document.key, limits.document_bytes)
            .await?
            .is_none()
        {
            // No conditional write is possible here: checking first is the best that this store
            // allows.
            self.put(&key, document.value.clone(), Precondition::None)
                .await?;
        }
        Ok(())
    }

    /// The error if another writer created a node in the meantime.
    fn occupied(&self, key: &str) -> Error {
        let what = "a node was made there in the meantime";
        Error::new(ErrorKind::AlreadyExists, what)
            .in_document(Some(key))
            .in_store(|| self.name())
    }

    /// Adds missing members to a document, and keeps those that others added since it was read.
    async fn complete(&self, document: &Document, limits: &Limits) -> Result<()> {
        loop {
            let held = self.hold(&document.key, limits).await?;
            let Some(value) = self.named(complete_document(document, held.value()))? else {
                return Ok(());
            };
            // If writers cannot be serialized, this is the best that the store allows.
            if held
                .publish(&value, ConcurrentUpdate::LastWriterWins)
                .await?
                == Published::Yes
            {
                return Ok(());
            }
        }
    }

    /// Removes a node, documents first, so that it disappears at once.
    pub(crate) async fn remove(&self, erasure: &Erasure) -> Result<()> {
        // A store removes documents below a prefix before chunks by itself. The prefix may be a
        // link: then the link is removed, and the documents in its target stay.
        let is_apart = |document: &&String| {
            !erasure
                .prefixes
                .iter()
                .any(|prefix| document.starts_with(prefix))
        };
        for document in erasure.documents.iter().filter(is_apart) {
            self.erase(document).await?;
        }
        for prefix in &erasure.prefixes {
            self.erase_prefix(prefix).await?;
        }
        Ok(())
    }
}
