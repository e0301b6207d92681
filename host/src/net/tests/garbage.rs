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
