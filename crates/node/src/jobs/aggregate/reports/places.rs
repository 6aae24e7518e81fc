//! Conversion of values, as tables have them, to their places.

use std::collections::HashMap;

use crate::jobs::aggregate::Domain;

/// The places of a domain's values, to be looked up row by row.
pub(super) struct Places {
    domain: Domain,
    /// Places of grades, of which there may be many.
    grades: HashMap<String, u32>,
}

impl Places {
    pub fn of(domain: &Domain) -> Places {
        let grades = match domain {
            Domain::Grades(words) => words.iter().cloned().zip(0..).collect(),
            _ => HashMap::new(),
        };
        Places { domain: domain.clone(), grades }
    }

    /// The place of a value without blanks around it; none of one that is not allowed.
    pub fn place(&self, text: &str) -> Option<u32> {
        match &self.domain {
            Domain::Grades(_) => self.grades.get(text).copied(),
            domain => domain.place(text),
        }
    }
}
