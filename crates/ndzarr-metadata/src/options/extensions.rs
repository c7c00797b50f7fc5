//! `Extensions`: data types and chunk grids that users add.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use ndzarr_model::{CustomChunkGrid, CustomType, DataType};
use serde_json::Value;

/// Makes a data type from the configuration that the document states.
type MakeType = Arc<dyn Fn(&Value) -> Result<CustomType, String> + Send + Sync>;

/// Makes a chunk grid from its configuration, for an array of a given shape.
type MakeGrid = Arc<dyn Fn(&Value, &[u64]) -> Result<CustomChunkGrid, String> + Send + Sync>;

/// Custom data types and chunk grids, by their names in documents of Zarr v3.
///
/// There are no global extensions: they are passed in where a node is opened. Codecs have a
/// registry of their own, `CodecRegistry`. Names known to this library cannot be replaced.
///
/// ```
/// use ndzarr::store::{Key, Precondition, Put};
/// use ndzarr::{Any, CustomType, DataType, Extensions, MemoryStore, OpenOptions, Store};
///
/// let document = br#"{"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "example.rgba",
///     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}, "chunk_key_encoding": "default",
///     "fill_value": [0, 0, 0, 255], "codecs": ["bytes"]}"#;
/// let store = MemoryStore::new();
/// # let parts = [bytes::Bytes::from_static(document)];
/// # assert!(matches!(store.put(&Key::new("image/zarr.json")?, &parts, Precondition::None)?, Put::Done(_)));
///
/// let extensions = Extensions::new().with_data_type("example.rgba", |configuration| {
///     match configuration.as_object().is_some_and(|members| members.is_empty()) {
///         true => Ok(CustomType::new("example.rgba", DataType::Raw { bytes: 4 })),
///         false => Err("has no configuration".to_owned()),
///     }
/// });
/// let a = OpenOptions::new().extensions(extensions).open_array::<Any>((&store, "image"))?;
/// assert_eq!(a.data_type().to_string(), "example.rgba");
/// assert_eq!(a.spec().fill_value.bytes(), [0, 0, 0, 255]);
///
/// let error = OpenOptions::new().open_array::<Any>((&store, "image")).unwrap_err();
/// assert!(error.to_string().starts_with("image/zarr.json: unsupported data type example.rgba"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Extensions(Option<Arc<Own>>);

#[derive(Clone, Default)]
struct Own {
    data_types: HashMap<String, MakeType>,
    chunk_grids: HashMap<String, MakeGrid>,
}

impl Extensions {
    /// No extensions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// True if it contains no extensions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Adds a data type under the name that documents use for it. `make` receives the
    /// configuration, an object (empty if the document states none), and returns the type or an
    /// error message.
    #[must_use]
    pub fn with_data_type(
        mut self,
        name: impl Into<String>,
        make: impl Fn(&Value) -> Result<CustomType, String> + Send + Sync + 'static,
    ) -> Self {
        self.own().data_types.insert(name.into(), Arc::new(make));
        self
    }

    /// Adds a chunk grid under the name that documents use for it. `make` receives the
    /// configuration, an object (empty if the document states none), and the shape of the array,
    /// and returns the grid or an error message. Another shape may need more chunks, but it must
    /// not change those that both have: an array is not resized then.
    ///
    /// ```
    /// use ndzarr::{ChunkEdges, CustomChunkGrid, Extensions};
    ///
    /// // One chunk for each element.
    /// let extensions = Extensions::new().with_chunk_grid("example.single", |_configuration, shape| {
    ///     Ok(CustomChunkGrid::new("example.single", shape.iter().map(|_| ChunkEdges::Repeated(1))))
    /// });
    /// assert!(!extensions.is_empty());
    /// ```
    #[must_use]
    pub fn with_chunk_grid(
        mut self,
        name: impl Into<String>,
        make: impl Fn(&Value, &[u64]) -> Result<CustomChunkGrid, String> + Send + Sync + 'static,
    ) -> Self {
        self.own().chunk_grids.insert(name.into(), Arc::new(make));
        self
    }

    fn own(&mut self) -> &mut Own {
        Arc::make_mut(self.0.get_or_insert_default())
    }

    /// The data type of a name; `None` if it is not registered.
    pub(crate) fn data_type(
        &self,
        name: &str,
        configuration: &Value,
    ) -> Option<Result<DataType, String>> {
        let make = self.0.as_ref()?.data_types.get(name)?;
        Some(
            make(configuration).and_then(|custom| match custom.layout() {
                _ if custom.name() != name => {
                    Err(format!("was made with the name {:?}", custom.name()))
                }
                _ if !custom.configuration().is_object() => {
                    Err("has a configuration that is not an object".into())
                }
                DataType::Object => Err("cannot have the layout of N5 objects".to_owned()),
                layout if layout.elem_size() == Some(0) => {
                    Err("has elements of 0 bytes".to_owned())
                }
                _ => Ok(custom.into()),
            }),
        )
    }

    /// The chunk grid of a name; `None` if it is not registered.
    pub(crate) fn chunk_grid(
        &self,
        name: &str,
        configuration: &Value,
        shape: &[u64],
    ) -> Option<Result<CustomChunkGrid, String>> {
        let make = self.0.as_ref()?.chunk_grids.get(name)?;
        Some(
            make(configuration, shape).and_then(|custom| match custom.name() == name {
                true => Ok(custom),
                false => Err(format!("was made with the name {:?}", custom.name())),
            }),
        )
    }

    /// Adds the types and the grid of a new array, unless they are registered.
    pub(crate) fn knowing(mut self, data_type: &DataType, grid: Option<&CustomChunkGrid>) -> Self {
        const OTHER: &str = "has another configuration than the array was created with";
        match data_type {
            DataType::Custom(custom)
                if self
                    .0
                    .as_ref()
                    .is_none_or(|own| !own.data_types.contains_key(custom.name())) =>
            {
                let custom = CustomType::clone(custom);
                self = self.with_data_type(custom.name().to_owned(), move |configuration| {
                    (configuration == custom.configuration())
                        .then(|| custom.clone())
                        .ok_or_else(|| OTHER.into())
                });
            }
            DataType::Struct(fields) => {
                for field in fields.fields() {
                    self = self.knowing(&field.data_type, None);
                }
            }
            _ => {}
        }
        match grid {
            Some(grid)
                if self
                    .0
                    .as_ref()
                    .is_none_or(|own| !own.chunk_grids.contains_key(grid.name())) =>
            {
                let grid = grid.clone();
                self.with_chunk_grid(grid.name().to_owned(), move |configuration, _| {
                    (configuration == grid.configuration())
                        .then(|| grid.clone())
                        .ok_or_else(|| OTHER.into())
                })
            }
            _ => self,
        }
    }
}

/// Two are equal if one is a copy of the other.
impl PartialEq for Extensions {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl Eq for Extensions {}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = self.0.as_deref();
        f.debug_struct("Extensions")
            .field(
                "data_types",
                &own.map(|own| own.data_types.keys().collect::<Vec<_>>())
                    .unwrap_or_default(),
            )
            .field(
                "chunk_grids",
                &own.map(|own| own.chunk_grids.keys().collect::<Vec<_>>())
                    .unwrap_or_default(),
            )
            .finish()
    }
}
