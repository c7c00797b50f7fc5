//! Archives made by hand, and new ones, as stores.

mod by_hand;
mod damaged;
mod large;
mod replaced;
mod requests;
mod rules;
mod suite;
mod variants;
mod writer;
