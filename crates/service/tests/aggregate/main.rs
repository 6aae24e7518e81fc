//! The services of an aggregation, in this process, among participants and services that do as they like.

mod anew;
mod claimed;
mod dripping;
mod forged;
mod hostile;
mod liars;
mod listed;
mod many;
mod openapi;
mod renamed;
mod repeated;
mod sick;
mod strangers;
mod together;
mod turns;
mod world;
