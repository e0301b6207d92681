//! Keys of a run at a terminal. `script`, which belongs to the base system, gives it one.

use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};
use tickworks_tests::{Client, Host, PATIENCE, Process, Scratch, program};

/// A host at a terminal.
struct Seated {
    process: Process,
    keys: ChildStdin,
    client: Client,
    _dir: Scratch,
}

impl Seated {
    /// Runs a world; when it ends, its status and whether the terminal is as it was are printed.
    fn start(world: impl AsRef<Path>, plugins: &[&str], args: &[&str]) -> Self {
        let dir = Scratch::new();
        let quoted = |text: std::ffi::OsString| format!("'{}'", text.to_str().unwrap());
        let args: Vec<String> = Host::args(world, plugins, args).into_iter().map(quoted).collect();
        // The shell gets the Ctrl-C as well, and goes on to tell how it ended.
        let run = format!(
            "trap : INT; stty -a > before; '{}' {}; echo status $?; stty -a > after; cmp before after && echo as before",
            program().display(),
            args.join(" ")
        );
        let mut process = Process::spawn(Command::new("script"), |command| {
            command.args(["--quiet", "--flush", "--command", &run, "/dev/null"]);
            command.env("SHELL", "/bin/sh").current_dir(dir.path()).stdin(Stdio::piped());
        });
        let line = process.line(|line| line.contains("listening on "));
        let address = line.split("listening on ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
        let client = Client::json(address.parse().unwrap());
        process.line(|line| line.contains("keys:"));
        Self { keys: process.take_stdin().unwrap(), process, client, _dir: dir }
    }

    fn press(&mut self, keys: &[u8]) {
        self.keys.write_all(keys).and_then(|()| self.keys.flush()).unwrap();
    }
}

#[test]
fn keys_reset_and_pause_a_run_at_a_terminal_and_leave_it_as_it_was() {
    let mut seated = Seated::start("arena.sdf", &["manual_move"], &[]);
    seated.client.ok(json!({"cmd": "sim_step", "ticks": 30}));
    seated.press(b"r");
    seated.process.line(|line| line.contains("reset: tick 0, epoch 1"));
    assert_eq!(seated.client.ok(json!({"cmd": "sim_get_info"}))["epoch"], 1);
    seated.press(b"p");
    seated.process.line(|line| line.contains("paused at tick "));
    assert_eq!(seated.client.ok(json!({"cmd": "sim_get_info"}))["paused"], true);
    seated.press(b"p");
    seated.process.line(|line| line.contains("running at tick "));
    // Arrows, and what is pasted, are no keys of this.
    seated.press(b"\x1b[A");
    seated.press(b"rr and more");
    // So that this one does not come with them.
    let begin = Instant::now();
    while !seated.process.stdout().contains("not 'x'") {
        assert!(begin.elapsed() < PATIENCE);
        seated.press(b"x");
        std::thread::sleep(Duration::from_millis(50));
    }
    seated.process.line(|line| line.contains("no key of this run: r resets, p pauses and resumes"));
    seated.press(b"\x03");
    seated.process.line(|line| line.contains("status 0"));
    seated.process.line(|line| line.contains("as before"));
    assert!(!seated.process.stdout().contains("epoch 2"));
}

#[test]
fn a_mission_refuses_the_key_as_it_refuses_the_command() {
    let mut seated = Seated::start("arena.sdf", &["manual_move", "trajectory_mission"], &["--paused"]);
    seated.client.ok(json!({"cmd": "connect"}));
    let trajectory = vec![[0.0; 6]; 60];
    seated.client.ok(json!({"cmd": "mission_start", "trajectory": trajectory}));
    seated.press(b"r");
    seated.process.line(|line| line.contains("sim_reset") && line.contains("mission"));
    assert_eq!(seated.client.ok(json!({"cmd": "sim_get_info"}))["epoch"], 0);
}

#[test]
fn a_plugin_that_kills_the_process_leaves_the_terminal_as_it_was() {
    let scratch = Scratch::new();
    let world = scratch.stress_world(&[("aborts", "<trouble slot='after_physics' does='abort' after='3'/>")]);
    let mut seated = Seated::start(world, &[], &["--paused"]);
    seated.client.send(&json!({"cmd": "sim_step", "ticks": 9}));
    seated.process.line(|line| line.contains("killed the process"));
    seated.process.line(|line| line.contains("as before"));
}

#[test]
fn a_token_is_given_with_the_keys() {
    let dir = Scratch::new();
    let file = dir.path().join("token");
    std::fs::write(&file, "sesame\n").unwrap();
    let mut seated = Seated::start("arena.sdf", &["manual_move"], &["--token-file", file.to_str().unwrap()]);
    seated.press(b"r");
    seated.process.line(|line| line.contains("reset: tick 0, epoch 1"));
}
