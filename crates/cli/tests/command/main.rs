//! The command as people and scripts use it, in processes of its own.

#[path = "../common/mod.rs"]
mod common;

mod any;
mod at_least;
mod backends;
mod cases;
mod clients;
mod crosstab;
mod deploy;
mod disk;
mod disk_resume;
mod doctor;
mod dot;
mod dot_gm_bloom;
mod dot_paillier;
mod first_hour;
mod goldens;
mod govern;
mod help;
mod helper;
mod init;
mod input;
mod inspect;
mod kept;
mod key_exchange;
mod levels;
mod mesh;
mod mistakes;
mod multiset;
mod outputs;
mod plan;
mod polynomial;
mod pool;
mod prepared;
mod relay;
mod rules;
mod run;
mod run_refused;
mod secrets;
mod sheets;
mod simulate;
mod slow;
mod terminal;
mod union;
mod union_disk;
