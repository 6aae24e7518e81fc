//! `star`.

mod hostile;
mod results;
