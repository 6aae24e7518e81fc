//! What the protocols are made of.
