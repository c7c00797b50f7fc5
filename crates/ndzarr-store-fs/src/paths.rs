//! What paths lead to, through links and under other spellings of a name.

pub(crate) mod apart;
mod confine;
mod spelling;
