//! Opens an array whose document is like that of another, and reads only the difference.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use ndzarr_model::{ArraySpec, ChunkKeys};
use serde_json::Value;

use crate::json::spans;
use crate::json::{Json, as_u64_list};
use crate::shared::chunk_grid;
use crate::v3::document;
use crate::{Context, Format, Node, NodeKind, NodePath, OpenOptions, json};

/// An opened array as a template for others whose documents are identical to the byte except for
/// shape and attributes, as is common in a group. Only the difference is read. Only for Zarr v3,
/// opened with the same options.
#[derive(Debug)]
pub(crate) struct Alike {
    spec: ArraySpec,
    document: Bytes,
    /// The positions in the document of the values that may differ, in order.
    differing: Vec<(Differing, Range<usize>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Differing {
    Shape,
    Attributes,
}

impl Alike {
    /// The template that a node provides, if it can be one.
    pub(crate) fn to(node: &Node) -> Option<Self> {
        let (NodeKind::Array(spec), [(key, document)]) = (&node.kind, node.documents.as_slice())
        else {
            return None;
        };
        // A warning names the node, custom types and grids are made for each array, and a list of
        // lengths has to fit the shape.
        let is_plain = node.warnings.is_empty()
            && node.context.extensions.is_empty()
            && spec.edges().is_none();
        if node.format != Format::Zarr3 || !is_plain {
            return None;
        }
        let mut differing = Vec::new();
        for (name, range) in spans::members(key, document, 0..document.len()).ok()? {
            match &*name {
                "shape" => differing.push((Differing::Shape, range)),
                "attributes" => differing.push((Differing::Attributes, range)),
                _ => {}
            }
        }
        // If a member occurs twice the last one counts, and the first may be anything.
        let count = |of| differing.iter().filter(|(is, _)| *is == of).count();
        let once = count(Differing::Shape) == 1 && count(Differing::Attributes) <= 1;
        once.then(|| Self {
            spec: ArraySpec::clone(spec),
            document: document.clone(),
            differing,
        })
    }

    /// The array at a path whose document is stored under this key, if it matches and is valid.
    pub(crate) fn open(
        &self,
        path: &NodePath,
        key: &str,
        document: &Bytes,
        options: &OpenOptions,
    ) -> Option<Arc<Node>> {
        options.limits.check_document(key, document).ok()?;
        let (shape, attributes) = self.read(document)?;
        let spec = self.spec_of(path, shape)?;
        chunk_grid::check(key, &spec.shape, &spec.unit_shape, &spec.data_type).ok()?;
        options.limits.check_array(key, &spec).ok()?;
        Some(Arc::new(Node {
            format: Format::Zarr3,
            path: path.clone(),
            kind: NodeKind::Array(Box::new(spec)),
            attributes: document::attributes(key, attributes).ok()?,
            context: Context {
                n5_axes: options.n5_axes,
                separator: options.separator,
                limits: options.limits,
                extensions: options.extensions.clone(),
                ..Context::default()
            },
            documents: vec![(key.to_owned(), document.clone())],
            warnings: Vec::new(),
        }))
    }

    /// The values that may differ, from a document that is otherwise identical.
    fn read(&self, document: &[u8]) -> Option<(Vec<u64>, Option<Value>)> {
        // Checked before reading attributes, which may be many.
        let begin = self.differing.first()?.1.start;
        let end = self.differing.last()?.1.end;
        if !document.starts_with(self.document.get(..begin)?)
            || !document.ends_with(self.document.get(end..)?)
        {
            return None;
        }
        let text = str::from_utf8(document).ok()?;
        let mut shape = None;
        let mut attributes = None;
        let mut at = 0;
        let mut own_at = 0;
        for (what, own) in &self.differing {
            let same = self.document.get(own_at..own.start)?;
            if !document.get(at..)?.starts_with(same) {
                return None;
            }
            at += same.len();
            match what {
                Differing::Shape => {
                    let value: Json<'_>;
                    (value, at) = json::parse_member(text, at)?;
                    shape = as_u64_list(&value);
                }
                Differing::Attributes => {
                    let value;
                    (value, at) = json::parse_member(text, at)?;
                    attributes = Some(value);
                }
            }
            own_at = own.end;
        }
        let is_same = document.get(at..)? == self.document.get(own_at..)?;
        shape.filter(|_| is_same).map(|shape| (shape, attributes))
    }

    /// With the same rank, only the shape itself depends on the shape.
    fn spec_of(&self, path: &NodePath, shape: Vec<u64>) -> Option<ArraySpec> {
        let spec = &self.spec;
        if shape.len() != spec.shape.len() {
            return None;
        }
        Some(ArraySpec {
            shape,
            unit_shape: spec.unit_shape.clone(),
            chunk_edges: None,
            custom_grid: None,
            data_type: spec.data_type.clone(),
            fill_value: spec.fill_value.clone(),
            codecs: Arc::clone(&spec.codecs),
            codec_check: spec.codec_check,
            keys: ChunkKeys {
                prefix: path.prefix(),
                encoding: spec.keys.encoding,
            },
            dimension_names: spec.dimension_names.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Known, Resolved, open};

    const DOCUMENT: &str = r#"{"zarr_format": 3, "node_type": "array", "shape": [10, 7], "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [5, 7]}},
        "chunk_key_encoding": "default", "fill_value": "NaN", "attributes": {"number": 1.50},
        "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}, "crc32c"]}"#;

    #[test]
    fn what_others_cannot_be_alike_to() {
        let node = |document: &str| {
            let mut known = Known::new();
            known.add_document(
                "a/zarr.json",
                Some(Bytes::copy_from_slice(document.as_bytes())),
            );
            match open(
                &NodePath::new("a").expect("a path"),
                &known,
                &OpenOptions::default(),
            ) {
                Ok(Resolved::Done(node)) => node,
                other => panic!("{document}: {other:?}"),
            }
        };
        assert!(Alike::to(&node(DOCUMENT)).is_some());
        assert!(Alike::to(&node(r#"{"zarr_format": 3, "node_type": "group"}"#)).is_none());
        assert!(
            Alike::to(&node(
                &DOCUMENT.replace("\"codecs\"", "\"attributes\": {}, \"codecs\"")
            ))
            .is_none()
        );
        assert!(
            Alike::to(&node(
                &DOCUMENT.replace("\"codecs\"", "\"shape\": [1, 1], \"codecs\"")
            ))
            .is_none()
        );
        let edges = DOCUMENT.replace("\"regular\"", "\"rectilinear\"");
        let edges = edges.replace(
            "\"chunk_shape\": [5, 7]",
            "\"kind\": \"inline\", \"chunk_shapes\": [[4, 6], 7]",
        );
        assert!(Alike::to(&node(&edges)).is_none());
        let transformers =
            r#""storage_transformers": [{"name": "x", "must_understand": false}], "codecs""#;
        assert!(Alike::to(&node(&DOCUMENT.replace("\"codecs\"", transformers))).is_none());
    }
}
