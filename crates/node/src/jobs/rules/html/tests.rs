use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// Names that a peer might choose to break out of the place that they stand in, or to deceive.
const HOSTILE: [&str; 18] = [
    "</script><script>alert(1)</script>",
    "</ScRiPt \n><img src=x onerror=alert(1)>",
    "<!--<script>",
    "]]><svg onload=alert(1)>",
    "</title></text></svg><script>alert(1)</script>",
    "\" onmouseover=\"alert(1)",
    "' autofocus onfocus='alert(1)",
    "`onclick=alert(1)`",
    "\\\"</style><base href=//x>",
    "&lt;script&gt;&#x3c;b&#x3e;&amp;",
    "a\u{202e}gpj.exe\u{2066}\u{200f}",
    "nul\0 bell\u{7} del\u{7f} c1\u{85}\u{9b}",
    "line\u{2028}and\u{2029}paragraph\r\n\ttab",
    "${alert(1)}{{x}}%s{}",
    "",
    " \u{a0}\u{3000}",
    "\u{feff}\u{e0041}\u{fffe}\u{1f469}\u{200d}\u{1f33e}",
    "javascript:alert(1)//\\u003cscript\\u003e",
];

fn item(party: usize, name: &str) -> ItemView {
    ItemView { party, name: name.into() }
}

/// A report on these names, alternately of one party and the other, in which all numbers differ.
fn report(names: &[String]) -> RulesReport {
    let items: Vec<_> = names.iter().enumerate().map(|(i, name)| item(i % 2, name)).collect();
    let single = |(i, item): (usize, &ItemView)| Itemset { items: vec![item.clone()], count: 5000 - i as u64 };
    let pair = |(i, pair): (usize, &[ItemView])| Itemset { items: pair.to_vec(), count: 2000 - i as u64 };
    let itemsets = items.iter().enumerate().map(single).chain(items.windows(2).enumerate().map(pair)).collect();
    let rule = |(i, three): (usize, &[ItemView])| RuleView {
        antecedents: three[..2].to_vec(),
        consequents: three[2..].to_vec(),
        support: 0.01 + i as f64 / 100.0,
        confidence: 0.5 + i as f64 / 1000.0,
        lift: 0.9 + i as f64 / 10.0,
        leverage: i as f64 / 1000.0 - 0.002,
        conviction: if i == 0 { f64::INFINITY } else { 1.0 + i as f64 },
    };
    let first = names.first().cloned().unwrap_or_default();
    RulesReport {
        id: first.clone(),
        parties: vec![first.clone(), names.last().cloned().unwrap_or_default()],
        rows: 10_000,
        min_support: first.clone(),
        min_confidence: first.clone(),
        protocol: first.clone(),
        learned: vec![(first.clone(), names.to_vec()), ("cafe".into(), vec![first])],
        itemsets,
        rules: items.windows(3).enumerate().map(rule).collect(),
    }
}

fn hostile() -> Vec<String> {
    let long = ["<b onclick='x'>\u{202e}".repeat(60), "\u{10fffd}x".repeat(200)];
    HOSTILE.iter().map(|name| name.to_string()).chain(long).collect()
}

/// Result of a browser's tokenizer for a page: tags with their attributes' names, the contents of raw elements, and
/// decoded texts and attribute values.
#[derive(Default)]
struct Tokens {
    tags: Vec<String>,
    raw: Vec<String>,
    texts: BTreeSet<String>,
}

