//! Starts: parallel, failing, panicking, too slow, never ending.

use crate::support::{
    World, ask, ask_all, built, compile, context, error_of, fields_of, manager, manager_with, running, settle, spec,
    start_failure, stress,
};
use std::time::{Duration, Instant};
use tickworks::plugin::{Counts, Manager, PluginSpec, PluginState, TrackerEvent};

/// The states that an instance went through.
fn states(events: &[TrackerEvent], instance: &str) -> Vec<String> {
    let of = |event: &TrackerEvent| match event {
        TrackerEvent::Changed(report, _) if report.instance == instance => Some(report.state.to_string()),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

#[test]
fn ten_that_take_a_second_take_a_second_together() {
    let specs = (0..10).map(|i| stress(&format!("s{i}"), &[("create", "sleep", &[("seconds", "1")])])).collect();
    let begin = Instant::now();
    let manager = running(specs);
    let took = begin.elapsed();
    assert_eq!(manager.counts(), Counts { started: 10, failed: 0, total: 10 });
    assert!(took < Duration::from_millis(1500), "{took:?}");
    assert!(manager.reports().iter().all(|report| report.start_time >= Duration::from_secs(1)));
}

#[test]
fn two_hundred_that_take_a_tenth_are_up_in_no_time() {
    let specs = (0..200).map(|i| stress(&format!("s{i}"), &[("create", "sleep", &[("seconds", "0.1")])])).collect();
    let begin = Instant::now();
    let manager = running(specs);
    let took = begin.elapsed();
    assert_eq!(manager.counts().started, 200);
    assert!(took < Duration::from_millis(1500), "{took:?}");
}

#[test]
fn the_states_come_in_order_and_the_counts_with_them() {
    let mut manager = manager();
    let nudge = compile("c-plugins/nudge.c", &[]);
    manager.load(
        vec![spec(&nudge), stress("bad", &[("create", "fail", &[])]), stress("worse", &[("create", "panic", &[])])],
        &context(),
    );
    let events = settle(&mut manager);
    let name = nudge.to_str().unwrap();
    // The path is its name until the file has been loaded.
    assert_eq!(states(&events, name), ["found", "checked", "loading"]);
    assert_eq!(states(&events, "nudge"), ["starting", "started"]);
    assert_eq!(states(&events, "bad"), ["found", "checked", "loading", "starting", "failed"]);
    // The second instance of a file that is loaded already.
    assert_eq!(states(&events, "worse"), ["found", "starting", "failed"]);
    assert!(events.iter().all(|event| match event {
        TrackerEvent::Changed(_, counts)
        | TrackerEvent::AllStarted { counts, .. }
        | TrackerEvent::Incomplete { counts, .. } => counts.total == 3,
    }));
    let Some(TrackerEvent::Incomplete { load: 0, counts, failed }) = events.last() else { panic!("{events:?}") };
    assert_eq!(*counts, Counts { started: 1, failed: 2, total: 3 });
    assert_eq!(failed[0], ("bad".to_owned(), "stress: asked to fail in create".to_owned()));
    let (name, reason) = &failed[1];
    assert_eq!(name, "worse");
    assert!(reason.starts_with("panicked at ") && reason.contains("stress-plugin/src/lib.rs:"), "{reason}");
    assert!(reason.ends_with(": stress: asked to panic in create"), "{reason}");
}

#[test]
fn with_keep_going_the_rest_runs() {
    let mut manager = manager_with(Duration::from_secs(60), true);
    manager.load(
        vec![PluginSpec::named("/no/such.so"), stress("bad", &[("create", "fail", &[])]), stress("good", &[])],
        &context(),
    );
    let events = settle(&mut manager);
    let counts = Counts { started: 1, failed: 2, total: 3 };
    assert_eq!(events.last(), Some(&TrackerEvent::AllStarted { load: 0, counts }));
    manager.on_all_started(&World::default());
    assert!(fields_of(&ask(&mut manager, "stress_calls"))["create"].as_u64() == Some(1));
}

#[test]
fn a_start_that_never_ends_is_named_and_left_alone() {
    let mut manager = manager_with(Duration::from_millis(200), false);
    manager.load(vec![stress("stuck", &[("create", "hang", &[])]), stress("good", &[])], &context());
    let begin = Instant::now();
    let Some(TrackerEvent::Incomplete { failed, counts, .. }) = settle(&mut manager).pop() else { panic!("it ended") };
    assert_eq!(failed, [("stuck".to_owned(), "it did not start within 0.2 s: create has not returned".to_owned())]);
    assert_eq!(counts, Counts { started: 1, failed: 1, total: 2 });
    drop(manager);
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
}

#[test]
fn one_that_arrives_after_it_was_given_up_is_ended() {
    let mut manager = manager_with(Duration::from_millis(50), true);
    manager.load(vec![stress("late", &[("create", "sleep", &[("seconds", "0.4")])])], &context());
    assert!(matches!(settle(&mut manager).last(), Some(TrackerEvent::AllStarted { .. })));
    assert_eq!(
        error_of(&ask(&mut manager, "stress_echo")),
        "stress_echo belongs to plugin \"late\", which has failed: it did not start within 0.05 s: create has not returned"
    );
    // Its thread ends, and the state does not change any more.
    let events = manager.wait(Instant::now() + Duration::from_millis(800));
    assert_eq!(events, []);
    assert!(matches!(manager.reports()[0].state, PluginState::Failed(_)));
}

#[test]
fn a_command_of_one_that_starts_says_so() {
    let mut manager = manager();
    manager.load(vec![stress("slow", &[("create", "sleep", &[("seconds", "0.3")])])], &context());
    assert_eq!(
        error_of(&ask(&mut manager, "stress_echo")),
        "stress_echo belongs to plugin \"slow\", which is still starting"
    );
    assert!(manager.endpoint("stress_move").is_some());
    settle(&mut manager);
    manager.on_all_started(&World::default());
    assert_eq!(fields_of(&ask(&mut manager, "stress_echo"))["cmd"], "stress_echo");
}

#[test]
fn one_that_is_added_while_others_run_is_tracked_in_the_same_way() {
    let mut manager = running(vec![stress("first", &[])]);
    manager.load(vec![stress("second", &[])], &context());
    let events = settle(&mut manager);
    assert_eq!(states(&events, "second"), ["found", "starting", "started"]);
    let counts = Counts { started: 2, failed: 0, total: 2 };
    assert_eq!(events.last(), Some(&TrackerEvent::AllStarted { load: 1, counts }));
    let calls = |manager: &mut Manager| -> Vec<_> {
        ask_all(manager, "stress_calls", "{}").iter().map(|answer| fields_of(&answer.response)).collect()
    };
    // It is not called before it has been told; and only the new one is told.
    assert_eq!(calls(&mut manager).len(), 1);
    assert!(manager.on_all_started(&World::default()).is_empty());
    let [first, second] = &calls(&mut manager)[..] else { panic!("two answers") };
    assert_eq!((&first["on_all_started"], &second["on_all_started"]), (&1.into(), &1.into()));
}

/// I7: a reset that comes before a plugin has started is delivered right after its start and before its first tick:
/// never lost, never concurrent with the start.
#[test]
fn i7_a_reset_during_a_start_comes_right_after_it() {
    let world = World::default();
    let mut manager = running(vec![stress("first", &[])]);
    // Two resets are one: what counts is the state that it starts from.
    manager.load(vec![stress("slow", &[("create", "sleep", &[("seconds", "0.2")])])], &context());
    assert!(manager.on_reset(&world).is_empty());
    manager.on_tick(&world, &mut Vec::new());
    settle(&mut manager);
    assert!(manager.on_reset(&world).is_empty());
    manager.on_tick(&world, &mut Vec::new());
    assert!(manager.on_all_started(&world).is_empty());
    let answers = ask_all(&mut manager, "stress_calls", "{}");
    let calls = |n: usize| fields_of(&answers[n].response);
    assert_eq!((&calls(0)["on_reset"], &calls(0)["on_tick"]), (&2.into(), &2.into()));
    assert_eq!((&calls(1)["on_reset"], calls(1).get("on_tick")), (&1.into(), None));
    // One without a reset during its start gets none.
    manager.load(vec![stress("third", &[])], &context());
    settle(&mut manager);
    manager.on_all_started(&world);
    let third = fields_of(&ask(&mut manager, "stress_calls"));
    assert_eq!((&third["on_all_started"], third.get("on_reset")), (&1.into(), None));
}

#[test]
fn an_unloaded_plugin_is_destroyed_once_and_its_commands_vanish() {
    let mut manager = running(vec![stress("a", &[]), stress("b", &[])]);
    let key = manager.find("a").unwrap();
    assert!(manager.unload(key));
    assert!(!manager.unload(key));
    let [TrackerEvent::Changed(report, counts)] = &manager.poll()[..] else { panic!("one change") };
    assert_eq!((report.state.clone(), counts.total), (PluginState::Stopped, 1));
    assert_eq!(ask_all(&mut manager, "stress_echo", "{}").len(), 1);
    manager.stop_all();
    assert!(ask_all(&mut manager, "stress_echo", "{}").is_empty());
    assert_eq!(manager.counts(), Counts::default());
}

#[test]
fn parameters_reach_the_plugin() {
    assert_eq!(
        start_failure(stress("x", &[("create", "sleep", &[("seconds", "soon")])])),
        "seconds=\"soon\" of <trouble> is no number"
    );
    assert!(built("stress").is_file());
}
