//! What happens at each limit.

use super::*;

#[test]
fn a_frame_over_the_limit_is_answered_and_closed_after_what_came_before() {
    let (host, inbox) = Host::without_sim(NetOptions { max_frame: 1000, ..options() });
    let mut text = host.connect();
    text.send("{\"cmd\":\"a\"}\n");
    let (session, slot, _) = request(&inbox);
    // More than fits into the buffers of the sockets, so that it is still being sent when the answer is ready.
    let sender = text.stream.get_ref().try_clone().unwrap();
    let long = std::thread::spawn(move || (&sender).write_all(&vec![b'x'; 16 << 20]));
    // The reply to the request before it is still owed.
    let mut other = host.connect();
    other.send("{\"cmd\":\"sync\"}\n");
    let (synced, synced_slot, _) = request(&inbox);
    host.handle.reply(synced, synced_slot, Body::status("sync"));
    host.handle.reply(session, slot, Body::status("a"));
    host.handle.flush();
    assert_eq!(other.json()["status"], "sync");
    assert_eq!(text.json()["status"], "a");
    assert!(text.error().contains("limit of 1000 bytes"));
    assert!(text.rest().is_empty());
    drop(text);
    long.join().unwrap().expect("what follows is thrown away, and not refused");

    let mut binary = host.connect();
    binary.send([0, 0, 3, 0xe9]);
    let reply = binary.msgpack();
    assert!(reply["error"].as_str().unwrap().contains("1001 bytes, over the limit of 1000"), "{reply}");
    assert!(binary.rest().is_empty());
}

#[test]
fn sessions_that_another_run_has_had_are_not_given_again() {
    let (host, inbox) = Host::without_sim(NetOptions { sessions_after: 41, ..options() });
    let mut client = host.connect();
    client.send("{\"cmd\":\"a\"}\n");
    let (session, ..) = request(&inbox);
    assert_eq!(session.0, 42);
}

#[test]
fn a_frame_that_ends_early_is_told() {
    let host = Host::echo();
    let mut client = host.connect();
    let mut bytes = frame(&map(&[("cmd", "a".into())]));
    bytes.extend([0, 0, 0, 9, 0x81]);
    client.send(bytes);
    client.end();
    assert_eq!(client.msgpack()["echo"]["cmd"].as_str(), Some("a"));
    let reply = client.msgpack();
    assert!(reply["error"].as_str().unwrap().contains("5 bytes had arrived"), "{reply}");
    assert!(client.rest().is_empty());
}

#[test]
fn one_connection_too_many_is_told_so() {
    let host = Host::start(NetOptions { max_connections: 2, ..options() }, echo);
    let mut clients = [host.connect(), host.connect()];
    for client in &mut clients {
        client.send("{\"cmd\":\"x\"}\n");
        client.json();
    }
    let mut third = host.connect();
    third.send("{\"cmd\":\"x\",\"id\":3}\n");
    let reply = third.json();
    assert!(reply["error"].as_str().unwrap().contains("2 connections") && reply["id"] == 3, "{reply}");
    assert!(third.rest().is_empty());
    let mut fourth = host.connect();
    fourth.send(frame(&map(&[("cmd", "x".into())])));
    assert!(fourth.msgpack()["error"].as_str().unwrap().contains("2 connections"));

    // Far more of them than are kept until they ask: each is told, in its framing where that is known by then.
    let mut crowd: Vec<_> = (0..60).map(|_| host.connect()).collect();
    for (n, late) in crowd.iter_mut().enumerate() {
        // Those that are closed by now take nothing any more; that is no reason not to read.
        let _ = late.stream.get_mut().write_all(b"{\"cmd\":\"x\"}\n");
        assert!(late.error().contains("2 connections"), "{n}");
    }
    drop((third, fourth, crowd));

    // A place that is given up can be taken.
    let [first, mut second] = clients;
    drop(first);
    loop {
        let mut client = host.connect();
        client.send("{\"cmd\":\"x\"}\n");
        if client.json().get("echo").is_some() {
            break;
        }
    }
    second.send("{\"cmd\":\"x\"}\n");
    assert!(second.json().get("echo").is_some());
}

#[test]
fn requests_that_have_arrived_in_part_cost_a_bounded_memory() {
    let host = Host::start(NetOptions { max_buffered_bytes: 100_000, ..options() }, echo);
    let mut first = host.connect();
    first.send(vec![b' '; 60_000]);
    // The second one is cut off, the first one goes on.
    let mut second = host.connect();
    second.send(vec![b' '; 60_000]);
    assert!(second.error().contains("over 100000 bytes"));
    assert!(second.rest().is_empty());
    first.send("{\"cmd\":\"x\"}\n");
    assert!(first.json().get("echo").is_some());
    let mut third = host.connect();
    third.send(vec![b' '; 60_000]);
    third.send("{\"cmd\":\"x\"}\n");
    assert!(third.json().get("echo").is_some());
}

