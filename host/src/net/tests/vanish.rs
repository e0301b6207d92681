//! Clients that go away without a word.

use super::*;

/// Waits for the end of each session that has been opened, and checks that nobody else suffers.
fn all_closed(inbox: &Inbox, handle: &NetHandle, expected: usize) {
    let (mut opened, mut closed) = (0, 0);
    while closed < expected {
        match next(inbox) {
            ToSim::Opened { .. } => opened += 1,
            ToSim::Closed { .. } => closed += 1,
            ToSim::Request { session, slot, .. } => handle.reply(session, slot, Body::status("done")),
        }
        handle.flush();
    }
    assert_eq!(opened, expected);
}

#[test]
fn a_client_may_vanish_at_each_byte_of_a_frame() {
    let messages = [
        b"{\"cmd\":\"move\",\"control_input\":[1,2]}\r\n".to_vec(),
        frame(&map(&[("cmd", "move".into()), ("a", 1.5.into())])),
    ];
    for bytes in messages {
        let (host, inbox) = Host::without_sim(options());
        for cut in 0..=bytes.len() {
            let mut client = host.connect();
            client.send(&bytes[..cut]);
        }
        all_closed(&inbox, &host.handle, bytes.len() + 1);
        let mut after = host.connect();
        after.send("{\"cmd\":\"x\"}\n");
        let (session, slot, _) = request(&inbox);
        host.handle.reply(session, slot, Body::status("still there"));
        host.handle.flush();
        assert_eq!(after.json()["status"], "still there");
    }
}

#[test]
fn a_client_may_vanish_before_its_replies() {
    let (host, inbox) = Host::without_sim(options());
    let mut requests = Vec::new();
    for _ in 0..20 {
        let mut client = host.connect();
        client.send("{\"cmd\":\"x\"}\n".repeat(10));
        // Each one is read before the client goes.
        requests.extend((0..10).map(|_| request(&inbox)));
        drop(client);
    }
    for (session, slot, _) in requests {
        host.handle.reply(session, slot, Body::status("for nobody"));
        host.handle.flush();
    }
    let mut closed = 0;
    while closed < 20 {
        closed += usize::from(matches!(next(&inbox), ToSim::Closed { .. }));
    }
}

#[test]
fn a_reset_connection_is_noticed_at_once() {
    let (host, inbox) = Host::without_sim(options());
    let mut client = host.connect();
    client.send("{\"cmd\":\"x\"}\n");
    let (session, slot, _) = request(&inbox);
    host.handle.reply(session, slot, Body::status("unread"));
    host.handle.flush();
    // The reply is there, unread: closing now sends a reset.
    let mut byte = [0];
    client.stream.get_ref().peek(&mut byte).unwrap();
    drop(client);
    assert!(matches!(next(&inbox), ToSim::Closed { session: closed } if closed == session));
}

#[test]
fn a_reset_is_noticed_on_a_connection_that_is_not_being_read() {
    let (host, inbox) = Host::without_sim(NetOptions { max_outstanding_requests: 1, ..options() });
    let mut client = host.connect();
    client.send("{\"cmd\":\"x\"}\n".repeat(3));
    let (session, slot, _) = request(&inbox);
    host.handle.reply(session, slot, Body::status("unread"));
    host.handle.flush();
    // The second request is waiting in the simulation, so that the third one is not taken.
    request(&inbox);
    let mut byte = [0];
    client.stream.get_ref().peek(&mut byte).unwrap();
    drop(client);
    assert!(matches!(next(&inbox), ToSim::Closed { session: closed } if closed == session));
}
