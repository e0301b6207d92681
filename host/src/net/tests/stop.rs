//! The end.

use std::time::Instant;

use super::*;

#[test]
fn what_is_outstanding_is_answered_and_the_port_is_free() {
    let (mut host, inbox) = Host::without_sim(options());
    let mut client = host.connect();
    client.send("{\"cmd\":\"a\"}\n{\"cmd\":\"b\",\"id\":2}\n");
    let (session, a, _) = request(&inbox);
    request(&inbox);
    host.handle.reply(session, a, Body::status("in time"));
    host.net.take().unwrap().stop();
    assert_eq!(client.json()["status"], "in time");
    let reply = client.json();
    assert!(reply["error"] == "the host is shutting down" && reply["id"] == 2, "{reply}");
    assert!(client.rest().is_empty());

    let again = Net::start(NetOptions::new(host.addr)).expect("the port is free");
    assert_eq!(again.0.local_addr(), host.addr);
    // A handle of before is of no use, and does no harm.
    host.handle.reply(session, a, Body::status("late"));
    host.handle.flush();
}

#[test]
fn requests_that_were_not_taken_are_answered_too() {
    let (mut host, inbox) = Host::without_sim(NetOptions { max_outstanding_requests: 2, queue: 3, ..options() });
    let mut client = host.connect();
    client.send("{\"cmd\":\"x\"}\n".repeat(20));
    request(&inbox);
    request(&inbox);
    // Only now is it certain that all twenty have arrived: the server has read them all in one piece or not at all.
    host.net.take().unwrap().stop();
    let rest = client.rest();
    let replies = rest.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    assert_eq!(replies.inspect(|line| assert!(line.starts_with(b"{\"error\":\"the host is shutting"))).count(), 20);
}

#[test]
fn a_client_that_does_not_read_does_not_hold_up_the_end() {
    let (mut host, inbox) = Host::without_sim(options());
    let mut deaf = host.connect();
    deaf.send("{\"cmd\":\"x\"}\n".repeat(20));
    let big = Body::json(&serde_json::json!({ "pad": "y".repeat(1 << 20) })).unwrap();
    for _ in 0..20 {
        let (session, slot, _) = request(&inbox);
        host.handle.reply(session, slot, big.clone());
    }
    let start = Instant::now();
    host.net.take().unwrap().stop();
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn without_a_simulation_requests_are_still_answered() {
    let (host, inbox) = Host::without_sim(options());
    let mut client = host.connect();
    client.send("{\"cmd\":\"a\"}\n");
    let (session, slot, _) = request(&inbox);
    drop(inbox);
    client.send("{\"cmd\":\"b\"}\n{\"cmd\":\"c\"}\n");
    host.handle.reply(session, slot, Body::status("a"));
    host.handle.flush();
    assert_eq!(client.json()["status"], "a");
    assert_eq!(client.error(), "the host is shutting down");
    assert_eq!(client.error(), "the host is shutting down");
}

#[test]
fn the_simulation_learns_of_the_end() {
    let (mut host, inbox) = Host::without_sim(options());
    host.net.take().unwrap().stop();
    assert_eq!(inbox.recv().err(), Some(super::super::RecvError::Disconnected));
}
