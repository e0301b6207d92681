//! Pushes to subscribers, quick and slow ones.

use super::super::{PushKind, SessionId, Topic, Unread};
use super::*;

const LATEST: PushKind = PushKind::Latest { key: 0 };

fn numbered(n: u64) -> Body {
    Body::json(&serde_json::json!({ "n": n })).unwrap()
}

/// A client and its session, subscribed to the topics.
fn subscriber(host: &Host, inbox: &Inbox, topics: &[&Topic]) -> (Raw, SessionId) {
    let mut client = host.connect();
    client.send("{\"cmd\":\"sim_subscribe\"}\n");
    let (session, slot, _) = request(inbox);
    for topic in topics {
        host.handle.subscribe(session, topic);
    }
    host.handle.reply(session, slot, Body::status("subscribed"));
    host.handle.flush();
    assert_eq!(client.json()["status"], "subscribed");
    (client, session)
}

/// Answers one request of the client, which shows that everything before it has been handled.
fn sync(host: &Host, inbox: &Inbox, client: &mut Raw) -> Vec<Json> {
    client.send("{\"cmd\":\"sync\"}\n");
    let (session, slot, _) = request(inbox);
    host.handle.reply(session, slot, Body::status("sync"));
    host.handle.flush();
    let mut before = Vec::new();
    loop {
        let message = client.json();
        if message["status"] == "sync" {
            return before;
        }
        before.push(message);
    }
}

#[test]
fn subscribers_get_pushes_and_others_do_not() {
    let (host, inbox) = Host::without_sim(options());
    let (race, other) = (host.handle.topic("race"), host.handle.topic("other"));
    let (mut client, _) = subscriber(&host, &inbox, &[&race]);
    let (mut stranger, _) = subscriber(&host, &inbox, &[&other]);
    let body = Body::json(&serde_json::json!({"lap": 2, "topic": "mine", "missed": 9})).unwrap();
    host.handle.push(&race, body, PushKind::Event);
    host.handle.flush();
    assert_eq!(client.json(), serde_json::json!({"topic": "race", "lap": 2}));
    assert!(sync(&host, &inbox, &mut stranger).is_empty());
}

#[test]
fn pushes_speak_messagepack_where_the_client_does() {
    let (host, inbox) = Host::without_sim(options());
    let race = host.handle.topic("race");
    let mut client = host.connect();
    client.send(frame(&map(&[("cmd", "sim_subscribe".into())])));
    let (session, slot, _) = request(&inbox);
    host.handle.subscribe(session, &race);
    host.handle.reply(session, slot, Body::status("subscribed"));
    host.handle.push(&race, numbered(1), PushKind::Event);
    host.handle.push_to(session, &race, Body::Value(map(&[("b", rmpv::Value::Binary(vec![1]))])), LATEST);
    host.handle.flush();
    assert_eq!(client.msgpack()["status"].as_str(), Some("subscribed"));
    assert_eq!(client.msgpack(), map(&[("topic", "race".into()), ("n", 1.into())]));
    assert_eq!(client.msgpack(), map(&[("topic", "race".into()), ("b", rmpv::Value::Binary(vec![1]))]));
}

#[test]
fn a_push_to_one_session_reaches_it_alone() {
    let (host, inbox) = Host::without_sim(options());
    let sim = host.handle.topic("sim");
    let (mut first, session) = subscriber(&host, &inbox, &[&sim]);
    let (mut second, other) = subscriber(&host, &inbox, &[&sim]);
    host.handle.push_to(session, &sim, numbered(1), PushKind::Event);
    host.handle.push_to(other, &host.handle.topic("unwanted"), numbered(2), PushKind::Event);
    host.handle.push_to(SessionId(999), &sim, numbered(3), PushKind::Event);
    assert_eq!(sync(&host, &inbox, &mut first).len(), 1);
    assert!(sync(&host, &inbox, &mut second).is_empty());
}

