//! The groups in which protocols compute that run in any.

/// Does something in the group of a level.
macro_rules! in_group {
    ($level:expr, $group:ident => $body:expr) => {
        match $level {
            tacita_core::Level::Bits128 => {
                let $group = &tacita_core::primitive::group::Ristretto255;
                $body
            }
            tacita_core::Level::Bits192 => {
                let $group = &tacita_core::primitive::group::P384::new();
                $body
            }
            tacita_core::Level::Bits256 => {
                let $group = &tacita_core::primitive::group::P521::new();
                $body
            }
            level => {
                let $group = &tacita_core::primitive::group::ModP::of(level);
                $body
            }
        }
    };
}

pub(crate) use in_group;
