//! The labels of all messages, in one table (and one more, for protocols that are there to be compared), so that no two
//! have one code or one name. `answers` stands behind those from which their receiver learns a part of the answer of an
//! intersection.

macro_rules! labels {
    ($($(#[$about:meta])* $room:ident {
        $($(#[$what:meta])* $constant:ident = $code:literal, $name:literal $(, $answers:ident)?;)*
    })*) => {
        $($(#[$about])*
        #[allow(unreachable_pub, reason = "only some of the tables are open to others, who find the rest with their protocols")]
        pub mod $room {
            use crate::channel::Label;

            $($(#[$what])*
            pub const $constant: Label = Label::new($code, $name)$(.$answers())?;)*
        })*

        /// Table of every label.
        #[cfg(test)]
        pub(crate) const ALL: &[crate::channel::Label] = &[$($($room::$constant,)*)*];
    };
}

pub(crate) use labels;

labels! {
    /// Messages that all intersections send: see [`crate::protocol::intersect::tag_exchange`].
    entries {
        /// Sender to receiver: tags, each with a sealed row in `payload`.
        ENTRIES = 3, "entries", answers;
        /// Receiver to sender: which of the entries matched.
        MATCHES = 4, "matches", answers;
        /// Receiver to sender: how many rows it returns for each matched item.
        RETURNED_COUNTS = 6, "returned counts", answers;
        /// Receiver to sender: those rows.
        RETURNED_ROWS = 7, "returned rows", answers;
    }

    /// Messages of [`crate::protocol::intersect::ecdh`].
    ecdh {
        /// Receiver to sender: blinded elements.
        BLINDED = 1, "blinded";
        /// Sender to receiver: evaluated elements.
        EVALUATED = 2, "evaluated";
        /// Sender to receiver, before the blinded elements: the key's public part.
        PUBLIC_KEY = 9, "public key";
        /// Receiver to sender: how many entries matched.
        COUNT = 5, "count", answers;
    }

    /// Messages of [`crate::protocol::intersect::ecdh::pooled`], between drivers.
    pooled {
        /// Sender to receiver: how many elements and how many tags a part of the pool has.
        PART = 8, "part of the pool";
    }

    /// Messages of [`crate::protocol::intersect::ecdh::sum`].
    sum {
        /// Sender to receiver: its public key.
        PUBLIC_KEY = 40, "sum public key";
        /// Receiver to sender: the sum plus R, encrypted.
        ENCRYPTED_SUM = 41, "encrypted sum";
        /// Sender to receiver: the sum plus R.
        BLINDED_SUM = 42, "blinded sum";
        /// Receiver to sender: the number of common items, and the sum.
        TOLD_SUM = 43, "count and sum";
    }

    /// Messages of [`crate::protocol::intersect::vole`].
    vole {
        /// Receiver to sender: the seed of the key-value store.
        SEED = 10, "store seed";
        /// Sender to receiver, malicious: commitment to its share of the coin.
        COMMITMENT = 11, "coin commitment";
        /// Receiver to sender: the key-value store, masked.
        MASKED = 12, "masked store";
        /// Receiver to sender, malicious: its share of the coin.
        COIN = 13, "coin";
        /// Sender to receiver, malicious: its share of the coin, and what opens the commitment to it.
        OPENING = 14, "coin opening";
    }

    /// Messages of [`crate::protocol::intersect::opprf`], along with those of `vole` for the function that is
    /// programmed.
    opprf {
        /// Sender to receiver: the seed of the store of programmed values.
        STORE_SEED = 15, "programmed store seed", answers;
        /// Sender to receiver: the store of programmed values, plane by plane.
        PROGRAMMED = 16, "programmed store", answers;
    }

    /// Messages of [`crate::protocol::intersect::star`].
    star {
        /// Leader to another that learns: tags of the items that all have.
        COMMON = 17, "common tags", answers;
        /// Leader to another that learns: how many rows each giver has for each of these items.
        GIVEN_COUNTS = 18, "given counts", answers;
        /// Leader to another that learns: those rows.
        GIVEN_ROWS = 19, "given rows", answers;
    }

    /// Messages of [`crate::protocol::union`].
    union {
        /// Both parties, simultaneously: each party's items, multiplied by its key.
        ELEMENTS = 59, "elements";
        /// Sender to receiver: tags of the receiver's items under both keys, in order.
        TAGS = 60, "sorted tags";
    }

    /// Labels of [`crate::protocol::align`], which also uses those of `vole` for the functions and those of the union.
    align {
        /// First party to second: the number of rows of the union.
        ROWS = 61, "union rows";
        /// First party to second: the ids of all rows, in order.
        ORDER = 62, "row order";
    }

    /// Messages of [`crate::protocol::intersect::buckets`].
    buckets {
        /// Both parties, simultaneously: whether the party starts or resumes, the commitment to its input, and the
        /// buckets that it has finished.
        STATE = 53, "state";
        /// Both parties, simultaneously, in a fresh run: a share of the seed.
        SHARE = 54, "seed share";
        /// Among three and more, both ends at once: a digest of all states and shares, which all have to have alike.
        HEARD = 52, "heard";
    }

    /// Messages of [`crate::protocol::mesh`].
    mesh {
        /// Each two parties at once: digests of what both have to know alike.
        DIGESTS = 51, "digests";
    }

    /// Messages of [`crate::protocol::dot`].
    dot {
        /// Each party to one that learns: its shares, packed.
        SHARES = 20, "shares";
    }

    /// Messages of [`crate::protocol::dot::lattice`].
    lattice {
        /// Encryptor to answerer: what the uniformly random halves of its ciphertexts follow from.
        SEED = 21, "lattice seed";
        /// Encryptor to answerer: its public key's other half.
        PUBLIC_KEY = 22, "lattice public key";
        /// Encryptor to answerer: its columns, encrypted; their other halves.
        COLUMNS = 23, "encrypted columns";
        /// Answerer to encryptor: the answers, one message for each and prime.
        ANSWERS = 24, "answers";
    }

    /// Messages of [`crate::protocol::dot::paillier`].
    paillier {
        /// Encryptor to answerer: its public key.
        PUBLIC_KEY = 36, "Paillier public key";
        /// Encryptor to answerer: its columns, encrypted.
        COLUMNS = 37, "Paillier ciphertexts";
        /// Answerer to encryptor: the products, encrypted.
        ANSWERS = 38, "Paillier answers";
    }

    /// Messages of [`crate::protocol::shares`].
    shares {
        /// Comparison, both at once: bits of the tree's nodes, each hidden by a random bit.
        HIDDEN_BITS = 26, "hidden bits";
        /// Comparison, both at once: a party's shares of the answers.
        ANSWERS = 27, "comparison answers";
    }

    /// Messages of [`crate::protocol::rules`].
    rules {
        /// Both parties, simultaneously: number of the party's frequent items.
        ITEMS = 30, "items";
        /// Both parties, simultaneously: the party's own frequent candidates, and the number of rows that hold each;
        /// among more than two also those of several parties that it tells to one without a part in them.
        SUPPORTS = 31, "supports";
        /// Both parties, simultaneously, with `mixed_only`: the parts of mixed itemsets that stand in rules, and the
        /// number of rows that hold each.
        TOLD = 32, "told supports";
        /// Both parties, simultaneously, with `mixed_only`: whether the rules that the party knows of are as few as the
        /// terms allow.
        FIT = 44, "rules fit";
        /// Both parties, simultaneously: length of each name in bytes.
        LENGTHS = 33, "name lengths";
        /// Both parties, simultaneously: the names of its items.
        NAMES = 34, "names";
        /// First party to second: how the products of a level are made.
        WAY = 35, "way";
    }

    /// Messages of [`crate::protocol::crosstab`].
    crosstab {
        /// Both parties, simultaneously: which of the job's columns the party has.
        OWNED = 46, "owned columns";
        /// Both parties, simultaneously: the number of the party's categories.
        CATEGORIES = 47, "categories";
    }

    /// Messages of [`crate::primitive::ot`].
    ot {
        /// Base OT, receiver to sender: two points an OT.
        BASE_POINTS = 64, "base OT points";
        /// Base OT, sender to receiver: the point that all OTs of the batch share.
        BASE_KEY = 65, "base OT key";
        /// OT extension, receiver to sender: what the sender needs to grow its punctured trees, and their check.
        TREES = 66, "OT trees";
        /// OT extension, receiver to sender: the bits that put the receiver's choices into every tree, one chunk.
        CORRECTIONS = 67, "OT corrections";
        /// OT extension in its malicious form, receiver to sender: that the choices of a chunk are the same in all
        /// trees.
        CONSISTENCY = 68, "OT consistency";
        /// Stored OT, receiver to sender: choice bits, hidden by random ones.
        FLIPS = 69, "OT flips";
        /// Additive and chosen-message OT, sender to receiver: the messages, each hidden by a random block.
        MESSAGES = 70, "OT messages";
    }

    /// Messages of [`crate::primitive::vole::silent`].
    silent {
        /// Sender to receiver: the masked sums of one level of all trees.
        TREE_SUMS = 80, "VOLE tree sums";
        /// Sender to receiver: what makes each tree's missing leaf the one that the correlation asks for.
        TREE_TIPS = 81, "VOLE tree tips";
        /// Receiver to sender, malicious form: the challenge to the trees, and the receiver's masked part of the
        /// answer.
        CHALLENGE = 82, "VOLE challenge";
        /// Sender to receiver, malicious form: a hash of what both must have.
        ANSWER = 83, "VOLE answer";
    }

    /// Messages of [`crate::protocol::intersect::live`].
    live {
        /// Desk to authority: a question, or that it wants the table.
        ASK = 90, "ask";
        /// Authority to desk: evaluated elements, and what has changed; or that the desk has to fetch the table.
        REPLY = 91, "reply";
        /// Authority to desk: which table follows.
        LIST = 92, "list";
        /// Authority to desk: the entries of the table.
        TABLE = 93, "table";
    }

    /// Messages of an interaction between a participant and a proxy that serves many. The rest of it is outside this
    /// crate.
    interaction {
        /// Both sides, simultaneously: a number that the side draws for this interaction alone.
        NONCE = 107, "interaction's number";
        /// Proxy to participant: what has become of the reports.
        OUTCOME = 108, "interaction's outcome";
    }

    /// Messages of a depot, whose requests and answers are outside this crate.
    depot {
        /// Party to helper: what it leaves, or asks for.
        DEPOT_REQUEST = 110, "depot request";
        /// Helper to party: the answer.
        DEPOT_ANSWER = 111, "depot answer";
    }

    /// Messages of [`crate::agree`].
    agree {
        /// Both parties, simultaneously: a nonce, the hash of the terms, and the number of the party's items.
        CLAIM = 112, "session claim";
    }

    /// Messages of the handshake, which is outside this crate: all codes from 0xf0 to 0xf8.
    handshake {
        /// Both parties, simultaneously: the party's identity, its version and its terms.
        HELLO = 0xf0, "hello";
        /// Both parties, simultaneously: the size of the party's input.
        SIZES = 0xf1, "sizes";
        /// The first party, then the other: the protocol.
        CHOICE = 0xf2, "choice";
        /// Both parties, simultaneously: confirmation that both have one session.
        CONFIRM = 0xf3, "confirm";
        /// Server to each client, in a job with clients: the statements of all parties.
        PARTIES = 0xf4, "parties";
        /// Both parties, simultaneously, sent by `doctor` alone: the time of its clock.
        CLOCK = 0xf5, "clock";
        /// Drivers of a job spread over many machines, in turn: the bucket to be done, and its outcome.
        DRIVERS = 0xf6, "drivers";
        /// Sender to each peer that learns, before its sizes: number of the sender's rows that could not be used.
        QUALITY = 0xf7, "quality";
        /// Both: that the run has begun, and that it has ended, signed. Not counted.
        RECEIPT = 0xf8, "receipt", aside;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::super::Channel;
    use super::*;
    use crate::error::Error;

    #[test]
    fn an_answer_is_noted_once_before_it_leaves() {
        let (mut channel, mut other) = Channel::pair("a", "b");
        let noted = Arc::new(AtomicU32::new(0));
        let own = noted.clone();
        channel.before_answer(move || {
            own.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        for (label, times) in [(ecdh::BLINDED, 0), (entries::ENTRIES, 1), (entries::ENTRIES, 1)] {
            channel.send(label, Vec::new()).unwrap();
            assert_eq!(noted.load(Ordering::Relaxed), times, "{}", label.name);
            other.receive(label, 0).unwrap();
        }
    }

    #[test]
    fn what_cannot_be_noted_is_never_sent() {
        let (mut channel, mut other) = Channel::pair("a", "b");
        channel.before_answer(|| Err(Error::Internal("a full disk".into())));
        for label in [entries::MATCHES, entries::MATCHES, entries::RETURNED_COUNTS] {
            let refused = channel.send(label, Vec::new());
            assert!(
                matches!(&refused, Err(Error::Internal(what)) if what == "a full disk"),
                "{}: {refused:?}",
                label.name
            );
        }
        channel.send(ecdh::BLINDED, Vec::new()).unwrap();
        other.receive(ecdh::BLINDED, 0).unwrap();
    }

    #[test]
    fn an_answer_over_a_lane_is_noted_once_before_it_leaves() {
        let (mut channel, mut other) = Channel::pair("a", "b");
        let noted = Arc::new(AtomicU32::new(0));
        let own = noted.clone();
        channel.before_answer(move || {
            own.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        let times = |_: u8, lane: &mut Channel| {
            lane.send(ecdh::BLINDED, Vec::new())?;
            lane.receive(ecdh::EVALUATED, 0)?;
            lane.send(entries::ENTRIES, Vec::new())?;
            lane.send(entries::ENTRIES, Vec::new())
        };
        let seen = |_: u8, lane: &mut Channel| {
            lane.receive(ecdh::BLINDED, 0)?;
            lane.send(ecdh::EVALUATED, Vec::new())?;
            lane.receive(entries::ENTRIES, 0)?;
            let noted = noted.load(Ordering::Relaxed);
            lane.receive(entries::ENTRIES, 0).map(|_| noted)
        };
        let seen = std::thread::scope(|scope| {
            let answers = scope.spawn(|| channel.lanes(vec![0, 1, 2], 4096, times));
            let seen = other.lanes(vec![0, 1, 2], 4096, seen);
            answers.join().unwrap().unwrap();
            seen
        });
        assert_eq!(seen.unwrap(), [1; 3]);
    }

    #[test]
    fn what_cannot_be_noted_is_not_sent_over_a_lane() {
        let (mut channel, mut other) = Channel::pair("a", "b");
        channel.before_answer(|| Err(Error::Internal("a full disk".into())));
        let (answered, heard) = std::thread::scope(|scope| {
            let answers =
                scope.spawn(|| channel.lanes(vec![0, 1], 4096, |_, lane| lane.send(entries::MATCHES, Vec::new())));
            let heard = other.lanes(vec![0, 1], 4096, |_, lane| lane.receive(entries::MATCHES, 0));
            (answers.join().unwrap(), heard)
        });
        assert!(matches!(&answered, Err(Error::Internal(what)) if what == "a full disk"), "{answered:?}");
        assert!(heard.is_err());
    }
}