impl Tokens {
    /// Tokenizes as the HTML standard does, for pages without comments; a page with one fails.
    fn of(page: &str) -> Tokens {
        let mut tokens = Tokens::default();
        let mut rest = page;
        while let Some(start) = rest.find('<') {
            tokens.texts.insert(decoded(&rest[..start]));
            rest = &rest[start + 1..];
            let name_end = rest.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/') && !rest.starts_with(c));
            let name = rest[..name_end.unwrap()].to_ascii_lowercase();
            assert!(
                name.trim_start_matches('/').chars().all(|c| c.is_ascii_alphanumeric()) || name == "!doctype",
                "<{name}"
            );
            let mut tag = name.clone();
            rest = &rest[name.len()..];
            loop {
                rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
                if let Some(after) = rest.strip_prefix('>') {
                    rest = after;
                    break;
                }
                let end = rest.find(|c: char| c.is_ascii_whitespace() || matches!(c, '=' | '>' | '/')).unwrap();
                tag.push(' ');
                tag.push_str(&rest[..end]);
                rest = &rest[end..];
                if let Some(value) = rest.strip_prefix('=') {
                    // No value stands without its quotes.
                    let value = value.strip_prefix('"').expect("a quoted attribute");
                    let end = value.find('"').unwrap();
                    tokens.texts.insert(decoded(&value[..end]));
                    rest = &value[end + 1..];
                }
            }
            if matches!(&*name, "script" | "style" | "title") && !tokens.within_svg() {
                let lower = rest.to_ascii_lowercase();
                let end = lower.find(&format!("</{name}")).unwrap();
                // Within a script, this would hide the end of it.
                assert!(!lower[..end].contains("<!--"), "{name}");
                tokens.raw.push(rest[..end].to_owned());
                rest = &rest[end..];
            }
            tokens.tags.push(tag);
        }
        assert!(rest.trim().is_empty(), "{rest}");
        tokens
    }

    fn within_svg(&self) -> bool {
        let count = |start: &str| self.tags.iter().filter(|tag| tag.split(' ').next() == Some(start)).count();
        count("svg") > count("/svg")
    }
}

fn decoded(text: &str) -> String {
    let names = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#96;", "`"), ("&amp;", "&")];
    let marks = text.matches('&').count();
    let known: usize = names.iter().map(|(name, _)| text.matches(name).count()).sum();
    assert_eq!(marks, known, "an ampersand that is not escaped: {text}");
    names.iter().fold(text.to_owned(), |text, (name, c)| text.replace(name, c))
}

/// The page is built as one of harmless names is, and what hides is nowhere.
fn check_safe(names: &[String]) {
    let harmless: Vec<_> = (0..names.len()).map(|i| format!("item {i}")).collect();
    let page = page(&report(names));
    let tokens = Tokens::of(&page);
    let expected = Tokens::of(&super::page(&report(&harmless))).tags;
    let differ = tokens.tags.iter().zip(&expected).find(|(tag, expected)| tag != expected);
    assert_eq!((differ, tokens.tags.len()), (None, expected.len()));
    assert_eq!(tokens.raw.len(), 4, "title, style, data and script");
    assert_eq!((&*tokens.raw[1], &*tokens.raw[3]), (STYLE, SCRIPT));
    let hides = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    assert_eq!(page.find(hides), None);
    assert_eq!(page.find(['\u{200e}', '\u{200f}', '\u{feff}', '\u{fffe}']), None);

    // All names arrive, in the data and in the attributes and texts of the page.
    let data: serde_json::Value = serde_json::from_str(&tokens.raw[2]).unwrap();
    let arrived: BTreeSet<_> =
        data["items"].as_array().unwrap().iter().map(|item| item[1].as_str().unwrap().to_owned()).collect();
    let expected: BTreeSet<_> = names.iter().map(|name| visible(name)).collect();
    assert_eq!(arrived, expected);
    assert!(expected.is_subset(&tokens.texts), "{:?}", expected.difference(&tokens.texts));
}

