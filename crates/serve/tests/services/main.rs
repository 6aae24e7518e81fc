//! The services, each over connections: the helper, the relay, the authority of a list.

mod helper;
mod hostile;
mod relay;