/// Requests without a reply, and replies that nobody reads, count like unfinished requests.
#[test]
fn unanswered_requests_and_unread_replies_of_all_connections_are_limited_together() {
    let limit = 20 << 20;
    let (host, inbox) = Host::without_sim(NetOptions { max_buffered_bytes: limit, ..options() });
    let line = format!("{{\"cmd\":\"x\",\"pad\":\"{}\"}}\n", "y".repeat(7 << 20));
    let mut hogs: Vec<_> = (0..3).map(|_| host.connect()).collect();
    let mut small = host.connect();
    let mut waiting = Vec::new();
    for hog in &mut hogs[..2] {
        hog.send(&line);
        waiting.push(request(&inbox));
    }
    // The third one asks for more than is left. Whoever was there before is served on.
    hogs[2].send(&line);
    assert!(hogs[2].error().contains("over 20971520 bytes"));
    assert!(hogs[2].rest().is_empty());
    small.send("{\"cmd\":\"x\"}\n");
    let (session, slot, _) = request(&inbox);
    host.handle.reply(session, slot, Body::status("small"));
    for (session, slot, _) in waiting.drain(..) {
        host.handle.reply(session, slot, Body::status("big"));
    }
    host.handle.flush();
    assert_eq!(small.json()["status"], "small");
    for hog in &mut hogs[..2] {
        assert_eq!(hog.json()["status"], "big");
    }

    // Replies: far more than the sockets take.
    let reply = Body::json(&serde_json::json!({ "pad": "y".repeat(9 << 20) })).unwrap();
    let mut deaf = host.connect();
    deaf.send("{\"cmd\":\"x\"}\n".repeat(4));
    let asked: Vec<_> = (0..4).map(|_| request(&inbox)).collect();
    for (session, slot, _) in asked {
        host.handle.reply(session, slot, reply.clone());
        host.handle.flush();
    }
    small.send("{\"cmd\":\"x\"}\n");
    let (session, slot, _) = request(&inbox);
    host.handle.reply(session, slot, Body::status("small"));
    host.handle.flush();
    assert_eq!(small.json()["status"], "small");
    // It gets what there was room for, and then the reason, for each that is owed.
    let mut replies = Vec::new();
    while replies.len() < 4 {
        replies.push(deaf.json());
    }
    let refused = |reply: &Json| reply["error"].as_str().is_some_and(|text| text.contains("over 20971520 bytes"));
    assert!(
        replies[0].get("pad").is_some() && refused(&replies[3]),
        "{}",
        replies.iter().filter(|r| refused(r)).count()
    );
    assert!(deaf.rest().is_empty());
}

#[test]
fn parts_of_requests_are_forgotten_with_their_connection() {
    let (host, inbox) = Host::without_sim(NetOptions { max_buffered_bytes: 100_000, ..options() });
    for _ in 0..5 {
        let mut client = host.connect();
        client.send(vec![b' '; 60_000]);
        client.end();
        drop(client);
        while !matches!(next(&inbox), ToSim::Closed { .. }) {}
    }
    for _ in 0..5 {
        let mut client = host.connect();
        client.send("{\"cmd\":\"x\"}\n");
        let (session, slot, _) = request(&inbox);
        host.handle.reply(session, slot, Body::status("unread"));
        host.handle.flush();
        client.stream.get_ref().peek(&mut [0]).unwrap();
        client.send(vec![b' '; 60_000]);
        // With an unread reply, the end of the connection is a reset.
        drop(client);
        while !matches!(next(&inbox), ToSim::Closed { .. }) {}
    }
    let mut client = host.connect();
    client.send(vec![b' '; 60_000]);
    client.send("{\"cmd\":\"x\"}\n");
    request(&inbox);
}

#[test]
fn a_thousand_connections_are_served() {
    let host = Host::echo();
    let mut clients: Vec<_> = (0..1000).map(|_| host.connect()).collect();
    for round in 0..2 {
        for (n, client) in clients.iter_mut().enumerate() {
            client.send(format!("{{\"cmd\":\"x\",\"n\":{}}}\n", n + round));
        }
        for (n, client) in clients.iter_mut().enumerate() {
            assert_eq!(client.json()["echo"]["n"], n + round);
        }
    }
}

#[test]
fn a_port_in_use_is_an_error_with_the_address() {
    let host = Host::echo();
    let error = Net::start(NetOptions::new(host.addr)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    let text = error.to_string();
    assert!(text.contains(&format!("cannot listen on {}", host.addr)) && text.contains("another"), "{text}");
}
