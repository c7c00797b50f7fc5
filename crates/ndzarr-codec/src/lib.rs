//! Codec chains over byte slices
