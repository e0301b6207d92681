//! Calls into instances: answers, failures, panics in each slot, state, priority.

use crate::support::{World, ask, ask_all, compile, error_of, fields_of, message, running, spec, stress};
use std::time::{Duration, Instant};
use tickworks::plugin::{Manager, PluginResponse, PluginState, SavedPlugin, TrackerEvent, check_command, reply_of};
use tickworks_plugin_api::{EntityId, Operation, Outcome, Status};

fn outcome(status: Status, by: &str, reason: &str) -> Outcome {
    Outcome { entity: EntityId(0), op: 0, status, colliding: false, by: by.into(), reason: reason.into() }
}

/// The reason of the only failure that the tracker has to tell.
fn failed_reason(manager: &mut Manager) -> String {
    match &manager.poll()[..] {
        [TrackerEvent::Changed(report, _)] => match &report.state {
            PluginState::Failed(reason) => reason.clone(),
            other => panic!("not failed: {other}"),
        },
        other => panic!("not one change: {other:?}"),
    }
}

#[test]
fn a_c_plugin_answers_moves_a_robot_saves_and_restores() {
    let nudge = spec(&compile("c-plugins/nudge.c", &[]));
    let mut manager = running(vec![nudge.clone()]);
    let world = World::default();
    let request = message("nudge", r#"{"cmd":"nudge"}"#);
    let answers = manager.message(&world, &request);
    let PluginResponse::Physics(commands) = &answers[0].response else { panic!("{answers:?}") };
    // Forward is the third axis of left, up, forward.
    assert_eq!(commands.len(), 1);
    assert_eq!(commands[0].v[..6], [0.0, 0.0, 0.05, 0.0, 0.0, 0.0]);
    assert_eq!(check_command(&commands[0]), Ok(()));
    let owner = answers[0].owner;
    let reply = manager.response(&world, owner, &request, &[outcome(Status::Applied, "", "")]);
    assert_eq!(fields_of(&reply), serde_json::json!({"status": "nudged", "count": 1}));
    let reply = manager.response(&world, owner, &request, &[outcome(Status::Overridden, "race", "")]);
    assert_eq!(fields_of(&reply)["status"], "not_nudged");

    let mut nobody = request;
    nobody.target = EntityId(5);
    let answers = manager.message(&world, &nobody);
    assert_eq!(error_of(&answers[0].response), "nudge: there is no such robot");

    let saved = manager.save().unwrap();
    assert_eq!(saved[0].state, br#"{"count": 1}"#);
    let mut fresh = running(vec![nudge]);
    assert_eq!(fresh.load_state(&saved).unwrap(), Vec::<String>::new());
    assert_eq!(fields_of(&ask(&mut fresh, "nudge_count"))["count"], 1);
    assert_eq!(fresh.save().unwrap(), saved);
    let wrong = [SavedPlugin { state: b"{}".to_vec(), ..saved[0].clone() }];
    assert_eq!(
        fresh.load_state(&wrong).unwrap_err().to_string(),
        "plugin \"nudge\" failed in load: the state has no count"
    );
}

#[test]
fn answers_against_the_contract_are_errors_that_name_the_plugin() {
    let mut manager = running(vec![spec(&compile("bad-plugins/answers.c", &[]))]);
    let expected = [
        ("nothing", "it gave no answer"),
        ("two_replies", "it wrote an ok reply after an ok reply: expected one of them"),
        ("reply_and_commands", "it wrote a reply and commands: expected one of them"),
        ("not_mine_and_reply", "it answered and said that the message is not its own"),
        ("not_json", "its reply is not JSON: expected value at line 1 column 7"),
        ("not_object", "its reply is not a JSON object: [1, 2]"),
        ("not_utf8", "its reply is not UTF-8 after byte 7"),
        ("null_bytes", "it wrote 5 bytes from NULL"),
        ("unknown_kind", "it wrote an output of the unknown kind 99, which on_message does not return"),
        ("state", "it wrote state, which on_message does not return"),
        ("half_a_command", "it wrote 40 bytes of commands: 40 too many for commands of 80 bytes"),
        ("unknown_code", "it returned the unknown code -77 and no reason"),
        ("no_reason", "it returned TW_ERR_STATE (-5) and no reason"),
        ("too_large", "it wrote 1099511627776 bytes in one call, at most 67108864"),
    ];
    for (cmd, text) in expected {
        assert_eq!(
            error_of(&ask(&mut manager, cmd)),
            format!("{cmd}: plugin \"answers\" failed in on_message: {text}"),
            "{cmd}"
        );
    }
    // None of that costs more than the one message.
    assert_eq!(error_of(&ask(&mut manager, "plain_error")), "plain \"text\"");
    assert_eq!(ask(&mut manager, "no_commands"), PluginResponse::Physics(Vec::new()));
    assert_eq!(fields_of(&ask(&mut manager, "fine"))["status"], "fine");
    assert_eq!(manager.counts().started, 1);
    // What is wrong with numbers is the world's to refuse, with a reason.
    let PluginResponse::Physics(commands) = ask(&mut manager, "infinite") else { panic!("commands") };
    assert_eq!(check_command(&commands[0]).unwrap_err(), "number 0 of the control is inf, expected a finite number");
}

#[test]
fn wrong_questions_to_the_world_are_refused() {
    let mut manager = running(vec![spec(&compile("bad-plugins/answers.c", &[]))]);
    assert_eq!(fields_of(&ask(&mut manager, "wrong_world"))["refused"], true);
}

#[test]
fn a_plugin_without_on_response_gets_a_plain_reply() {
    let mut manager = running(vec![spec(&compile("bad-plugins/answers.c", &[]))]);
    let (world, request) = (World::default(), message("no_commands", "{}"));
    let owner = manager.message(&world, &request)[0].owner;
    let reply = manager.response(&world, owner, &request, &[outcome(Status::Applied, "", "")]);
    assert_eq!(fields_of(&reply), serde_json::json!({"status": "applied"}));
    let reply = manager.response(&world, owner, &request, &[outcome(Status::Refused, "", "it is paused")]);
    assert_eq!(fields_of(&reply), serde_json::json!({"status": "not_applied", "reason": "it is paused"}));
}

/// Calls a slot of all instances.
fn call(manager: &mut Manager, slot: &str) {
    let world = World::default();
    match slot {
        // Has been called already, and only once.
        "on_all_started" => assert!(manager.on_all_started(&world).is_empty()),
        "on_reset" => drop(manager.on_reset(&world)),
        "on_message" => drop(ask(manager, "stress_echo")),
        "on_response" => {
            let request = message("stress_move", r#"{"cmd":"stress_move","control_input":[0,0,0,0,0,0]}"#);
            for answer in manager.message(&world, &request) {
                manager.response(&world, answer.owner, &request, &[outcome(Status::Applied, "", "")]);
            }
        }
        "on_tick" => manager.on_tick(&world, &mut Vec::new()),
        "before_physics" => manager.before_physics(&world, &mut Vec::new()),
        "after_physics" => manager.after_physics(&world),
        "draw" => drop(manager.draw(&world)),
        "save" => drop(manager.save()),
        "load" => {
            let state =
                SavedPlugin { instance: "bad".into(), id: "stress".into(), version: "0".into(), state: b"x".to_vec() };
            drop(manager.load_state(&[state]));
        }
        "may" => drop(manager.may(Operation::Reset)),
        other => panic!("no such slot: {other}"),
    }
}

const SLOTS: [&str; 11] = [
    "on_all_started",
    "on_reset",
    "on_message",
    "on_response",
    "on_tick",
    "before_physics",
    "after_physics",
    "draw",
    "save",
    "load",
    "may",
];

/// I8: a failing plugin costs its own function only.
#[test]
fn i8_a_panic_in_any_slot_costs_that_instance_only() {
    for slot in SLOTS {
        // The other one is stronger: it is called after the panic.
        let mut manager = running(vec![stress("bad", &[(slot, "panic", &[])]), stress("good", &[])]);
        call(&mut manager, slot);
        let reason = failed_reason(&mut manager);
        assert!(reason.starts_with(&format!("in {slot}: panicked at ")), "{reason}");
        assert!(reason.ends_with(&format!(": stress: asked to panic in {slot}")), "{reason}");
        // Nothing reaches it any more, and the other one goes on.
        for slot in ["on_tick", "on_reset", "draw", "save"] {
            call(&mut manager, slot);
        }
        assert!(manager.poll().is_empty(), "{slot}");
        let calls = fields_of(&ask(&mut manager, "stress_calls"));
        assert!(calls["on_tick"].as_u64() >= Some(1), "{slot}: {calls}");
    }
}

#[test]
fn a_panic_in_drop_is_kept_inside() {
    let mut manager = running(vec![stress("bad", &[("destroy", "panic", &[])]), stress("good", &[])]);
    let bad = manager.find("bad").unwrap();
    assert!(manager.unload(bad));
    assert_eq!(fields_of(&ask(&mut manager, "stress_echo"))["cmd"], "stress_echo");
}

#[test]
fn a_message_gets_its_answer_from_the_one_that_panics_too() {
    let mut manager = running(vec![stress("bad", &[("on_message", "panic", &[("after", "1")])])]);
    assert!(matches!(ask(&mut manager, "stress_echo"), PluginResponse::Ok(_)));
    let text = error_of(&ask(&mut manager, "stress_echo"));
    assert!(text.starts_with("stress_echo: plugin \"bad\" failed in on_message: panicked at "), "{text}");
    let text = error_of(&ask(&mut manager, "stress_echo"));
    assert!(text.starts_with("stress_echo belongs to plugin \"bad\", which has failed: in on_message: "), "{text}");
}

#[test]
fn owners_are_asked_in_order_and_the_strongest_one_replies() {
    let mut manager = running(vec![stress("weak", &[]), stress("strong", &[])]);
    let answers = ask_all(&mut manager, "stress_move", r#"{"control_input":[0,0,0.1,0,0,0]}"#);
    assert_eq!(answers.len(), 2);
    assert!(answers[0].priority < answers[1].priority);
    assert_eq!(manager.name(answers[1].owner), Some("strong"));
    assert_eq!(reply_of(&answers), Some(1));
    let none = ask_all(&mut manager, "nobody_has_this", "{}");
    assert_eq!(reply_of(&none), None);
}

#[test]
fn a_failing_reset_is_named_and_the_others_are_reset() {
    let mut manager = running(vec![stress("bad", &[("on_reset", "fail", &[("once", "true")])]), stress("good", &[])]);
    let failures = manager.on_reset(&World::default());
    assert_eq!(failures.len(), 1);
    assert_eq!(failures[0].to_string(), "plugin \"bad\" failed in on_reset: stress: asked to fail in on_reset");
    assert_eq!(fields_of(&ask(&mut manager, "stress_calls"))["on_reset"], 1);
    // It has not failed for good.
    assert!(manager.on_reset(&World::default()).is_empty());
    assert_eq!(manager.counts().failed, 0);
}

#[test]
fn an_error_in_on_all_started_is_final() {
    let mut manager = running(vec![stress("bad", &[("on_all_started", "fail", &[])])]);
    assert_eq!(failed_reason(&mut manager), "in on_all_started: stress: asked to fail in on_all_started");
}

#[test]
fn a_veto_names_its_reason() {
    let mut manager = running(vec![stress("good", &[]), stress("busy", &[("may", "fail", &[])])]);
    let veto = manager.may(Operation::Reset).unwrap_err();
    assert_eq!((veto.instance.as_str(), veto.text.as_str()), ("busy", "stress: no sim_reset now"));
    let (good, busy) = (manager.find("good").unwrap(), manager.find("busy").unwrap());
    assert!(manager.may_unload(good).is_ok());
    assert_eq!(manager.may_unload(busy).unwrap_err().text, "stress: no plugin_unload now");
}

#[test]
fn a_state_is_taken_by_all_or_by_none() {
    let saved = |instance: &str, state: &str| SavedPlugin {
        instance: instance.into(),
        id: "stress".into(),
        version: "0.1.0".into(),
        state: state.into(),
    };
    let mut manager = running(vec![stress("a", &[]), stress("b", &[("load", "fail", &[("after", "1")])])]);
    let first = [saved("a", "a1"), saved("b", "b1")];
    assert!(manager.load_state(&first).unwrap().is_empty());
    assert_eq!(manager.save().unwrap(), first);
    let failure = manager.load_state(&[saved("a", "a2"), saved("b", "b2")]).unwrap_err();
    assert_eq!(failure.to_string(), "plugin \"b\" failed in load: stress: asked to fail in load");
    assert_eq!(manager.save().unwrap(), first, "a has its old state back");
    let other = SavedPlugin { id: "race".into(), ..saved("a", "a3") };
    let failure = manager.load_state(&[other]).unwrap_err();
    assert_eq!(failure.text, "the state is one of \"race\", expected one of \"stress\"");
    assert_eq!(manager.save().unwrap(), first);
    let warnings = manager.load_state(&[saved("a", "a4"), saved("c", "c4")]).unwrap();
    assert_eq!(
        warnings,
        [
            "there is a state for plugin \"c\", which does not run",
            "there is no state for plugin \"b\", which keeps its own"
        ]
    );
}

#[test]
fn wakes_and_pushes_reach_the_sim_thread() {
    let mut manager = running(vec![
        stress("quiet", &[]),
        stress("loud", &[("on_message", "wake", &[]), ("on_message", "publish", &[]), ("on_message", "log", &[])]),
    ]);
    let world = World::default();
    manager.on_wake(&world);
    ask(&mut manager, "stress_echo");
    manager.on_wake(&world);
    manager.on_wake(&world);
    let published = manager.take_published();
    assert_eq!(published.len(), 1);
    assert_eq!((published[0].instance.as_str(), published[0].topic.as_str()), ("loud", "stress"));
    assert_eq!(published[0].json, br#"{"slot":"on_message","text":""}"#);
    let answers = ask_all(&mut manager, "stress_calls", "{}");
    assert_eq!(fields_of(&answers[1].response)["on_wake"], 1);
    assert_eq!(fields_of(&answers[0].response).get("on_wake"), None);
}

#[test]
fn garbage_commands_come_through_for_the_world_to_refuse() {
    let mut manager = running(vec![stress("bad", &[("on_tick", "garbage", &[])]), stress("good", &[])]);
    let mut commands = Vec::new();
    manager.on_tick(&World::default(), &mut commands);
    let refused: Vec<_> = commands.iter().filter(|owned| check_command(&owned.command).is_err()).collect();
    assert_eq!((commands.len(), refused.len()), (4, 2));
    assert!(commands.iter().all(|owned| manager.name(owned.owner) == Some("bad")));
    // What is no drawing is left out.
    let mut manager = running(vec![stress("bad", &[("draw", "garbage", &[])])]);
    assert_eq!(manager.draw(&World::default())[0].1.len(), 1);
}

#[test]
fn a_panic_of_a_plugin_s_own_thread_hurts_nobody() {
    let mut manager = running(vec![stress("bad", &[("on_tick", "thread_panic", &[])])]);
    manager.on_tick(&World::default(), &mut Vec::new());
    assert_eq!(manager.counts().started, 1);
}

/// Guards the shape of the code, not the machine: an idle tick is a few dozen instructions a plugin, so a bound that is
/// ten times what it takes on a slow machine still catches an allocation or a lock that crept in.
#[test]
fn an_idle_tick_and_a_message_are_cheap() {
    let mut manager = running(vec![stress("a", &[]), stress("b", &[]), stress("c", &[])]);
    let world = World::of(10_000);
    let mut commands = Vec::new();
    let time = |mut body: Box<dyn FnMut() + '_>, rounds: u32| {
        let begin = Instant::now();
        (0..rounds).for_each(|_| body());
        begin.elapsed() / rounds
    };
    let idle = time(
        Box::new(|| {
            manager.on_tick(&world, &mut commands);
            manager.before_physics(&world, &mut commands);
            manager.after_physics(&world);
            manager.on_wake(&world);
            manager.poll();
        }),
        10_000,
    );
    let request = message("stress_echo", r#"{"cmd":"stress_echo"}"#);
    let answer = time(Box::new(|| drop(manager.message(&world, &request))), 10_000);
    println!("idle tick of 3 plugins: {idle:?}; a message to 3 owners: {answer:?}");
    assert!(idle < Duration::from_micros(20), "{idle:?}");
    assert!(answer < Duration::from_micros(100), "{answer:?}");
}
