//! `live`.

mod hostile;
mod results;
mod views;

use tacita_core::Item;
use tacita_core::primitive::oprf::Suite;
use tacita_core::protocol::intersect::live::{
    Facts, List, ListAnswer, ListQuestion, ListRequest, ListStep, Params, Replica,
};

use crate::support::*;

fn params(entries: usize) -> Params {
    Params::new(entries, 1000, Suite::Ristretto255).unwrap()
}

fn list(on_it: &[Item], entries: usize, seed: u8) -> List {
    List::new(on_it, [seed; 32], params(entries), &mut rng(seed)).unwrap()
}

/// The copy of a desk that fetches now.
fn fetch(list: &List) -> Replica {
    let facts = Facts { id: [0; 32], state: list.state(), lasts: 60 };
    let facts = Facts::decode(&facts.encode(), list.params()).unwrap();
    Replica::new(&facts, *list.params(), list.table()).unwrap()
}

/// Asks which of these items are on the list, by bytes as they travel; the copy is brought up to date first.
fn ask(list: &List, replica: &mut Replica, items: &[Item], seed: u8) -> Vec<bool> {
    let question = ListQuestion::new(items.to_vec(), list.params(), &mut rng(seed)).unwrap();
    let evaluated = exchange(list, replica, question.blinded());
    replica.answers(&question, &evaluated).unwrap()
}

/// One request and its answer.
fn exchange(list: &List, replica: &mut Replica, blinded: &[u8]) -> Vec<u8> {
    let params = list.params();
    let elements = blinded.len() / params.suite.element_bytes();
    let ask = tacita_core::protocol::intersect::live::ListQuery { state: *replica.state(), blinded: blinded.to_vec() };
    let Ok(ListRequest::Ask(ask)) = ListRequest::decode(&ListRequest::Ask(ask).encode(), params) else {
        panic!("a request")
    };
    let changes = list.since(&ask.state).expect("a state of this list").collect();
    let answer = ListAnswer::Answered { left: 7, behind: 0, changes, evaluated: list.evaluate(&ask.blinded).unwrap() };
    let answer = ListAnswer::decode(&answer.encode(params), params, elements).unwrap();
    let ListAnswer::Answered { changes, evaluated, .. } = answer else { panic!("an answer") };
    replica.apply(&changes).unwrap();
    assert_eq!(replica.state(), &list.state());
    evaluated
}

/// Takes items off a list and puts others on it.
fn change(list: &mut List, removed: &[Item], added: &[Item]) {
    let steps = plan(list, removed, added);
    list.apply(&steps).unwrap();
}

/// Plans the steps of a change, for a list that has room for it.
fn plan(list: &List, removed: &[Item], added: &[Item]) -> Vec<ListStep> {
    list.plan(removed, added).unwrap().expect("room in the epoch")
}