#[test]
fn hostile_names_stay_names() {
    check_safe(&hostile());
    // Each one in each place: also in the header, and as the first and the last one.
    for turn in 0..HOSTILE.len() {
        let mut names = hostile();
        names.rotate_left(turn);
        check_safe(&names);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_name_changes_the_page(names in proptest::collection::vec("[<>\"'&/a-z!=` \\-\\PC\\u{0}-\\u{1f}]{0,40}", 3..8)) {
        // No two items are the same.
        let names: Vec<_> = names.iter().enumerate().map(|(i, name)| format!("{name}{i}")).collect();
        check_safe(&names);
    }
}

#[test]
fn nothing_is_loaded_and_only_our_script_runs() {
    let page = page(&report(&hostile()));
    let tokens = Tokens::of(&page);
    let policy = tokens.texts.iter().find(|text| text.starts_with("default-src 'none'; ")).unwrap();
    let hash = |text: &str| format!("-src 'sha256-{}';", BASE64.encode(&Sha256::digest(text.as_bytes())));
    assert!(policy.contains(&format!("script{}", hash(&tokens.raw[3]))), "{policy}");
    assert!(policy.contains(&format!("style{}", hash(&tokens.raw[1]))), "{policy}");
    // Before anything that it is to bind.
    assert!(page.find("Content-Security-Policy") < page.find("<style"));
    for tag in &tokens.tags {
        let mut words = tag.split(' ');
        let name = words.next().unwrap().trim_start_matches('/');
        assert!(
            !["a", "img", "link", "iframe", "object", "embed", "use", "image", "base", "form"].contains(&name),
            "{tag}"
        );
        assert!(!words.any(|attribute| attribute.starts_with("on") || ["src", "href", "style"].contains(&attribute)));
    }
    for (what, text) in [("style", STYLE), ("script", SCRIPT)] {
        for word in ["http", "url(", "@import", "innerHTML", "insertAdjacentHTML", "document.write", "eval", "</"] {
            assert!(!text.contains(word), "{word} in the {what}");
        }
    }
}

#[test]
fn same_report_same_page() {
    let names: Vec<_> = (0..60).map(|i| format!("item {i}")).collect();
    let mut report = report(&names);
    let first = page(&report);
    assert_eq!(page(&report), first);
    // The order in which rules and itemsets were found does not show.
    report.rules.reverse();
    report.itemsets.sort_by(|a, b| a.items.cmp(&b.items));
    let places = |page: &str| page[page.find("<section id=\"graph\"").unwrap()..].to_owned();
    assert_eq!(places(&page(&report)), places(&first));
    assert_eq!(page(&report).len(), first.len());
}

#[test]
fn without_rules_it_says_what_to_try() {
    let mut report = report(&["tea".into(), "cake".into(), "roses".into()]);
    report.rules.clear();
    let with_sets = page(&report);
    assert!(with_sets.contains("no rule is sure enough") && with_sets.contains("lower min_confidence"));
    assert!(with_sets.contains("id=\"graph\"") && !with_sets.contains("<table"));
    report.itemsets.clear();
    let empty = page(&report);
    assert!(empty.contains("No set of items is frequent") && empty.contains("lower min_support"));
    assert!(!empty.contains("<svg"));
    report.rows = 0;
    Tokens::of(&page(&report));
}

#[test]
fn strange_numbers_do_not_break_the_plot() {
    let mut report = report(&["tea".into(), "cake".into(), "roses".into(), "tulips".into()]);
    for (support, confidence, lift) in
        [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (f64::NAN, 0.5, f64::INFINITY), (1e-9, 1.0, 1e9), (0.1, f64::NAN, f64::NAN)]
    {
        for rules in [1, 2] {
            report.rules.truncate(rules);
            (report.rules[0].support, report.rules[0].confidence, report.rules[0].lift) = (support, confidence, lift);
            let page = page(&report);
            let drawn = &page[page.find("<svg id=\"plot\"").unwrap()..page.find("<script type").unwrap()];
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        }
        report = self::report(&["tea".into(), "cake".into(), "roses".into(), "tulips".into()]);
    }
}

#[test]
fn many_rules_make_a_page_of_bounded_size() {
    let names: Vec<_> = (0..400).map(|i| format!("an item with the number {i}")).collect();
    let mut report = report(&names);
    let some = report.rules.clone();
    while report.rules.len() < MAX_RULES {
        report.rules.extend_from_slice(&some);
    }
    report.rules.truncate(MAX_RULES);
    let full = page(&report);
    assert!(full.len() < 2_500_000, "{}", full.len());
    assert!(!full.contains("of the highest lift, out of 10,0"));
    report.rules.push(RuleView { lift: 1e-3, ..some[0].clone() });
    let over = page(&report);
    assert!(over.contains("This page has the 10,000 rules of the highest lift, out of 10,001."));
    assert!(over.len() < full.len() + 1000);
}

#[test]
fn rules_are_ranked_by_lift() {
    let rule = |name: &str, lift, confidence| RuleView {
        antecedents: vec![item(0, name)],
        consequents: vec![item(1, "z")],
        support: 0.1,
        confidence,
        lift,
        leverage: 0.0,
        conviction: 1.0,
    };
    let rules = [rule("d", 1.0, 0.5), rule("b", 2.0, 0.4), rule("a", 2.0, 0.5), rule("c", 1.0, 0.5)];
    let order: Vec<_> = ranked(&rules).iter().map(|rule| rule.antecedents[0].name.clone()).collect();
    assert_eq!(order, ["a", "b", "c", "d"]);
}
