//! A depot that a helper keeps, as parties and the helper speak of it over the wire.

pub mod word;
