//! Jobs of kind `aggregate` as whole processes: simulated, with roles that are killed, and with participants that do as
//! they like.

mod backups;
mod copies;
mod dashboard;
mod differ;
mod directories;
mod doctor;
mod exposition;
mod formats;
mod fronts;
mod full;
mod kills;
mod noise;
mod operator;
mod refused;
mod registry;
mod samples;
mod several;
mod simulated;
mod soak;
mod standby;
mod stored;
mod submitted;
mod together;
mod watched;
pub mod world;
