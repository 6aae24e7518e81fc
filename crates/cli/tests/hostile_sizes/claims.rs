//! Claims of peers, and the jobs they are made in.

use super::*;

/// Every job with every protocol that it can have.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut case = |name, kind, terms: &str| cases.push(Case::new(name, kind, terms));
    let intersect = |rest: &str| format!("job = \"intersect\"\n{rest}\n[key]\ncolumns = [\"id\"]\n");
    let both = "reveal_to = [\"a\", \"b\"]";
    let gives = "reveal = \"payload\"\ngives = { a = [\"acity\"], b = [\"bcity\"] }";
    for protocol in ["auto", "vole", "ecdh"] {
        let named = format!("protocol = \"{protocol}\"");
        case("rows", Kind::Table, &intersect(&format!("{both}\n{named}")));
        case("rows, on disk", Kind::Disk, &intersect(&format!("{both}\n{named}")));
        case("payload", Kind::Table, &intersect(&format!("{both}\n{gives}\n{named}")));
    }
    for reveal in ["rows", "payload\"\ngives = { b = [\"bcity\"] }\nlevel = \"bits128"] {
        let malicious = format!("reveal_to = [\"a\"]\nsecurity = \"malicious\"\nreveal = \"{reveal}\"");
        case("malicious", Kind::Table, &intersect(&malicious));
    }
    case("count", Kind::Table, &intersect(&format!("{both}\nreveal = \"count\"")));
    case("sum", Kind::Table, &intersect(&format!("{both}\nreveal = \"sum:cost\"\ngives = {{ b = [\"cost\"] }}")));
    case("bloom", Kind::Table, &intersect("reveal_to = [\"a\"]\nprotocol = \"bloom\""));
    for way in ["reveal = \"count\"", "bins = 1"] {
        let terms = format!("reveal_to = [\"a\"]\nprotocol = \"polynomial\"\n{way}");
        case("polynomial", Kind::Table, &intersect(&terms));
    }
    let limits = "[limits]\nmax_rows = 200000000\nmax_queries = 4294967295\nmax_clients = 100\n";
    case("prepared", Kind::Prepared, &(intersect("reveal_to = [\"a\"]") + limits));
    let given = "reveal_to = [\"a\"]\nreveal = \"payload\"\ngives = { b = [\"bcity\"] }";
    case("prepared payload", Kind::Prepared, &(intersect(given) + limits));
    let union = |rest: &str| format!("job = \"union\"\n{rest}\n[key]\ncolumns = [\"id\"]\n");
    case("union", Kind::Table, &union(both));
    case("union with columns", Kind::Table, &union("reveal_to = [\"a\"]\ngives = { b = [\"bcity\", \"x\"] }"));
    case("union, counted", Kind::Table, &union(&format!("{both}\nreveal = \"count\"")));
    let by_values = "reveal_to = [\"a\"]\nprotocol = \"polynomial-ot\"\ngives = { b = [\"bcity\"] }";
    case("union by values", Kind::Table, &union(by_values));
    case("union, padded", Kind::Table, &(union("reveal_to = [\"a\"]") + "[limits]\npad_to = 10\n"));
    case("padded", Kind::Table, &(intersect(both) + "[limits]\npad_to = 10\n"));

    for aligned in ["", "row_id = \"id\"\n", "row_id = \"id\"\nalignment = \"rows\"\n"] {
        let dot = |rest: &str| format!("job = \"dot\"\n{both}\ncolumn = \"x\"\nbits = 1\n{aligned}{rest}\n");
        for protocol in ["ot", "lattice", "paillier", "gm-bloom"] {
            case("dot", Kind::Table, &dot(&format!("protocol = \"{protocol}\"")));
        }
        case("dot, silent", Kind::Table, &dot("protocol = \"ot\"\nextension = \"silent\""));
        let rules =
            |rest: &str| format!("job = \"rules\"\n{both}\nmin_support = 2\nitems = [\"x\"]\n{aligned}{rest}\n");
        case("rules", Kind::Table, &rules(""));
        for protocol in ["ot", "lattice", "paillier", "gm-bloom"] {
            let counts = if ["ot", "lattice"].contains(&protocol) { "" } else { "reveal = \"counts\"" };
            case("rules", Kind::Table, &rules(&format!("protocol = \"{protocol}\"\n{counts}")));
        }
    }
    case("shares", Kind::Shares, &format!("job = \"shares\"\n{both}\noperation = \"open\""));
    case("comparison", Kind::Shares, &format!("job = \"shares\"\n{both}\noperation = \"at_least:3\""));
    cases
}

