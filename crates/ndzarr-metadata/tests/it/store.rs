//! An in-memory store of documents, which answers the crate's needs and counts them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use bytes::Bytes;
use ndzarr_metadata::{
    ArrayRequest, Creation, ExistingDocument, Format, Known, Listing, MetadataError, Need, Node,
    NodePath, OpenOptions, Resolved, open,
};
use ndzarr_model::{ArraySpec, DataType};

#[derive(Default)]
pub(crate) struct Store {
    values: BTreeMap<String, Bytes>,
    /// Keys and prefixes requested, in order, over all calls.
    pub(crate) asked: RefCell<Vec<String>>,
}

impl Store {
    pub(crate) fn new(documents: &[(&str, &str)]) -> Self {
        let values = documents
            .iter()
            .map(|(key, text)| ((*key).to_owned(), Bytes::copy_from_slice(text.as_bytes())))
            .collect();
        Self {
            values,
            asked: RefCell::default(),
        }
    }

    pub(crate) fn keys(&self) -> Vec<&str> {
        self.values.keys().map(String::as_str).collect()
    }

    pub(crate) fn text(&self, key: &str) -> &str {
        self.values.get(key).map_or("", |value| {
            std::str::from_utf8(value).expect("documents are UTF-8")
        })
    }

    pub(crate) fn json(&self, key: &str) -> serde_json::Value {
        serde_json::from_str(self.text(key)).expect("standard JSON")
    }

    /// Calls until there is an answer, adding the needed facts each time.
    pub(crate) fn ask<T>(
        &self,
        call: impl Fn(&Known) -> Result<Resolved<T>, MetadataError>,
    ) -> Result<T, MetadataError> {
        let mut known = Known::new();
        for _ in 0..20 {
            match call(&known)? {
                Resolved::Done(answer) => return Ok(answer),
                Resolved::Need(Need::Documents(keys)) => {
                    for key in keys {
                        self.asked.borrow_mut().push(key.clone());
                        let value = self.values.get(&key).cloned();
                        known.add_document(key, value);
                    }
                }
                Resolved::Need(Need::Presence(keys)) => {
                    for key in keys {
                        let is_there = self.values.contains_key(&key);
                        known.add_presence(key, is_there);
                    }
                }
                Resolved::Need(Need::Listings(prefixes)) => {
                    for prefix in prefixes {
                        self.asked.borrow_mut().push(prefix.clone());
                        let listing = self.listing(&prefix);
                        known.add_listing(prefix, listing);
                    }
                }
            }
        }
        panic!("asks without end");
    }

    fn listing(&self, prefix: &str) -> Listing {
        let mut listing = Listing::default();
        for key in self.values.keys() {
            let Some(rest) = key.strip_prefix(prefix) else {
                continue;
            };
            match rest.split_once('/') {
                None => listing.keys.push(rest.to_owned()),
                Some((name, _)) => {
                    if !listing.prefixes.iter().any(|known| known == name) {
                        listing.prefixes.push(name.to_owned());
                    }
                }
            }
        }
        listing
    }

    pub(crate) fn open(&self, path: &str) -> Result<Node, MetadataError> {
        self.open_with(path, &OpenOptions::default())
    }

    pub(crate) fn open_with(
        &self,
        path: &str,
        options: &OpenOptions,
    ) -> Result<Node, MetadataError> {
        let path = NodePath::new(path)?;
        self.ask(|known| open(&path, known, options))
    }

    pub(crate) fn members(&self, path: &str) -> Vec<String> {
        let node = self.open(path).expect("the group opens");
        let members = self
            .ask(|known| ndzarr_metadata::members(&node, known))
            .expect("members");
        members.into_iter().map(|member| member.name).collect()
    }

    pub(crate) fn apply(&mut self, creation: &Creation) {
        for key in &creation.erase {
            self.values.remove(key);
        }
        for prefix in &creation.erase_prefixes {
            self.values.retain(|key, _| !key.starts_with(prefix));
        }
        for document in &creation.put {
            let value = document.value.clone();
            match document.existing {
                ExistingDocument::Keep => {
                    self.values.entry(document.key.clone()).or_insert(value);
                }
                ExistingDocument::Refuse | ExistingDocument::Replace => {
                    self.values.insert(document.key.clone(), value);
                }
                ExistingDocument::Complete => {
                    let current = self.values.get(&document.key).map(|value| &value[..]);
                    let value =
                        ndzarr_metadata::complete_document(document, current).expect("an object");
                    self.values
                        .extend(value.map(|value| (document.key.clone(), value)));
                }
            }
        }
    }
}

/// The array that one document describes at the root.
pub(crate) fn array(key: &str, text: &str) -> Result<ArraySpec, MetadataError> {
    let node = Store::new(&[(key, text)]).open("")?;
    Ok(node.kind.array().expect("an array").clone())
}

/// `base` with these members set (`"name": value`) or, for an empty value, removed.
pub(crate) fn with(base: &str, members: &[(&str, &str)]) -> String {
    let mut document: BTreeMap<String, String> = BTreeMap::new();
    let parsed: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(base).expect("valid base");
    for (name, value) in parsed {
        document.insert(name, value.to_string());
    }
    for (name, value) in members {
        if value.is_empty() {
            document.remove(*name);
        } else {
            document.insert((*name).to_owned(), (*value).to_owned());
        }
    }
    let members: Vec<String> = document
        .iter()
        .map(|(name, value)| format!("\"{name}\":{value}"))
        .collect();
    format!("{{{}}}", members.join(","))
}

/// A plain request for an array.
pub(crate) fn request(shape: &[u64], chunk_shape: &[u64], data_type: &str) -> ArrayRequest {
    let data_type = DataType::from_name(data_type).expect("a known type");
    ArrayRequest::new(shape.to_vec(), chunk_shape.to_vec(), data_type)
}

/// Creates an array in a store.
pub(crate) fn create(
    store: &mut Store,
    format: Format,
    path: &str,
    request: &ArrayRequest,
) -> Result<Node, MetadataError> {
    let path = NodePath::new(path)?;
    let options = ndzarr_metadata::CreateOptions::new(format);
    let creation =
        store.ask(|known| ndzarr_metadata::create_array(&path, request, known, &options))?;
    store.apply(&creation);
    Ok(creation.node)
}
