//! Answers of services: statuses, pages of lists, results of erasures, and their XML.

pub(crate) mod batch;
pub(crate) mod call;
pub(crate) mod page;
pub(crate) mod xml;
