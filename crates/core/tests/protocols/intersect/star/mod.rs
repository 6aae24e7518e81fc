//! `star`.

mod buckets;
mod hostile;
mod results;
mod stores;
