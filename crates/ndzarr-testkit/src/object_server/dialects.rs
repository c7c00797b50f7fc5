//! The services that a server imitates: how each answers requests.

mod azure;
mod dates;
pub(super) mod dialect;
mod listing;
mod range;
pub(super) mod service;
mod web;
mod xml;
mod xml_api;
