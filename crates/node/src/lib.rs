//! Job files, tables, connections and reports: everything around the protocols of `tacita-core`.

pub mod usage;