#[test]
fn a_topic_knows_whether_anybody_listens() {
    let (host, inbox) = Host::without_sim(options());
    let race = host.handle.topic("race");
    assert!(!race.has_subscribers() && !host.handle.has_subscribers("race"));
    let (mut client, session) = subscriber(&host, &inbox, &[&race]);
    assert!(host.handle.topic("race").has_subscribers() && host.handle.has_subscribers("race"));
    // Once more changes nothing, as does a session that is not there.
    host.handle.subscribe(session, &race);
    host.handle.subscribe(SessionId(999), &race);
    host.handle.unsubscribe(session, &race);
    host.handle.unsubscribe(session, &race);
    host.handle.push(&race, numbered(1), PushKind::Event);
    assert!(sync(&host, &inbox, &mut client).is_empty());
    assert!(!race.has_subscribers());

    let (client, _) = subscriber(&host, &inbox, &[&race]);
    assert!(race.has_subscribers());
    drop(client);
    while !matches!(next(&inbox), ToSim::Closed { .. }) {}
    assert!(!race.has_subscribers());
}

#[test]
fn a_slow_client_misses_events_and_is_told_how_many() {
    let (host, inbox) =
        Host::without_sim(NetOptions { max_queued_events: 10, max_queued_event_bytes: 64 << 20, ..options() });
    let (race, big) = (host.handle.topic("race"), host.handle.topic("big"));
    let (mut slow, slow_session) = subscriber(&host, &inbox, &[&race, &big]);
    let (mut quick, _) = subscriber(&host, &inbox, &[&race]);

    // Large ones first, far more than the sockets and the queue hold.
    let blocker = |n: u64| Body::json(&serde_json::json!({ "n": n, "pad": "y".repeat(1 << 20) })).unwrap();
    for n in 0..40 {
        host.handle.push_to(slow_session, &big, blocker(n), PushKind::Event);
        host.handle.flush();
    }
    for n in 0..100 {
        host.handle.push(&race, numbered(n), PushKind::Event);
        host.handle.flush();
        // The quick one is not held up by the slow one.
        assert_eq!(quick.json(), serde_json::json!({"topic": "race", "n": n}));
    }

    // The slow one reads on. Each event was either read or is counted in the next one of its topic.
    let mut seen = sync(&host, &inbox, &mut slow);
    host.handle.push(&race, numbered(100), PushKind::Event);
    host.handle.push_to(slow_session, &big, numbered(40), PushKind::Event);
    seen.extend(sync(&host, &inbox, &mut slow));
    for (topic, last) in [("race", 100), ("big", 40)] {
        let (mut next, mut missed) = (0, 0);
        for push in seen.iter().filter(|push| push["topic"] == topic) {
            let gap = push.get("missed").map_or(0, |missed| missed.as_u64().unwrap());
            missed += gap;
            assert_eq!(push["n"], next + gap, "{topic}");
            assert_ne!(push.get("missed"), Some(&Json::from(0)), "no gap, no field");
            next += gap + 1;
        }
        assert_eq!(next, last + 1, "{topic}");
        assert!(missed > 0, "{topic}: nothing was missed, so this tests nothing");
    }
}

#[test]
fn a_slow_client_gets_the_newest_of_latest_values() {
    let (host, inbox) = Host::without_sim(options());
    let state = host.handle.topic("state");
    let (mut slow, _) = subscriber(&host, &inbox, &[&state]);
    let (mut quick, _) = subscriber(&host, &inbox, &[]);
    let pad = "y".repeat(100_000);
    let count = 1000;
    for n in 0..count {
        for key in 0..2u64 {
            let body = Body::json(&serde_json::json!({"n": n, "key": key, "pad": pad})).unwrap();
            host.handle.push(&state, body, PushKind::Latest { key });
        }
        host.handle.flush();
    }
    sync(&host, &inbox, &mut quick);
    let seen = sync(&host, &inbox, &mut slow);
    assert!(seen.len() < 2 * count, "all {} values were kept", seen.len());
    for key in 0..2 {
        let of_key: Vec<_> =
            seen.iter().filter(|push| push["key"] == key).map(|push| push["n"].as_u64().unwrap()).collect();
        assert!(of_key.is_sorted(), "{of_key:?}");
        assert_eq!(of_key.last(), Some(&(count as u64 - 1)), "the newest one arrives");
    }
}

