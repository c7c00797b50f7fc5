//! Chunk grids that users define, with the name that documents give them.

use std::sync::Arc;

use ndzarr_grid::CustomGrid;
use serde_json::Value;

/// A custom chunk grid and its name in documents. Two are equal if name and configuration are.
#[derive(Clone, Debug)]
pub struct CustomChunkGrid {
    name: String,
    configuration: Value,
    grid: Arc<dyn CustomGrid>,
}

impl CustomChunkGrid {
    /// A grid under a name. Documents state it without a configuration.
    #[must_use]
    pub fn new(name: impl Into<String>, grid: impl CustomGrid + 'static) -> Self {
        Self { name: name.into(), configuration: Value::Object(Default::default()), grid: Arc::new(grid) }
    }

    /// Sets the configuration, an object.
    #[must_use]
    pub fn with_configuration(self, configuration: Value) -> Self {
        Self { configuration, ..self }
    }

    /// Its name in documents.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its configuration, an object; an empty one for none.
    #[must_use]
    pub fn configuration(&self) -> &Value {
        &self.configuration
    }

    /// The geometry of its chunks.
    #[must_use]
    pub fn grid(&self) -> &Arc<dyn CustomGrid> {
        &self.grid
    }
}

impl PartialEq for CustomChunkGrid {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.configuration) == (&other.name, &other.configuration)
    }
}
