//! What a key-value store of chunks and documents must do
