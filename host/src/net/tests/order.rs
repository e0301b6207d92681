//! Every request gets exactly one reply, and replies leave in the order of the requests.

use super::*;

#[test]
fn replies_given_in_any_order_leave_in_order() {
    let (host, inbox) = Host::without_sim(options());
    let mut client = host.connect();
    for n in 0..100 {
        client.send(format!("{{\"cmd\":\"x\",\"n\":{n}}}\n"));
    }
    let requests: Vec<_> = (0..100).map(|_| request(&inbox)).collect();
    // 37 has no common factor with 100: each one once, far from in order.
    for i in 0..100 {
        let (session, slot, request) = &requests[i * 37 % 100];
        host.handle.reply(*session, *slot, Body::Json(request.json.clone()));
        host.handle.flush();
    }
    for n in 0..100 {
        assert_eq!(client.json()["n"], n);
    }
}

#[test]
fn ten_thousand_pipelined_requests_get_ten_thousand_replies() {
    let host = Host::echo();
    let mut text = host.connect();
    let mut binary = host.connect();
    let lines: String = (0..10_000).map(|n| format!("{{\"cmd\":\"x\",\"n\":{n}}}\n")).collect();
    let frames: Vec<u8> = (0..10_000).flat_map(|n| frame(&map(&[("cmd", "x".into()), ("n", n.into())]))).collect();
    text.send(lines);
    binary.send(frames);
    for n in 0..10_000 {
        assert_eq!(text.json()["echo"]["n"], n);
        assert_eq!(binary.msgpack()["echo"]["n"].as_u64(), Some(n));
    }
    text.end();
    binary.end();
    assert!(text.rest().is_empty() && binary.rest().is_empty());
}

#[test]
fn a_second_reply_is_ignored() {
    let (host, inbox) = Host::without_sim(options());
    let mut client = host.connect();
    client.send("{\"cmd\":\"a\"}\n{\"cmd\":\"b\"}\n");
    let (session, a, _) = request(&inbox);
    let (_, b, _) = request(&inbox);
    for (slot, status) in [(b, "b"), (b, "b again"), (a, "a"), (a, "a again"), (b + 1, "nothing")] {
        host.handle.reply(session, slot, Body::status(status));
    }
    host.handle.reply(super::super::SessionId(999), 0, Body::status("nobody"));
    host.handle.flush();
    assert_eq!(client.json()["status"], "a");
    assert_eq!(client.json()["status"], "b");
    client.end();
    assert!(client.rest().is_empty());
}

#[test]
fn connections_do_not_wait_for_each_other() {
    let (host, inbox) = Host::without_sim(options());
    let (mut first, mut second) = (host.connect(), host.connect());
    first.send("{\"cmd\":\"slow\"}\n");
    let (slow, slow_slot, _) = request(&inbox);
    second.send("{\"cmd\":\"quick\"}\n");
    let (quick, quick_slot, _) = request(&inbox);
    assert_ne!(slow, quick);
    host.handle.reply(quick, quick_slot, Body::status("quick"));
    host.handle.flush();
    assert_eq!(second.json()["status"], "quick");
    host.handle.reply(slow, slow_slot, Body::status("slow"));
    host.handle.flush();
    assert_eq!(first.json()["status"], "slow");
}

#[test]
fn sessions_open_before_their_requests_and_close_after_them() {
    let (host, inbox) = Host::without_sim(options());
    let mut client = host.connect();
    client.send("{\"cmd\":\"a\"}\n");
    let ToSim::Opened { session, peer } = next(&inbox) else { panic!("first of all it opens") };
    assert_eq!(peer, client.stream.get_ref().local_addr().unwrap());
    let (from, slot, _) = request(&inbox);
    assert_eq!(from, session);
    host.handle.reply(session, slot, Body::status("a"));
    host.handle.flush();
    client.json();
    drop(client);
    assert!(matches!(next(&inbox), ToSim::Closed { session: closed } if closed == session));
    let _other = host.connect();
    assert!(matches!(next(&inbox), ToSim::Opened { session: new, .. } if new > session));
}

#[test]
fn a_client_that_ends_its_side_still_gets_all_replies() {
    let (host, inbox) = Host::without_sim(options());
    let mut client = host.connect();
    client.send("{\"cmd\":\"a\"}\n{\"cmd\":\"b\"}\n");
    client.end();
    let (session, a, _) = request(&inbox);
    let (_, b, _) = request(&inbox);
    for (slot, status) in [(a, "a"), (b, "b")] {
        host.handle.reply(session, slot, Body::status(status));
        host.handle.flush();
        assert_eq!(client.json()["status"], status);
    }
    assert!(client.rest().is_empty());
    assert!(matches!(next(&inbox), ToSim::Closed { .. }));
}

#[test]
fn the_simulation_can_close_a_session() {
    let (host, inbox) = Host::without_sim(options());
    let mut client = host.connect();
    client.send("{\"cmd\":\"a\"}\n{\"cmd\":\"b\",\"id\":1}\n");
    let (session, _, _) = request(&inbox);
    let (_, b, _) = request(&inbox);
    host.handle.close(session, "the world is gone");
    host.handle.reply(session, b, Body::status("too late"));
    host.handle.flush();
    assert_eq!(client.error(), "the world is gone");
    let second = client.json();
    assert!(second["error"] == "the world is gone" && second["id"] == 1, "{second}");
    assert!(client.rest().is_empty());
    assert!(matches!(next(&inbox), ToSim::Closed { .. }));
}
