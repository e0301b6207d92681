//! What is no request gets one error reply, in its turn, and the connection goes on.

use super::*;

#[test]
fn each_garbage_line_is_answered_and_the_next_request_is_served() {
    let host = Host::echo();
    let mut client = host.connect();
    let garbage: &[(&[u8], &str)] = &[
        (b"{}", "no \"cmd\""),
        (b"{\"cmd\":5}", "\"cmd\" is 5"),
        (b"[]", "a list"),
        (b"null", "null"),
        (b"12", "a number"),
        (b"hello", "not valid JSON at column 1"),
        (b"{\"cmd\":\"x\"", "not valid JSON at column 10"),
        (b"{\"cmd\":\"x\",\"a\":NaN}", "column 16"),
        (b"{\"cmd\":\"x\",\"a\":1e400}", "finite"),
        (b"{\"cmd\":\"\xff\"}", "not UTF-8"),
        (b"\x00\x00\x00\x05", "not valid JSON"),
        (b"{\"cmd\":\"x\",\"cmd\":\"x\"}", "twice"),
        (b"{\"cmd\":\"x\"}{\"cmd\":\"x\"}", "trailing"),
        (&[b'['; 5000], "deeper than 64"),
    ];
    client.send("{\"cmd\":\"first\"}\n");
    assert_eq!(client.json()["echo"]["cmd"], "first");
    for (bytes, words) in garbage {
        client.send([bytes, &b"\n{\"cmd\":\"after\"}\n"[..]].concat());
        let error = client.error();
        assert!(error.contains(words), "{}: {error}", String::from_utf8_lossy(bytes));
        assert_eq!(client.json()["echo"]["cmd"], "after");
    }
    client.end();
    assert!(client.rest().is_empty());
}

#[test]
fn each_garbage_frame_is_answered_and_the_next_request_is_served() {
    let host = Host::echo();
    let mut client = host.connect();
    let garbage: &[(&[u8], &str)] = &[
        (b"", "empty"),
        (b"\x80", "no \"cmd\""),
        (b"\x81\xa3cmd\x05", "\"cmd\" is 5"),
        (b"\x90", "must be a map"),
        (b"\xc0", "must be a map"),
        (b"{\"cmd\":\"x\"}", "must be a map"),
        (b"\x81\xa3cmd\xa5x", "end inside a value"),
        (b"\x81\xa3cmd\xa1x\x81", "1 bytes after its map"),
        (b"\x81\xa3cmd\xa1\xff", "not UTF-8"),
        (b"\x82\xa3cmd\xa1x\xa1a\xcb\x7f\xf8\0\0\0\0\0\0", "a is NaN"),
        (b"\x82\xa3cmd\xa1x\xa1a\xcb\x7f\xf0\0\0\0\0\0\0", "a is inf"),
        (b"\x82\xa3cmd\xa1x\xa1a\xd4\x05\x00", "extension"),
        (b"\x81\x01\x01", "a key of the request is 1"),
        (b"\xc1", "0xc1"),
        (&[0x91; 5000], "must be a map"),
    ];
    for (content, words) in garbage {
        client.send([framed(content), frame(&map(&[("cmd", "after".into())]))].concat());
        let reply = client.msgpack();
        let error = reply["error"].as_str().unwrap_or_else(|| panic!("{reply} should be an error"));
        assert!(error.contains(words), "{content:?}: {error}");
        assert_eq!(client.msgpack()["echo"]["cmd"].as_str(), Some("after"));
    }
    client.end();
    assert!(client.rest().is_empty());
}

#[test]
fn garbage_takes_its_turn_among_requests() {
    let (host, inbox) = Host::without_sim(options());
    let mut client = host.connect();
    client.send("{\"cmd\":\"a\"}\ngarbage\n{\"cmd\":\"b\"}\n{\"id\":5}\n");
    let (session, a, _) = request(&inbox);
    let (_, b, _) = request(&inbox);
    host.handle.reply(session, b, Body::status("b"));
    host.handle.reply(session, a, Body::status("a"));
    host.handle.flush();
    assert_eq!(client.json()["status"], "a");
    assert!(client.error().contains("garbage"));
    assert_eq!(client.json()["status"], "b");
    let last = client.json();
    assert!(last["error"].is_string() && last["id"] == 5, "{last}");
}

#[test]
fn a_client_without_lengths_is_told() {
    let host = Host::echo();
    let mut client = host.connect();
    client.send(b"\x81\xa3cmd\xa4help");
    let reply = client.msgpack();
    assert!(reply["error"].as_str().unwrap().contains("after its length as 4 bytes"), "{reply}");
    assert!(client.rest().is_empty());
}

/// Numbers that look random and are the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    /// A valid message with some bytes changed, taken out or put in.
    fn damaged(&mut self, message: &[u8]) -> Vec<u8> {
        let mut bytes = message.to_vec();
        for _ in 0..self.below(4) {
            let at = self.below(bytes.len().max(1)).min(bytes.len());
            match self.below(3) {
                0 if at < bytes.len() => bytes[at] = self.below(256) as u8,
                1 if at < bytes.len() => drop(bytes.remove(at)),
                _ => bytes.insert(at, self.below(256) as u8),
            }
        }
        bytes
    }
}

#[test]
fn whatever_a_frame_holds_it_gets_exactly_one_reply() {
    let host = Host::echo();
    let mut dice = Dice(1);
    let whole = frame(&map(&[
        ("cmd", "move".into()),
        ("id", 7.into()),
        ("control_input", rmpv::Value::Array(vec![1.5.into(), f64::NAN.into(), map(&[("k", rmpv::Value::Nil)])])),
        ("bytes", rmpv::Value::Binary(vec![1, 2, 3])),
    ]));
    for _ in 0..20 {
        let mut client = host.connect();
        let contents: Vec<_> = (0..200).map(|_| dice.damaged(&whole[4..])).collect();
        let bytes: Vec<u8> = contents.iter().flat_map(|content| framed(content)).collect();
        // In pieces of any size.
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (piece, later) = rest.split_at((1 + dice.below(900)).min(rest.len()));
            client.send(piece);
            rest = later;
        }
        for content in &contents {
            let reply = client.msgpack();
            let fields = reply.as_map().unwrap();
            let has = |name: &str| fields.iter().any(|(key, _)| key.as_str() == Some(name));
            assert!(has("timestamp") && (has("echo") != has("error")), "{content:?} got {reply}");
        }
        client.end();
        assert!(client.rest().is_empty());
    }
}

#[test]
fn whatever_a_line_holds_it_gets_exactly_one_reply() {
    let host = Host::echo();
    let mut dice = Dice(2);
    let whole = r#"{"cmd":"move","id":[7],"control_input":[1.5,-2e3,{"k":null}],"text":"\u00e9é\\"}"#.as_bytes();
    for _ in 0..20 {
        let mut client = host.connect();
        let mut lines: Vec<_> = (0..200).map(|_| dice.damaged(whole)).collect();
        for line in &mut lines {
            line.retain(|byte| *byte != b'\n');
        }
        client.send([lines.join(&b'\n'), b"\n".to_vec()].concat());
        for line in &lines {
            let reply = client.json();
            let has = |name: &str| reply.get(name).is_some();
            let shown = String::from_utf8_lossy(line);
            assert!(has("timestamp") && (has("echo") != has("error")), "{shown} got {reply}");
            // What is passed on is what serde_json takes as well.
            let valid = serde_json::from_slice::<Json>(line).is_ok_and(|value| value["cmd"].is_string());
            assert!(valid || has("error"), "{shown} got {reply}");
        }
        client.end();
        assert!(client.rest().is_empty());
    }
}
