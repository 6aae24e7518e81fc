//! Job files that make sense, of every kind.

use std::fmt::Write as _;

use tacita_node::agreement::JobSpec;

/// Parties of every job that names none itself, which are most.
const PARTIES: &str = "[parties.a]\n[parties.b]\n";

/// Each with a name, as TOML without `id`, and without parties if they are `a` and `b`.
const JOBS: &[(&str, &str)] = &[
    ("rows", "job = \"intersect\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"name\"]"),
    (
        "rows to both",
        "job = \"intersect\"\nreveal_to = [\"b\", \"a\"]\n[key]\ncolumns = [\"name\", \"born\"]\nnormalize = [\"name\", \"date\"]",
    ),
    (
        "rows by vole, malicious",
        "job = \"intersect\"\nprotocol = \"vole\"\nsecurity = \"malicious\"\nreveal_to = [\"b\"]\n[key]\ncolumns = [\"name\"]\n[limits]\nmax_rows = 100000",
    ),
    (
        "rows by auto, malicious",
        "job = \"intersect\"\nsecurity = \"malicious\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"name\"]",
    ),
    (
        "rows by ecdh",
        "job = \"intersect\"\nprotocol = \"ecdh\"\nreveal_to = [\"a\", \"b\"]\n[key]\ncolumns = [\"mail\"]\nnormalize = [\"email\"]\nduplicates = \"error\"\nnulls = \"error\"\n[limits]\nmax_queries = 1000\nmax_clients = 3",
    ),
    (
        "rows by star between two",
        "job = \"intersect\"\nprotocol = \"star\"\nreveal_to = [\"b\"]\n[key]\ncolumns = [\"name\"]",
    ),
    (
        "rows among three",
        "job = \"intersect\"\nreveal_to = [\"c\", \"b\"]\n[key]\ncolumns = [\"name\"]\n[parties.a]\n[parties.b]\n[parties.c]",
    ),
    (
        "join among four",
        "job = \"intersect\"\nprotocol = \"star\"\nreveal = \"payload\"\nreveal_to = [\"a\", \"c\"]\ngives = { a = [\"ward\"], d = [\"cost\"] }\n[key]\ncolumns = [\"name\"]\n[limits]\npad_to = 1000\n[parties.a]\n[parties.b]\n[parties.c]\n[parties.d]",
    ),
    (
        "counts through a helper",
        "job = \"intersect\"\nprotocol = \"outsourced\"\nreveal = \"counts:ward\"\nreveal_to = [\"b\", \"c\"]\ngives = { a = [\"ward\"] }\n[key]\ncolumns = [\"name\"]\n[limits]\npad_to = 1000\nmin_result = 5\n[helper]\n[parties.a]\n[parties.b]\n[parties.c]",
    ),
    (
        "join through a helper",
        "job = \"intersect\"\nprotocol = \"outsourced\"\nreveal = \"payload\"\nreveal_to = [\"b\"]\ngives = { a = [\"ward\"], c = [\"cost\", \"born\"] }\n[key]\ncolumns = [\"name\"]\n[limits]\npad_to = 1000\nmax_text = 40\n[helper]\n[parties.a]\n[parties.b]\n[parties.c]",
    ),
    (
        "rows through a helper as published",
        "job = \"intersect\"\nprotocol = \"outsourced-bloom\"\nreveal_to = [\"b\", \"a\"]\n[key]\ncolumns = [\"name\"]\n[limits]\npad_to = 1000\n[helper]\n[parties.a]\n[parties.b]\n[parties.c]",
    ),
    (
        "rows through a helper as the paper measured it",
        "job = \"intersect\"\nprotocol = \"outsourced-bloom\"\nlevel = \"paper80\"\ndecryption = \"alone\"\nfalse_positives = \"0.65%\"\nreveal_to = [\"a\", \"b\", \"c\", \"d\"]\n[key]\ncolumns = [\"name\"]\n[limits]\npad_to = 16384\n[helper]\n[parties.a]\n[parties.b]\n[parties.c]\n[parties.d]",
    ),
    ("union", "job = \"union\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"name\"]"),
    (
        "union to both, with columns",
        "job = \"union\"\nreveal_to = [\"a\", \"b\"]\ngives = { a = [\"ward\"], b = [\"cost\", \"name\"] }\n[key]\ncolumns = [\"name\", \"born\"]\nnormalize = [\"name\", \"date\"]\nduplicates = \"first\"\n[limits]\nmax_text = 60",
    ),
    (
        "union, padded",
        "job = \"union\"\nprotocol = \"ecdh\"\nreveal_to = [\"b\"]\n[key]\ncolumns = [\"name\"]\n[limits]\npad_to = 5000\nmax_rows = 100000",
    ),
    (
        "union, counted",
        "job = \"union\"\nreveal = \"count\"\nreveal_to = [\"a\", \"b\"]\n[key]\ncolumns = [\"name\"]\n[limits]\nmin_result = 10",
    ),
    (
        "rows by bloom",
        "job = \"intersect\"\nprotocol = \"bloom\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"name\"]\nduplicates = \"first\"\n[limits]\npad_to = 1000",
    ),
    (
        "rows by polynomial",
        "job = \"intersect\"\nprotocol = \"polynomial\"\nstrategy = \"points\"\nbins = 64\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"name\"]",
    ),
    (
        "count by polynomial",
        "job = \"intersect\"\nprotocol = \"polynomial\"\nreveal = \"count\"\nreveal_to = [\"b\"]\n[key]\ncolumns = [\"name\"]\n[limits]\npad_to = 1000000",
    ),
    (
        "rows by bloom, old level",
        "job = \"intersect\"\nprotocol = \"bloom\"\nlevel = \"paper80\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"name\"]",
    ),
    (
        "count",
        "job = \"intersect\"\nreveal = \"count\"\nreveal_to = [\"a\", \"b\"]\n[key]\ncolumns = [\"name\"]\n[limits]\nmin_result = 10",
    ),
    (
        "rows of multisets",
        "job = \"intersect\"\nsecurity = \"malicious\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"name\"]\nduplicates = \"multiset\"",
    ),
    (
        "count of multisets",
        "job = \"intersect\"\nreveal = \"count\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"name\"]\nduplicates = \"multiset\"\n[limits]\npad_to = 5000",
    ),
    (
        "sum",
        "job = \"intersect\"\nreveal = \"sum:cost\"\nscale = 2\nreveal_to = [\"a\"]\ngives = { b = [\"cost\"] }\n[key]\ncolumns = [\"name\"]",
    ),
    (
        "sum to both",
        "job = \"intersect\"\nreveal = \"sum:cost\"\nreveal_to = [\"a\", \"b\"]\ngives = { b = [\"cost\", \"kind\"] }\n[key]\ncolumns = [\"name\"]\n[limits]\nmin_result = 5\nmax_rows = 1000",
    ),
    (
        "sums",
        "job = \"intersect\"\nreveal = \"sum:kind, cost\"\nreveal_to = [\"a\"]\ngives = { b = [\"cost\", \"kind\"] }\n[key]\ncolumns = [\"name\"]",
    ),
    (
        "means to both",
        "job = \"intersect\"\nreveal = \"mean:cost,kind\"\nreveal_to = [\"a\", \"b\"]\ngives = { b = [\"cost\", \"kind\"] }\n[key]\ncolumns = [\"name\"]\n[limits]\nmin_result = 5",
    ),
    (
        "payload",
        "job = \"intersect\"\nreveal = \"payload\"\nreveal_to = [\"a\"]\ngives = { b = [\"ward\", \"cost\"] }\n[key]\ncolumns = [\"name\"]",
    ),
    (
        "payload both ways",
        "job = \"intersect\"\nreveal = \"payload\"\nreveal_to = [\"a\", \"b\"]\ngives = { a = [\"ward\"], b = [\"cost\"] }\n[key]\ncolumns = [\"name\"]\n[limits]\npad_to = 5000",
    ),
    (
        "own headers and profiles",
        "job = \"intersect\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"phone\", \"name\"]\nnormalize = [\"phone:DE\", \"name\"]\n\
         [parties.a]\naddress = \"127.0.0.1:7000\"\ncolumns = { phone = \"Telefon\" }\n\
         identity = \"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"\n\
         [parties.b]\nnormalize = [\"phone:FR\", \"name\"]",
    ),
    ("dot", "job = \"dot\"\nreveal_to = [\"a\"]"),
    (
        "dot to both",
        "job = \"dot\"\ncolumn = \"x\"\nbits = 16\nsigned = true\nscale = 2\nreveal_to = [\"a\", \"b\"]\n[limits]\nmin_result = 3",
    ),
    (
        "dot of rows with ids",
        "job = \"dot\"\ncolumn = { a = \"x\", b = [\"y\", \"z\"] }\nbits = 8\nrow_id = \"id\"\nreveal_to = [\"b\"]\n[limits]\npad_to = 500",
    ),
    (
        "dot of rows with profiles",
        "job = \"dot\"\ncolumn = [\"x\", \"y\"]\nrow_id = [\"id\", \"mail\"]\nreveal_to = [\"b\"]\n[key]\ncolumns = [\"mail\"]\nnormalize = [\"email\"]\nnulls = \"error\"\n[limits]\nmax_rows = 500",
    ),
    ("dot with noise", "job = \"dot\"\nreveal_to = [\"a\"]\n[noise]\nepsilon = 0.5"),
    (
        "dot with Gaussian noise",
        "job = \"dot\"\ncolumn = { a = \"x\", b = [\"y\", \"z\"] }\nbits = 8\nscale = 1\nrow_id = \"id\"\nreveal_to = [\"b\", \"a\"]\n\
         noise = { epsilon = 1, delta = 1e-9, bounds = { a = [0, 12.5], b = [0, 1] } }",
    ),
    (
        "dot with noise over hidden rows",
        "job = \"dot\"\ncolumn = { a = \"present\", b = \"cost\" }\nbits = 16\nrow_id = \"id\"\nreveal_to = [\"a\"]\n\
         noise = { epsilon = 1, bounds = { a = [0, 1], b = [0, 5000] } }\n[limits]\nblur = 128",
    ),
    ("dot by silent", "job = \"dot\"\nprotocol = \"ot\"\nextension = \"silent\"\nreveal_to = [\"a\"]"),
    ("dot by softspoken", "job = \"dot\"\nextension = \"softspoken-4\"\nreveal_to = [\"a\"]"),
    (
        "dot by lattice",
        "job = \"dot\"\nprotocol = \"lattice\"\ncolumn = { a = [\"x\", \"y\"], b = [\"u\", \"v\", \"w\"] }\nreveal_to = [\"a\", \"b\"]",
    ),
    ("dot by paillier", "job = \"dot\"\nprotocol = \"paillier\"\nlevel = \"bits192\"\nchunk = 16\nreveal_to = [\"a\"]"),
    (
        "dot by gm-bloom",
        "job = \"dot\"\nprotocol = \"gm-bloom\"\nlevel = \"paper80\"\ndensity = 0.25\nreveal_to = [\"a\"]",
    ),
    ("dot in shares", "job = \"dot\"\nreveal = \"shares\"\nbits = 12\nreveal_to = [\"a\", \"b\"]"),
    (
        "dot in shares modulo a prime",
        "job = \"dot\"\nreveal = \"shares\"\nmodulus = \"2^96\"\nreveal_to = [\"a\", \"b\"]",
    ),
    (
        "dot in shares with noise",
        "job = \"dot\"\nreveal = \"shares\"\nbits = 12\nnoise = { epsilon = 0.5 }\nreveal_to = [\"a\", \"b\"]",
    ),
    ("dot in parts", "job = \"dot\"\nprotocol = \"gm-bloom\"\nreveal = \"shares\"\nreveal_to = [\"a\", \"b\"]"),
    (
        "dot with clients",
        "job = \"dot\"\ncolumn = { a = \"x\", b = \"x\", c = [\"y\", \"z\"] }\nbits = 8\nreveal_to = [\"a\", \"b\"]\n\
         [parties.c]\nrole = \"server\"\n[parties.b]\nrole = \"client\"\nslice = 1\n[parties.a]\nrole = \"client\"\nslice = 2",
    ),
    ("shares opened", "job = \"shares\"\noperation = \"open\"\nreveal_to = [\"a\", \"b\"]\n[limits]\nmin_result = 4"),
    ("shares added up", "job = \"shares\"\noperation = \"sum\"\nreveal_to = [\"b\"]"),
    ("shares compared", "job = \"shares\"\noperation = \"at_least:12.50\"\nreveal_to = [\"a\", \"b\"]"),
    (
        "shares with noise compared",
        "job = \"shares\"\noperation = \"at_least:100\"\nnoise = { epsilon = 0.5 }\nreveal_to = [\"a\", \"b\"]",
    ),
    (
        "shares with noise added up",
        "job = \"shares\"\noperation = \"sum\"\nnoise = { epsilon = 0.5, delta = 1e-6 }\nreveal_to = [\"b\"]",
    ),
    ("rules", "job = \"rules\"\nmin_support = 0.07\nreveal_to = [\"a\", \"b\"]"),
    ("cross table", "job = \"crosstab\"\nrows = [\"x\"]\ncolumns = [\"y\"]\nreveal_to = [\"a\", \"b\"]"),
    (
        "cross table with noise",
        "job = \"crosstab\"\nrows = [\"x\"]\ncolumns = [\"y\"]\ncategories = { x = [\"m\", \"f\"], y = [\"p\", \"q\"] }\nnoise = { epsilon = 0.5 }\nreveal_to = [\"a\"]",
    ),
    (
        "cross table of means",
        "job = \"crosstab\"\nrows = [\"x\", \"age\"]\ncolumns = \"y\"\nmeasure = \"mean:pay\"\nscale = 2\nrow_id = \"id\"\n\
         alignment = \"hidden\"\nbins = { age = [18, 65.5] }\ncategories = { y = [\"p\", \"q\"] }\nreveal_to = [\"a\"]\n[limits]\nmin_cell = 9",
    ),
    (
        "rules of rows with ids",
        "job = \"rules\"\nmin_support = \"2.50%\"\nmin_confidence = 0.30000000000000001\nrow_id = \"id\"\nreveal_to = [\"a\", \"b\"]\n[limits]\nmax_rows = 1000\nmin_rows = 20",
    ),
    (
        "rules, mixed",
        "job = \"rules\"\nmin_support = 30\nmax_len = 3\nmixed_only = true\nconsequents = \"any\"\nmax_candidates = 1000\nmax_rules = 50\n\
         items = { column = \"basket\", separator = \";\" }\nreveal_to = [\"a\", \"b\"]\n[parties.a]\nitems = [\"x\", \"y\"]\n[parties.b]",
    ),
    (
        "rules with bins",
        "job = \"rules\"\nmin_support = \"100%\"\nitems = \"*\"\nrow_id = \"id\"\nalignment = \"rows\"\nbins = { age = 4, pay = [1000, 2500.5] }\nreveal_to = [\"b\", \"a\"]\n[key]\ncolumns = [\"id\"]\nnormalize = [\"integer\"]",
    ),
    (
        "rules with bins and bounds",
        "job = \"rules\"\nmin_support = 5\nitems = [\"age\"]\nrow_id = \"id\"\nalignment = \"rows\"\nbins = { age = 4 }\nreveal_to = [\"b\", \"a\"]",
    ),
    (
        "rules by ot",
        "job = \"rules\"\nprotocol = \"ot\"\nextension = \"softspoken-8\"\nmin_support = 7\nreveal_to = [\"a\", \"b\"]",
    ),
    (
        "rules by lattice",
        "job = \"rules\"\nprotocol = \"lattice\"\nreveal = \"counts\"\nmin_support = 7\nreveal_to = [\"a\", \"b\"]",
    ),
    (
        "rules by paillier",
        "job = \"rules\"\nprotocol = \"paillier\"\nreveal = \"counts\"\nmin_support = 7\nreveal_to = [\"a\", \"b\"]",
    ),
    (
        "count through a helper",
        "job = \"intersect\"\nprotocol = \"outsourced\"\nreveal = \"count\"\nreveal_to = [\"a\", \"c\"]\n[key]\ncolumns = [\"name\"]\n[limits]\npad_to = 1000\nmin_result = 5\n\
         [parties.a]\naddress = \"127.0.0.1:7000\"\n[parties.b]\n[parties.c]",
    ),
    (
        "sum through a helper",
        "job = \"intersect\"\nprotocol = \"outsourced\"\nreveal = \"sum:cost\"\nreveal_to = [\"a\", \"b\"]\ngives = { b = [\"cost\"] }\n[key]\ncolumns = [\"name\"]\n[limits]\npad_to = 5000\n\
         [parties.a]\naddress = \"127.0.0.1:7000\"\n[parties.b]",
    ),
    (
        "counts by category through a helper",
        "job = \"intersect\"\nprotocol = \"outsourced\"\nreveal = \"counts:ward\"\nreveal_to = [\"a\", \"b\"]\ngives = { a = [\"ward\"] }\n[key]\ncolumns = [\"name\"]\n[limits]\npad_to = 1000\n\
         [parties.a]\naddress = \"127.0.0.1:7000\"\n[parties.b]\n[parties.c]",
    ),
    (
        "rules by gm-bloom",
        "job = \"rules\"\nprotocol = \"gm-bloom\"\nreveal = \"counts\"\ndensity = \"10%\"\nmin_support = 0.5\nrow_id = [\"id\"]\nalignment = \"rows\"\nreveal_to = [\"a\", \"b\"]",
    ),
    (
        "rules among three",
        "job = \"rules\"\nmin_support = 0.07\nreveal_to = [\"a\", \"b\", \"c\"]\n[parties.a]\n[parties.b]\n[parties.c]",
    ),
    (
        "rules among four, mixed",
        "job = \"rules\"\nmin_support = 30\nreveal = \"counts\"\nmixed_only = true\nmax_len = 4\nrow_id = \"id\"\nreveal_to = [\"a\", \"b\", \"c\", \"d\"]\n[limits]\nmin_rows = 20\n[parties.a]\n[parties.b]\n[parties.c]\n[parties.d]",
    ),
    (
        "keys of many",
        "job = \"aggregate\"\nreveal_to = \"participants\"\n[key]\ncolumns = [\"ip\"]\nnormalize = [\"ip\"]\n[round]\nreveal_when = \"distinct >= 3\"\nmin_participants = 5\nmax_share = 0.5\n\
         [participants]\nallow = \"participants.txt\"\n[[proxy]]\naddress = \"proxy.example:7600\"\nidentity = \"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"\n[parties.a]\nformat = \"zeek\"\nexpand = 1000\n[parties.b]",
    ),
    (
        "keys of many, with values",
        "job = \"aggregate\"\nreveal = \"keys+values+histogram\"\nreveal_to = [\"b\", \"database\"]\n[key]\ncolumns = [\"host\"]\nnormalize = [\"text\"]\nduplicates = \"first\"\n[round]\nreveal_when = \"Distinct>=3 and (sum(value) >= 10 or not max(value)<100)\"\nvalues = { min = 1, max = 100 }\nvalue = \"visits\"\nkey_bytes = 48\nbatch_size = 100000\ntighten = true\nclose_at = \"2026-11-30T01:00+01:00\"\nmax_reports = 50000",
    ),
    (
        "keys of many, with noise",
        "job = \"aggregate\"\nreveal = \"keys+histogram\"\nreveal_to = \"participants\"\nnoise = { epsilon = 2, delta = 1e-6, bounds = [1, 50], unit = \"report\" }\n[key]\ncolumns = [\"host\"]\n[round]\nreveal_when = \"count >= 29\"\nmin_participants = 3\nmax_share = 0.5\nmax_reports = 100",
    ),
    (
        "hashes of many, by count",
        "job = \"aggregate\"\nprotocol = \"naor-reingold\"\nreveal_to = [\"a\", \"participants\"]\n[key]\ncolumns = [\"host\", \"print\"]\n[round]\nreveal_when = \"count >= 3 and mode(value) <= 'B'\"\nvalues = [\"A\", \"B\", \"F\"]\nkeys = \"hashed\"",
    ),
];

/// The texts of all jobs, with their names: as TOML, and the same as JSON.
pub fn texts() -> impl Iterator<Item = (&'static str, String, String)> {
    JOBS.iter().map(|(name, terms)| {
        let mut text = String::from("id = \"golden\"\n");
        let parties = if terms.contains("[parties.") { "" } else { PARTIES };
        write!(text, "{terms}\n{parties}").unwrap();
        let json = twin(&toml::from_str(&text).unwrap());
        (*name, text, json)
    })
}

/// Returns all jobs with their names.
pub fn all() -> impl Iterator<Item = (&'static str, JobSpec)> {
    texts()
        .map(|(name, text, _)| (name, JobSpec::parse(&text, false).unwrap_or_else(|error| panic!("{name}: {error}"))))
}

/// The JSON file that says what a TOML file says.
pub fn twin(table: &toml::Table) -> String {
    serde_json::to_string(table).unwrap()
}
