//! Clients that send more than is taken, and clients that do not read.

use std::io::ErrorKind;

use super::*;

/// Sends until the socket takes no more. Gives how many bytes it took.
fn send_until_full(client: &mut Raw, line: &[u8], at_most: usize) -> usize {
    let stream = client.stream.get_mut();
    stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let chunk = line.repeat(1 + (32 << 10) / line.len());
    let mut sent = 0;
    while sent < at_most {
        // A short write leaves a part of a line, and the rest of it must come next.
        match stream.write(&chunk[sent % chunk.len()..]) {
            Ok(count) => sent += count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
            Err(error) => panic!("{error}"),
        }
    }
    sent
}

#[test]
fn a_client_that_never_reads_is_not_read_and_hurts_nobody() {
    let options = NetOptions { max_outstanding_bytes: 100_000, ..options() };
    let host = Host::start(options, echo);
    let mut deaf = host.connect();
    // Far more than all buffers on the way hold, so that reaching it means that the server reads without end.
    let at_most = 256 << 20;
    let line = format!("{{\"cmd\":\"x\",\"pad\":\"{}\"}}\n", "y".repeat(1000));
    let sent = send_until_full(&mut deaf, line.as_bytes(), at_most);
    assert!(sent < at_most, "the server took {sent} bytes from a client that does not read");

    let mut other = host.connect();
    for n in 0..100 {
        other.send(format!("{{\"cmd\":\"x\",\"n\":{n}}}\n"));
        assert_eq!(other.json()["echo"]["n"], n);
    }

    // It is served again as soon as it reads, and nothing is lost.
    let whole = sent / line.len();
    let rest = line.as_bytes()[sent % line.len()..].to_vec();
    let sender = deaf.stream.get_ref().try_clone().unwrap();
    sender.set_write_timeout(Some(PATIENCE)).unwrap();
    let writer = std::thread::spawn(move || {
        (&sender).write_all(&rest).unwrap();
        sender.shutdown(Shutdown::Write).unwrap();
    });
    for _ in 0..=whole {
        assert_eq!(deaf.json()["echo"]["cmd"], "x");
    }
    assert!(deaf.rest().is_empty());
    writer.join().unwrap();
}

#[test]
fn a_client_that_never_reads_is_closed_in_the_end() {
    let options = NetOptions { max_outstanding_bytes: 100_000, drain_timeout: Duration::from_millis(200), ..options() };
    let (host, inbox) = Host::without_sim(options);
    let mut deaf = host.connect();
    let ToSim::Opened { session, .. } = next(&inbox) else { panic!("it opens first") };
    let big = serde_json::json!({ "pad": "y".repeat(1 << 20) });
    deaf.send("{\"cmd\":\"x\"}\n".repeat(100));
    loop {
        match next(&inbox) {
            ToSim::Request { session, slot, .. } => host.handle.reply(session, slot, Body::json(&big).unwrap()),
            ToSim::Closed { session: closed } => {
                assert_eq!(closed, session);
                break;
            }
            ToSim::Opened { .. } => panic!("nobody else connects"),
        }
        host.handle.flush();
    }
}

#[test]
fn a_full_queue_stops_the_reading_and_room_resumes_it() {
    let (host, inbox) = Host::without_sim(NetOptions { queue: 8, ..options() });
    let mut clients: Vec<_> = (0..4).map(|_| host.connect()).collect();
    for client in &mut clients {
        client.send("{\"cmd\":\"x\"}\n".repeat(500));
    }
    // The simulation takes its time: the queue is full, and stays so.
    while inbox.len() < 8 {
        std::thread::yield_now();
    }
    let mut taken = 0;
    while taken < 4 * 500 {
        if let ToSim::Request { session, slot, .. } = next(&inbox) {
            taken += 1;
            host.handle.reply(session, slot, Body::status("done"));
            host.handle.flush();
        }
    }
    for client in &mut clients {
        for _ in 0..500 {
            assert_eq!(client.json()["status"], "done");
        }
    }
}

#[test]
fn a_queue_of_one_is_enough() {
    let host = Host::start(NetOptions { queue: 1, max_outstanding_requests: 1, ..options() }, echo);
    let mut clients: Vec<_> = (0..4).map(|_| host.connect()).collect();
    for client in &mut clients {
        client.send("{\"cmd\":\"x\"}\n".repeat(200));
    }
    for client in &mut clients {
        for _ in 0..200 {
            assert_eq!(client.json()["echo"]["cmd"], "x");
        }
    }
}

#[test]
fn no_more_requests_are_taken_than_may_be_outstanding() {
    let (host, inbox) = Host::without_sim(NetOptions { max_outstanding_requests: 10, ..options() });
    let mut client = host.connect();
    client.send("{\"cmd\":\"x\"}\n".repeat(25));
    let mut left = 25;
    while left > 0 {
        let batch: Vec<_> = (0..left.min(10)).map(|_| request(&inbox)).collect();
        // A round trip on another connection: whatever the server was going to take, it has taken by then.
        let mut other = host.connect();
        other.send("{\"cmd\":\"sync\"}\n");
        let (session, slot, sync) = request(&inbox);
        assert_eq!(sync.cmd, "sync");
        host.handle.reply(session, slot, Body::status("sync"));
        for (session, slot, _) in &batch {
            host.handle.reply(*session, *slot, Body::status("done"));
        }
        host.handle.flush();
        other.json();
        left -= batch.len();
    }
    for _ in 0..25 {
        assert_eq!(client.json()["status"], "done");
    }
}

#[test]
fn replies_do_not_wait_for_ever_when_the_way_back_is_full() {
    let (host, inbox) = Host::without_sim(NetOptions { queue: 4, ..options() });
    let mut client = host.connect();
    client.send("{\"cmd\":\"x\"}\n".repeat(1000));
    let mut answered = 0;
    // Without a single flush until the end: the way back holds four.
    while answered < 1000 {
        if let ToSim::Request { session, slot, .. } = next(&inbox) {
            host.handle.reply(session, slot, Body::status("done"));
            answered += 1;
        }
    }
    host.handle.flush();
    for _ in 0..1000 {
        assert_eq!(client.json()["status"], "done");
    }
}
