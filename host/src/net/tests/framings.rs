//! Both forms of messages, however their bytes arrive.

use super::*;
use rmpv::Value;

fn is_timestamp(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape == "0000-00-00T00:00:00.000000"
}

#[test]
fn json_lines_are_answered_in_json_lines() {
    let host = Host::echo();
    let mut client = host.connect();
    client.send("{\"cmd\":\"x\",\"a\":[1,2.5]}\n");
    let mut line = String::new();
    client.stream.read_line(&mut line).unwrap();
    let (body, timestamp) = line.split_once(",\"timestamp\":\"").unwrap();
    assert_eq!(body, "{\"echo\":{\"cmd\":\"x\",\"a\":[1,2.5]}");
    assert!(is_timestamp(timestamp.trim_end_matches("\"}\n")), "{timestamp}");
}

#[test]
fn messagepack_is_answered_in_messagepack() {
    let host = Host::echo();
    let mut client = host.connect();
    client.send(frame(&map(&[("cmd", "x".into()), ("a", Value::Array(vec![1.into(), 2.5.into()]))])));
    let reply = client.msgpack();
    assert_eq!(reply["echo"], map(&[("cmd", "x".into()), ("a", Value::Array(vec![1.into(), 2.5.into()]))]));
    assert!(is_timestamp(reply["timestamp"].as_str().unwrap()));
    assert_eq!(reply.as_map().unwrap().len(), 2);
}

#[test]
fn line_ends_and_blank_lines_do_not_matter() {
    let host = Host::echo();
    let mut client = host.connect();
    client.send("\r\n  \t\n{\"cmd\":\"a\"}\r\n\n\n {\"cmd\":\"b\"} \n\u{feff}{\"cmd\":\"c\"}\n");
    for cmd in ["a", "b", "c"] {
        assert_eq!(client.json()["echo"]["cmd"], cmd);
    }
    client.end();
    assert!(client.rest().is_empty());
}

#[test]
fn the_last_line_may_lack_its_end() {
    let host = Host::echo();
    let mut client = host.connect();
    client.send("{\"cmd\":\"a\"}\n{\"cmd\":\"b\"}");
    client.end();
    assert_eq!(client.json()["echo"]["cmd"], "a");
    assert_eq!(client.json()["echo"]["cmd"], "b");
    assert!(client.rest().is_empty());
}

#[test]
fn bytes_may_come_one_by_one() {
    let host = Host::echo();
    let (mut text, mut binary) = (host.connect(), host.connect());
    let lines = b"{\"cmd\":\"a\",\"t\":\"\xc3\xa9\"}\r\n{\"cmd\":\"b\"}\n";
    for byte in lines.chunks(1) {
        text.send(byte);
    }
    let frames = [frame(&map(&[("cmd", "a".into())])), frame(&map(&[("cmd", "b".into())]))].concat();
    for byte in frames.chunks(1) {
        binary.send(byte);
    }
    assert_eq!(text.json()["echo"]["t"], "é");
    assert_eq!(text.json()["echo"]["cmd"], "b");
    assert_eq!(binary.msgpack()["echo"]["cmd"].as_str(), Some("a"));
    assert_eq!(binary.msgpack()["echo"]["cmd"].as_str(), Some("b"));
}

