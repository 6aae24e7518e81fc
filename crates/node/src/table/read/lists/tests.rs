//! Lists as they are found.

use arrow_array::cast::AsArray;

use super::*;

/// The rows of a text: of each row the values, an absent one as `-`.
fn rows(text: &str, listing: Option<Listing>, columns: &[(&str, bool)], expand: u64) -> Result<Vec<String>> {
    let columns = columns.iter().map(|(header, mapped)| WantedColumn { header: (*header).into(), mapped: *mapped });
    let lists = ListOptions { listing, expand, columns: columns.collect() };
    let input = Box::new(io::Cursor::new(text.as_bytes().to_vec()));
    let mut stream = of_text(input, "it", ".log", &lists, &ReadOptions::default(), 1 << 20)?;
    let mut found = Vec::new();
    while let Some(batch) = stream.next_batch()? {
        for row in 0..batch.num_rows() {
            let value = |column: &arrow_array::ArrayRef| {
                let column = column.as_string::<i32>();
                if arrow_array::Array::is_null(column, row) { "-".to_owned() } else { column.value(row).to_owned() }
            };
            found.push(batch.columns().iter().map(value).collect::<Vec<_>>().join(" "));
        }
    }
    Ok(found)
}

fn detected(text: &str) -> Option<Listing> {
    let ip = WantedColumn { header: "ip".into(), mapped: false };
    detect::listing(text, true, &[ip])
}

const KEY: [(&str, bool); 1] = [("ip", false)];

#[test]
fn what_cannot_be_wrong_is_told() {
    for (text, listing) in [
        ("# comment\n\n1.2.3.4\n", Some(Listing::Netset)),
        ("; Spamhaus\n1.10.16.0/20 ; SBL256894\n", Some(Listing::Netset)),
        ("2001:db8::1\n", Some(Listing::Netset)),
        ("# comment\r\r1.2.3.4\r", Some(Listing::Netset)),
        ("192.0.2.1;x\n", Some(Listing::Netset)),
        ("192.0.2.1-192.0.2.9\n", Some(Listing::Netset)),
        ("# DShield\nStart\tEnd\tNetmask\tAttacks\n", Some(Listing::Netset)),
        ("127.0.0.1 localhost\n0.0.0.0 ads.example\n", Some(Listing::Hosts)),
        ("0.0.0.0 7\n", Some(Listing::Netset)),
        ("# nothing today\n", Some(Listing::List)),
        ("#ip,count\n", None),
        ("create x hash:ip family inet\nadd x 1.2.3.4\n", Some(Listing::Ipset)),
        ("add x 1.2.3.4\n", Some(Listing::Ipset)),
        ("#separator \\x09\n#fields\tts\n", Some(Listing::Zeek)),
        ("{\"id.orig_h\":\"1.2.3.4\"}\n", Some(Listing::Zeek)),
        ("ip\n1.2.3.4\n", None),
        ("ip,count\n1.2.3.4,3\n", None),
        ("example.com\n", None),
        ("add,x,y\n1,2,3\n", None),
        ("", Some(Listing::List)),
        ("\n \r\n", Some(Listing::List)),
        ("127.0.0.1 # local\n192.0.2.1\n", Some(Listing::Netset)),
        ("0.0.0.0 - 0.255.255.255\n1.2.3.0 - 1.2.3.3\n", Some(Listing::Netset)),
        ("192.0.2.9-192.0.2.2\n", Some(Listing::Netset)),
        ("0.0.0.0 ads.example\n", Some(Listing::Hosts)),
        ("::1 localhost\n", Some(Listing::Hosts)),
    ] {
        assert_eq!(detected(text), listing, "{text:?}");
    }
}

