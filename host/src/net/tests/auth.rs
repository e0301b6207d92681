//! The shared token.

use super::super::Token;
use super::*;

fn guarded() -> Host {
    Host::start(NetOptions { token: Some(Token::new("sesame").unwrap()), ..options() }, |handle, message| {
        echo(handle, message);
    })
}

#[test]
fn the_right_token_lets_a_client_in() {
    let host = guarded();
    let mut client = host.connect();
    client.send("{\"cmd\":\"auth\",\"token\":\"sesame\",\"id\":1}\n{\"cmd\":\"x\"}\n");
    let reply = client.json();
    assert!(reply["status"] == "authenticated" && reply["id"] == 1, "{reply}");
    assert_eq!(client.json()["echo"]["cmd"], "x");

    let mut client = host.connect();
    client.send(frame(&map(&[("cmd", "auth".into()), ("token", "sesame".into())])));
    assert_eq!(client.msgpack()["status"].as_str(), Some("authenticated"));
}

#[test]
fn anything_else_is_refused_and_closed() {
    let host = guarded();
    for (first, words) in [
        ("{\"cmd\":\"auth\",\"token\":\"open\"}", "wrong"),
        ("{\"cmd\":\"auth\",\"token\":\"sesam\"}", "wrong"),
        ("{\"cmd\":\"auth\",\"token\":5}", "no \"token\""),
        ("{\"cmd\":\"auth\"}", "no \"token\""),
        ("{\"cmd\":\"x\"}", "asks for a token"),
        ("garbage", "not valid JSON"),
        ("{}", "no \"cmd\""),
        (&"x".repeat(5000), "longer than the limit of 4096"),
    ] {
        let mut client = host.connect();
        client.send(format!("{first}\n{{\"cmd\":\"auth\",\"token\":\"sesame\"}}\n{{\"cmd\":\"x\"}}\n"));
        let error = client.error();
        assert!(error.contains(words) && !error.contains("sesame"), "{error}");
        assert!(client.rest().is_empty(), "{first} should close the connection");
    }
}

#[test]
fn the_simulation_hears_of_authenticated_sessions_only() {
    let (host, inbox) = Host::without_sim(NetOptions { token: Some(Token::new("sesame").unwrap()), ..options() });
    let mut stranger = host.connect();
    stranger.send("{\"cmd\":\"x\"}\n");
    stranger.error();
    stranger.rest();
    let mut client = host.connect();
    client.send("{\"cmd\":\"auth\",\"token\":\"sesame\"}\n");
    client.json();
    let ToSim::Opened { peer, .. } = next(&inbox) else { panic!("the first word is that a session opens") };
    assert_eq!(peer, client.stream.get_ref().local_addr().unwrap());
    drop(client);
    assert!(matches!(next(&inbox), ToSim::Closed { .. }));
}

#[test]
fn a_stranger_who_says_nothing_is_dropped() {
    let token = Some(Token::new("sesame").unwrap());
    let host = Host::start(NetOptions { token, first_request_timeout: Duration::from_millis(50), ..options() }, echo);
    let mut client = host.connect();
    assert!(client.rest().is_empty());
}

#[test]
fn a_token_that_is_not_asked_for_is_welcome() {
    let host = Host::echo();
    let mut client = host.connect();
    client.send("{\"cmd\":\"auth\",\"token\":\"sesame\"}\n{\"cmd\":\"x\"}\n");
    assert_eq!(client.json()["status"], "authenticated");
    assert_eq!(client.json()["echo"]["cmd"], "x");
}
