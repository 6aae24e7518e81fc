//! Services of a job, and their names.

/// A role of the job that serves others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Service {
    /// Takes the participants' reports.
    Proxy(usize),
    /// Decrypts keys of rows.
    Oracle(usize),
    /// Keeps rows and rounds.
    Database(usize),
}

/// A service's name where it stands for itself, as `proxy-1` for the first: in a registry, in measures, and of the file
/// in which it says where it listens.
pub(crate) fn file(service: Service) -> String {
    let (role, place) = parts(service);
    format!("{role}-{}", place + 1)
}

/// The word for its role, and its place among those of the role.
pub(crate) fn parts(service: Service) -> (&'static str, usize) {
    match service {
        Service::Proxy(place) => ("proxy", place),
        Service::Oracle(place) => ("oracle", place),
        Service::Database(place) => ("database", place),
    }
}
