//! Peers that break the protocol.

use std::sync::Arc;

use super::Table;
use crate::support::attack::run_all;
use crate::support::two::{self, Repeated, Two};

/// Every frame of either party in every wrong form.
#[test]
fn messages_in_wrong_forms() {
    let table = Arc::new(Table::new(vec![7, 0, 9, 1, 8, 8, 6, 7, 5, 9, 9, 9], [3, 4], 5));
    let role = |party: usize| -> Repeated {
        let table = table.clone();
        Box::new(move |channel| table.role(party, true, channel).map(drop))
    };
    let two = Arc::new(Two { name: "crosstab".into(), first: role(0), second: role(1) });
    let (frames, _) = two::record(&two.first, &two.second);
    let attacks = two::wrong_forms(&two, &frames, None);
    assert!(attacks.len() > 50);
    run_all(attacks);
}