#[test]
fn nothing_of_after_an_event_is_read_before_it() {
    let (host, inbox) = Host::without_sim(options());
    let (sim, state, big) = (host.handle.topic("sim"), host.handle.topic("state"), host.handle.topic("big"));
    let (mut slow, session) = subscriber(&host, &inbox, &[&sim, &state, &big]);
    let blocker = Body::json(&serde_json::json!({ "pad": "y".repeat(1 << 20) })).unwrap();
    let mut pushes = 0;
    for epoch in 0..20u64 {
        host.handle.push_to(session, &big, blocker.clone(), PushKind::Event);
        let of_epoch = |what: &str| Body::json(&serde_json::json!({ "epoch": epoch, "is": what })).unwrap();
        host.handle.forget_latest();
        host.handle.push(&sim, of_epoch("reset"), PushKind::Event);
        for _ in 0..5 {
            host.handle.push(&state, of_epoch("state"), LATEST);
            pushes += 1;
        }
        host.handle.flush();
    }
    let seen = sync(&host, &inbox, &mut slow);
    let mut epoch = None;
    let mut states = 0;
    for push in seen.iter().filter(|push| push["topic"] != "big") {
        let of = push["epoch"].as_u64();
        match push["is"].as_str() {
            Some("reset") => epoch = of,
            _ => {
                assert_eq!(of, epoch, "a state of another epoch than the one that was announced");
                states += 1;
            }
        }
    }
    assert_eq!(epoch, Some(19));
    assert!((1..pushes).contains(&states), "{states} of {pushes} states");
}

#[test]
fn a_latest_value_is_shown_to_those_it_is_for_and_tells_when_it_has_gone_out() {
    let (host, inbox) = Host::without_sim(options());
    let (state, big) = (host.handle.topic("state"), host.handle.topic("big"));
    let (mut quick, first) = subscriber(&host, &inbox, &[&state]);
    let (mut slow, second) = subscriber(&host, &inbox, &[&state, &big]);
    let (mut third, other) = subscriber(&host, &inbox, &[&big]);
    let show = |n: u64, sessions: &[SessionId]| {
        let (to, receipts): (Vec<_>, Vec<_>) = sessions
            .iter()
            .map(|&session| {
                let (unread, receipt) = Unread::with_receipt();
                ((session, unread), receipt)
            })
            .unzip();
        host.handle.show(to, &state, numbered(n));
        host.handle.flush();
        receipts
    };
    let receipts = show(1, &[first, other, SessionId(999)]);
    assert_eq!(quick.json(), serde_json::json!({"topic": "state", "n": 1}));
    assert!(sync(&host, &inbox, &mut third).is_empty() && sync(&host, &inbox, &mut slow).is_empty());
    assert!(receipts.iter().all(|receipt| !receipt.is_open()), "{receipts:?}");

    // More than the sockets hold: what is behind it waits.
    for n in 0..40 {
        let blocker = Body::json(&serde_json::json!({ "n": n, "pad": "y".repeat(1 << 20) })).unwrap();
        host.handle.push_to(second, &big, blocker, PushKind::Event);
    }
    let old = show(2, &[first, second]);
    assert_eq!(quick.json()["n"], 2);
    sync(&host, &inbox, &mut third);
    assert!(!old[0].is_open() && old[1].is_open());
    let new = show(3, &[second]);
    sync(&host, &inbox, &mut third);
    assert!(!old[1].is_open() && new[0].is_open(), "the newer one has taken its place");
    let seen = sync(&host, &inbox, &mut slow);
    assert_eq!(seen.last().unwrap(), &serde_json::json!({"topic": "state", "n": 3}));
    assert!(!new[0].is_open());
    host.handle.unsubscribe(first, &state);
    let none = show(4, &[first]);
    assert!(sync(&host, &inbox, &mut quick).is_empty() && !none[0].is_open());
}

#[test]
fn a_client_that_ends_its_side_gets_no_more_pushes() {
    let (host, inbox) = Host::without_sim(options());
    let race = host.handle.topic("race");
    let (mut client, _) = subscriber(&host, &inbox, &[&race]);
    client.end();
    assert!(client.rest().is_empty());
    while !matches!(next(&inbox), ToSim::Closed { .. }) {}
    assert!(!race.has_subscribers());
}
