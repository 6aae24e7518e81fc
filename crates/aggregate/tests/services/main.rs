//! The services of an aggregation, in this process, among participants and services that do as they like.

mod anew;
mod asked;
mod claimed;
mod counted;
mod covered;
mod dripping;
mod faked;
mod forged;
mod handed;
mod hostile;
mod liars;
mod listed;
mod lying;
mod many;
mod noise;
mod openapi;
mod removed;
mod renamed;
mod repeated;
mod saved;
mod sick;
mod strangers;
mod terms;
mod together;
mod turns;
mod world;
