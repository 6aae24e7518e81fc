//! Silent VOLE and silent COT.

mod hostile;
mod results;