/// Numbers that a peer may claim.
pub const NUMBERS: [u64; 9] = [0, 1, 2, 1 << 20, 200_000_000, 1 << 31, u32::MAX as u64, 1 << 32, u64::MAX];

/// Numbers that break most.
pub const FEW_NUMBERS: [u64; 4] = [1, 200_000_000, u32::MAX as u64, u64::MAX];

/// Returns the claims that a peer could make. Each number in an honest claim, and in all that it might hold, is any of
/// `numbers`. Those that are refused alone also occur together with values that make them fit. For fields that the job
/// has no use for, some numbers are enough.
pub fn claims(case: &Case, peer: &str, numbers: &[u64]) -> Vec<(String, Value)> {
    let honest = serde_json::to_value(case.sizes(peer)).unwrap();
    let on_disk = disk::check_job(&case.job).is_ok();
    let gives = !honest["schema"].as_str().unwrap_or_default().is_empty();
    let prepared = case.kind == Kind::Prepared && peer == "b";
    let mut claims: Vec<(String, Value)> = Vec::new();
    for &number in numbers {
        let mut claim = |what: &str, useful: bool, change: &dyn Fn(&mut Value)| {
            let mut sizes = honest.clone();
            change(&mut sizes);
            if (useful || [1, u32::MAX.into()].contains(&number)) && !claims.iter().any(|(_, known)| *known == sizes) {
                claims.push((format!("{what} = {number}"), sizes));
            }
        };
        let set = |fields: &'static [&str]| {
            move |sizes: &mut Value| fields.iter().for_each(|field| sizes[field] = json!(number))
        };
        claim("items", true, &set(&["items"]));
        claim("entries", gives, &set(&["entries"]));
        claim("row_bytes", gives, &set(&["row_bytes"]));
        claim("tag_bytes", prepared, &set(&["tag_bytes"]));
        claim("items and entries", gives, &set(&["items", "entries"]));
        claim("entries and row_bytes", gives, &set(&["entries", "row_bytes"]));
        claim("items, entries and row_bytes", gives, &set(&["items", "entries", "row_bytes"]));
        if honest.get("each").is_some() {
            claim("rows of each key", true, &|sizes| sizes["each"]["rows"] = json!(number));
            claim("items and rows of each key", true, &|sizes| {
                set(&["items"])(sizes);
                sizes["each"]["rows"] = json!(number.min(20_000));
            });
        }
        claim("items and tag_bytes", prepared, &|sizes| {
            set(&["items", "tag_bytes"])(sizes);
            sizes["epoch"] = json!("ab".repeat(32));
        });
        claim("memory", on_disk, &|sizes| sizes["work"] = json!({"memory": number}));
        for memory in [196_608, u64::MAX] {
            claim("items on disk", on_disk, &|sizes| {
                sizes["items"] = json!(number);
                sizes["work"] = json!({"memory": memory});
            });
        }
        for field in ["finished", "buckets"] {
            claim(field, on_disk, &|sizes| {
                let mut kept = json!({"run": "ab".repeat(32), "finished": 0, "buckets": 8, "protocol": "vole"});
                kept[field] = json!(number);
                sizes["work"] = json!({"memory": 1 << 20, "kept": kept});
            });
        }
        if gives && number > 0 {
            // Rows as long as they can be, and columns that fit them.
            claim("entries of long rows", true, &|sizes| {
                let mut columns = case.job.given_by(peer).to_vec();
                if case.job.job.name() == "union" {
                    columns.insert(0, "id".into());
                    set(&["items"])(sizes);
                } else {
                    set(&["entries"])(sizes);
                    sizes["items"] = json!(1);
                }
                let schema = PayloadSchema::of_texts(&columns, 1_000_000).unwrap();
                sizes["row_bytes"] = json!(schema.row_bytes());
                sizes["schema"] = json!(tacita_node::base::hex::hex(&schema.encode()));
            });
        }
    }
    claims
}
