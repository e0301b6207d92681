//! A host that has nothing to do does nothing.

use serde_json::json;
use std::time::{Duration, Instant};
use tickworks_tests::{Host, PATIENCE};

/// Clock ticks of a thread's or process's user and system time so far: USER_HZ, 100 a second on Linux.
fn cpu(stat: &str) -> Option<u64> {
    let text = std::fs::read_to_string(stat).ok()?;
    // The name may hold anything, also spaces; what follows its last parenthesis does not.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields[11].parse::<u64>().ok()? + fields[12].parse::<u64>().ok()?)
}

/// Name and CPU time of each thread, to see who it was.
fn threads(pid: u32) -> Vec<(String, u64)> {
    let dir = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    dir.flatten()
        .filter_map(|task| {
            let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
            Some((name.trim().to_owned(), cpu(task.path().join("stat").to_str()?)?))
        })
        .collect()
}

/// The share of one core that a host uses, in per cent, over some seconds.
fn load(args: &[&str]) -> f64 {
    const SPAN: Duration = Duration::from_secs(4);
    let host = Host::start("arena.sdf", &["manual_move", "trajectory_mission", "race"], args);
    let mut client = host.json();
    client.ok(json!({"cmd": "connect"}));
    let pid = host.process().pid();
    let stat = format!("/proc/{pid}/stat");
    let (begin, before) = (Instant::now(), cpu(&stat).unwrap());
    // The time itself is what is measured over.
    std::thread::sleep(SPAN);
    let (used, took) = (cpu(&stat).unwrap() - before, begin.elapsed());
    assert!(took < PATIENCE);
    let load = used as f64 / 100.0 / took.as_secs_f64() * 100.0;
    println!("{args:?}: {load:.2} % of a core; {:?}", threads(pid));
    assert_eq!(client.ok(json!({"cmd": "sim_get_info"}))["stage"], "running");
    load
}

/// Time stands, a client is connected and silent.
#[test]
fn a_paused_host_uses_no_cpu() {
    let load = load(&["--paused"]);
    assert!(load < 2.0, "{load:.2} % of a core");
}

/// Time runs, and nothing happens: three robots that hover, boxes that sleep, three plugins that have nothing to do.
#[test]
fn an_idle_host_uses_next_to_no_cpu() {
    let load = load(&[]);
    assert!(load < 2.0, "{load:.2} % of a core");
}

/// Where the world asks for a plugin that starts for ever, waiting for it is no work either.
#[test]
fn waiting_for_a_start_uses_no_cpu() {
    let scratch = tickworks_tests::Scratch::new();
    let world = scratch.stress_world(&[("bad", "<trouble slot='create' does='hang'/>")]);
    let process = tickworks_tests::Process::start(Host::args(world, &[], &[]));
    process.line(|line| line.starts_with("plugin bad: starting ("));
    let stat = format!("/proc/{}/stat", process.pid());
    let before = cpu(&stat).unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let used = cpu(&stat).unwrap() - before;
    assert!(used < 4, "{used} hundredths of a second in two seconds");
}
