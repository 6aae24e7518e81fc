//! Every listener of the program, with a thousand strangers: they lock nobody out, and leave nothing behind.

#[path = "../common/mod.rs"]
mod common;
// Of both, other tests use the rest.
#[allow(dead_code)]
#[path = "../desk/fly.rs"]
mod fly;
#[allow(dead_code)]
#[path = "../aggregate/world.rs"]
mod world;

mod pages;
mod parties;
mod services;
