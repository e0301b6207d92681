//! The client that comes with the host.

use super::super::client::{Client, ClientError, Framing};
use super::super::{PushKind, Token};
use super::*;
use serde_json::json;

#[test]
fn requests_are_answered_in_both_framings() {
    let host = Host::echo();
    for framing in [Framing::JsonLines, Framing::MessagePack] {
        let mut client = Client::connect(host.addr, framing, PATIENCE).unwrap();
        let request = json!({"cmd": "x", "list": [1, 2.5, null, "é"], "big": "y".repeat(100_000)});
        for _ in 0..3 {
            assert_eq!(client.request(&request).unwrap()["echo"], request);
        }
        assert!(matches!(client.request(&json!([1])), Err(ClientError::Request(text)) if text.contains("[1]")));
    }
}

#[test]
fn pushes_are_kept_apart_from_replies() {
    for framing in [Framing::JsonLines, Framing::MessagePack] {
        let host = Host::start(options(), |handle, message| {
            if let ToSim::Request { session, slot, .. } = message {
                let topic = handle.topic("race");
                handle.subscribe(session, &topic);
                handle.push(&topic, Body::json(&json!({"lap": slot})).unwrap(), PushKind::Event);
                handle.reply(session, slot, Body::Value(map(&[("bytes", rmpv::Value::Binary(vec![1, 2, 3]))])));
            }
        });
        let mut client = Client::connect(host.addr, framing, PATIENCE).unwrap();
        for _ in 0..2 {
            assert_eq!(client.request(&json!({"cmd": "x"})).unwrap()["bytes"], "AQID");
        }
        assert_eq!(client.next_push(PATIENCE).unwrap(), Some(json!({"topic": "race", "lap": 0})));
        assert_eq!(client.next_push(PATIENCE).unwrap(), Some(json!({"topic": "race", "lap": 1})));
        assert_eq!(client.next_push(Duration::from_millis(10)).unwrap(), None);
    }
}

#[test]
fn failures_are_told_apart() {
    let (host, _inbox) = Host::without_sim(options());
    let mut client = Client::connect(host.addr, Framing::JsonLines, Duration::from_millis(50)).unwrap();
    assert!(matches!(client.request(&json!({"cmd": "x"})), Err(ClientError::Timeout(_))));
    let addr = host.addr;
    drop(host);
    assert!(matches!(client.next_push(PATIENCE), Err(ClientError::Closed)));
    let error = Client::connect(addr, Framing::JsonLines, PATIENCE).unwrap_err().to_string();
    assert!(error.contains(&addr.to_string()) && error.contains("is a host running there?"), "{error}");
    assert!(Client::connect("localhost", Framing::JsonLines, PATIENCE).is_err());
}

#[test]
fn the_token_is_shown() {
    let options = NetOptions { token: Some(Token::new("sesame").unwrap()), ..options() };
    let host = Host::start(options, echo);
    let mut client = Client::connect(host.addr, Framing::MessagePack, PATIENCE).unwrap();
    client.auth("sesame").unwrap();
    assert_eq!(client.request(&json!({"cmd": "x"})).unwrap()["echo"]["cmd"], "x");
    let mut client = Client::connect(host.addr, Framing::JsonLines, PATIENCE).unwrap();
    assert!(matches!(client.auth("open"), Err(ClientError::Auth(text)) if text.contains("wrong")));
}

#[test]
fn a_reply_that_comes_too_late_is_not_taken_for_another() {
    for framing in [Framing::JsonLines, Framing::MessagePack] {
        let (host, inbox) = Host::without_sim(options());
        let mut client = Client::connect(host.addr, framing, Duration::from_millis(20)).unwrap();
        for _ in 0..2 {
            assert!(matches!(client.request(&json!({"cmd": "slow"})), Err(ClientError::Timeout(_))));
            let (session, slot, _) = request(&inbox);
            host.handle.reply(session, slot, Body::status("late"));
        }
        host.handle.flush();
        client.set_timeout(PATIENCE);
        let handle = host.handle.clone();
        let sim = std::thread::spawn(move || {
            let (session, slot, _) = request(&inbox);
            handle.reply(session, slot, Body::status("in time"));
            handle.flush();
            inbox
        });
        assert_eq!(client.request(&json!({"cmd": "quick"})).unwrap()["status"], "in time");
        drop(sim.join().unwrap());
    }
}
