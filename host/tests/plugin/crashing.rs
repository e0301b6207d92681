//! A plugin that kills the process: the last line says which one, in which slot, by which signal.

use crate::support::{World, ask, compile, context, manager, settle, spec};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use tickworks::plugin::crash;

const PLUGIN: &str = "TICKWORKS_TEST_CRASH_PLUGIN";

/// The child: loads the plugin that the environment names, and calls whatever may kill it. Nothing for a normal run.
#[test]
fn crash_child() {
    let Some(plugin) = std::env::var_os(PLUGIN) else { return };
    crash::install();
    let mut manager = manager();
    manager.load(vec![spec(Path::new(&plugin))], &context());
    settle(&mut manager);
    manager.on_all_started(&World::default());
    ask(&mut manager, "bad");
    manager.on_tick(&World::default(), &mut Vec::new());
    drop(manager);
    eprintln!("it survived");
}

/// The signal that killed the child, and what it said.
fn crash(slot: &str, how: &str) -> (Option<i32>, String) {
    let plugin = compile("bad-plugins/crash.c", &[("SLOT", slot), ("HOW", how)]);
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crashing::crash_child", "--nocapture", "--test-threads=1"])
        .env(PLUGIN, plugin)
        .output()
        .unwrap();
    (output.status.signal(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_plugin_the_slot_and_the_signal_are_named() {
    let cases = [
        ("on_message", "1", libc::SIGSEGV, "SIGSEGV (an address that is not its own)"),
        ("on_tick", "2", libc::SIGABRT, "SIGABRT (it called abort)"),
        ("destroy", "3", libc::SIGFPE, "SIGFPE (impossible arithmetic)"),
        ("create", "1", libc::SIGSEGV, "SIGSEGV (an address that is not its own)"),
        // The standard library's handler, which comes next, says what it was and aborts.
        ("on_tick", "5", libc::SIGABRT, "SIGSEGV (an address that is not its own)"),
        ("create", "4", libc::SIGILL, "SIGILL (an illegal instruction)"),
    ];
    for (slot, how, signal, name) in cases {
        let (killed_by, text) = crash(slot, how);
        assert_eq!(killed_by, Some(signal), "{slot}: {text}");
        let line = format!("tickworks: plugin \"bad\" killed the process in {slot}: {name}\n");
        assert_eq!(text.matches(&line).count(), 1, "{text}");
    }
}

#[test]
fn a_plugin_that_is_fine_is_not_accused() {
    let (killed_by, text) = crash("on_message", "0");
    assert_eq!(killed_by, None);
    assert!(text.contains("it survived") && !text.contains("killed"), "{text}");
}