#[test]
fn bytes_may_be_cut_anywhere() {
    let host = Host::echo();
    let messages = [
        b"{\"cmd\":\"a\",\"n\":[1,2]}\n{\"cmd\":\"b\",\"t\":\"}{\"}\r\n".to_vec(),
        [frame(&map(&[("cmd", "a".into()), ("t", "x".repeat(40).into())])), frame(&map(&[("cmd", "b".into())]))]
            .concat(),
    ];
    for (binary, bytes) in messages.iter().enumerate() {
        let binary = binary == 1;
        let mut whole = None;
        for cut in 0..bytes.len() {
            let mut client = host.connect();
            client.send(&bytes[..cut]);
            // A round trip on another connection: by then the first part has been read.
            let mut other = host.connect();
            other.send("{\"cmd\":\"sync\"}\n");
            other.json();
            client.send(&bytes[cut..]);
            client.end();
            let mut read = || -> Json {
                if binary {
                    serde_json::from_slice(&serde_json::to_vec(&client.msgpack()["echo"].to_string()).unwrap()).unwrap()
                } else {
                    client.json()["echo"].clone()
                }
            };
            let replies = [read(), read()];
            assert!(client.rest().is_empty());
            assert_eq!(whole.get_or_insert_with(|| replies.clone()), &replies, "cut at {cut}");
        }
    }
}

#[test]
fn the_id_comes_back_unchanged_and_not_otherwise() {
    let host = Host::echo();
    let mut text = host.connect();
    for id in ["7", "1.50", "\"a\\u0041\"", "null", "[ {\"x\": 1} ]", "123456789012345678901234567890123"] {
        text.send(format!("{{\"cmd\":\"x\",\"id\":{id}}}\n"));
        let mut line = String::new();
        text.stream.read_line(&mut line).unwrap();
        assert!(line.contains(&format!("}},\"id\":{id},\"timestamp\":")), "{line}");
    }
    text.send("{\"cmd\":\"x\"}\n");
    assert!(text.json().get("id").is_none());

    let mut binary = host.connect();
    for id in
        [Value::from(u64::MAX), Value::Binary(vec![0xff, 0]), Value::Ext(-1, vec![0; 12]), Value::Nil, 0.5f32.into()]
    {
        binary.send(frame(&map(&[("id", id.clone()), ("cmd", "x".into())])));
        assert_eq!(binary.msgpack()["id"], id);
    }
    binary.send(frame(&map(&[("cmd", "x".into())])));
    assert_eq!(binary.msgpack()["id"], Value::Nil, "indexing a map gives nil where there is nothing");
}

#[test]
fn a_frame_may_be_as_large_as_the_limit() {
    let limit = 1 << 20;
    let host = Host::start(NetOptions { max_frame: limit, ..options() }, |handle, message| {
        if let ToSim::Request { session, slot, request } = message {
            handle.reply(session, slot, Body::json(&serde_json::json!({"bytes": request.json.len()})).unwrap());
        }
    });
    let mut text = host.connect();
    let head = "{\"cmd\":\"x\",\"a\":\"";
    let line = format!("{head}{}\"}}", "y".repeat(limit - head.len() - 2));
    text.send(&line);
    text.send("\r\n");
    assert_eq!(text.json()["bytes"], limit);

    let mut binary = host.connect();
    let mut content = b"\x82\xa3cmd\xa1x\xa1a\xdb".to_vec();
    let length = limit - content.len() - 4;
    content.extend(u32::try_from(length).unwrap().to_be_bytes());
    content.resize(limit, b'y');
    binary.send(framed(&content));
    assert_eq!(binary.msgpack()["bytes"].as_u64(), Some(length as u64 + "{\"cmd\":\"x\",\"a\":\"\"}".len() as u64));
}

#[test]
fn a_body_that_cannot_be_sent_is_an_error_reply() {
    let host = Host::start(options(), |handle, message| {
        if let ToSim::Request { session, slot, .. } = message {
            handle.reply(session, slot, Body::Json(b"[1]".to_vec()));
        }
    });
    let mut client = host.connect();
    client.send("{\"cmd\":\"x\",\"id\":1}\n");
    let reply = client.json();
    assert!(reply["error"].as_str().unwrap().contains("cannot be sent"), "{reply}");
    assert_eq!(reply["id"], 1);
    let mut client = host.connect();
    client.send(frame(&map(&[("cmd", "x".into())])));
    assert!(client.msgpack()["error"].as_str().unwrap().contains("cannot be sent"));
}
