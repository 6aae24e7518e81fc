//! Messages between desks and authorities of a live list, and stored data. Decoded values are written as the same
//! bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tacita_core::primitive::oprf::Suite;
use tacita_core::protocol::intersect::live::{Facts, List, ListAnswer, ListRequest, ListStep, Params, Replica};

fuzz_target!(|bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else { return };
    let suite = Suite::ALL[usize::from(*which) % Suite::ALL.len()];
    let params = Params::new(16, 1000, suite).unwrap();
    if let Ok(request) = ListRequest::decode(bytes, &params) {
        assert_eq!(request.encode(), bytes);
    }
    for elements in 0..3 {
        if let Ok(answer) = ListAnswer::decode(bytes, &params, elements) {
            assert_eq!(answer.encode(&params), bytes);
        }
    }
    if let Ok(facts) = Facts::decode(bytes, &params) {
        assert_eq!(facts.encode(), bytes);
        let mut replica = Replica::new(&facts, params, &vec![0; facts.table_bytes(&params)]).unwrap();
        if let Ok(ListAnswer::Answered { changes, .. }) = ListAnswer::decode(bytes, &params, 0) {
            let _ = replica.apply(&changes);
        }
    }
    if let Some(steps) = ListStep::decode_all(bytes) {
        assert_eq!(ListStep::encode_all(&steps), bytes);
    }
    if let Some(list) = List::from_bytes(bytes) {
        let changes = list.state().version as usize * list.params().tag_bytes;
        assert_eq!(list.table().len(), list.params().table_bytes() + changes);
        assert!(list.since(&list.state()).is_some());
    }
});
