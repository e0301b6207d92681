//! Doing nothing costs nothing.

use super::*;

#[test]
fn the_thread_sleeps_while_nothing_happens() {
    let (host, inbox) = Host::without_sim(NetOptions { max_outstanding_requests: 1, queue: 2, ..options() });
    let topic = host.handle.topic("state");
    // Clients in each state that could keep the loop busy: silent, in the middle of a request, waiting for a reply with
    // more to be read, subscribed, half closed.
    let mut clients: Vec<_> = (0..10).map(|_| host.connect()).collect();
    clients[0].send("{\"cmd\"");
    clients[1].send("{\"cmd\":\"x\"}\n".repeat(10));
    let (session, _, _) = request(&inbox);
    host.handle.subscribe(session, &topic);
    host.handle.flush();
    clients[2].send("{\"cmd\":\"x\"}\n");
    clients[2].end();
    request(&inbox);
    // The queue to the simulation is full as well.
    clients[3].send("{\"cmd\":\"x\"}\n");
    clients[4].send("{\"cmd\":\"x\"}\n");
    clients[5].send("{\"cmd\":\"x\"}\n");
    while inbox.len() < 2 {
        std::thread::yield_now();
    }
    let rounds = || host.handle.shared.rounds();
    // Whatever is still under way comes to its end first.
    let mut before = rounds();
    loop {
        std::thread::sleep(Duration::from_millis(50));
        let now = rounds();
        if now == before {
            break;
        }
        before = now;
    }
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(rounds(), before, "the loop went round with nothing to do");
}