#[test]
fn addresses_and_networks_are_read() {
    let text = "# a\n1.2.3.4 # b\r\n\n 10.0.0.1/30 ; c\n2001:db8::1/127\n9.9.9.9/32\nnonsense\n";
    let found = rows(text, None, &KEY, 100).unwrap();
    let expected =
        ["1.2.3.4", "10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3", "2001:db8::", "2001:db8::1", "9.9.9.9", "nonsense"];
    assert_eq!(found, expected);
    let error = rows(text, None, &KEY, 5).unwrap_err().to_string();
    assert!(
        error.contains("it, line 5: networks and ranges up to here have 6 addresses, and 5 are allowed"),
        "{error}"
    );
    let error = rows("1.2.3.4\n::/0\n", None, &KEY, 1 << 40).unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("more than 2^64"), "{error}");
    // More than a batch.
    assert_eq!(rows("10.0.0.0/15\n", None, &KEY, 1 << 17).unwrap().len(), 1 << 17);
}

#[test]
fn keys_are_read_as_they_are() {
    let text = "a key # not this\n# nor this\n b#c \n1.2.3.0/24\n";
    assert_eq!(rows(text, Some(Listing::List), &KEY, 1).unwrap(), ["a key", "b#c", "1.2.3.0/24"]);
    let error = rows(text, None, &KEY, 1).unwrap_err().to_string();
    assert!(error.contains("cannot be told"), "{error}");
    let both = [("ip", false), ("value", false)];
    let error = rows(text, Some(Listing::List), &both, 1).unwrap_err().to_string();
    assert!(error.contains("\"ip\", \"value\" are wanted"), "{error}");
}

#[test]
fn sets_of_a_firewall_are_read() {
    let text = "create x hash:ip,port family inet\nadd x 1.2.3.4,tcp:80 timeout 0 comment \"a\"\nadd y 10.0.0.0/31\n";
    assert_eq!(rows(text, None, &KEY, 9).unwrap(), ["1.2.3.4", "10.0.0.0", "10.0.0.1"]);
    for (line, words) in
        [("add x", "`add SET ADDRESS`"), ("add x 1.2.3.0/24 nomatch", "exception"), ("del x 1.2.3.4", "not a line of")]
    {
        let error = rows(&format!("create x hash:net family\n{line}\n"), None, &KEY, 999).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains(words), "{error}");
    }
}

#[test]
fn logs_of_zeek_are_read() {
    let text = "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n\
                #fields\tts\tuid\tid.orig_h\tid.resp_h\tservice\n#types\ttime\tstring\taddr\taddr\tstring\n\
                1.5\tC1\t1.2.3.4\t5.6.7.8\tdns\n2.5\tC2\t::1\t5.6.7.8\t-\n#close\t2026\n";
    assert_eq!(rows(text, None, &KEY, 1).unwrap(), ["1.2.3.4", "::1"]);
    assert_eq!(rows(text, None, &[("id.resp_h", true)], 1).unwrap(), ["5.6.7.8", "5.6.7.8"]);
    assert_eq!(rows(text, None, &[("ip", false), ("service", true)], 1).unwrap(), ["1.2.3.4 dns", "::1 -"]);
    let error = rows(text, None, &[("ip", true)], 1).unwrap_err().to_string();
    assert!(error.contains("line 6: no field \"ip\"; the log has ts, uid"), "{error}");
    let flat = "{\"id.orig_h\":\"1.2.3.4\",\"n\":3}\n{\"id\":{\"orig_h\":\"5.6.7.8\"},\"n\":null}\n";
    assert_eq!(rows(flat, None, &[("ip", false), ("n", false)], 1).unwrap(), ["1.2.3.4 3", "5.6.7.8 -"]);
    for (text, words) in [
        ("{\"id.orig_h\":\n", "line 1: is no JSON object"),
        ("{\"id.orig_h\":[1]}\n", "no single value"),
        ("#separator \\x09\n1.2.3.4\n", "line 2: a log of Zeek has"),
        ("#separator \\x09\n#fields\ta\tid.orig_h\nx\n", "line 3: 1 fields are fewer"),
    ] {
        let error = rows(text, None, &KEY, 1).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
