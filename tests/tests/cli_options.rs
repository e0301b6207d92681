//! The command line: help for everything, and a status of 2 for what it cannot mean.

use std::ffi::OsString;
use tickworks_tests::{Host, Scratch, tickworks, world};

#[test]
fn every_command_has_a_help_text() {
    let commands: [(&[&str], &[&str]); 7] = [
        (&[], &["run", "check", "plugin", "call", "--version"]),
        (
            &["run"],
            &[
                "--plugins",
                "--listen",
                "--rate",
                "--seed",
                "--ticks",
                "--paused",
                "--fast",
                "--real-time-factor",
                "--keep-going",
                "--plugin-start-timeout",
                "--plugin-dir",
                "--token-file",
                "SIGTERM",
            ],
        ),
        (&["check"], &["--json", "--strict", "--model-path"]),
        (&["plugin"], &["list", "info"]),
        (&["plugin", "list"], &["--plugin-dir"]),
        (&["plugin", "info"], &["--json", "NAME|PATH"]),
        (&["call"], &["KEY=VALUE", "--json", "--follow", "--address", "--timeout", "Examples:"]),
    ];
    for (command, words) in commands {
        let exit = tickworks(command.iter().chain(&["--help"]));
        assert_eq!((exit.code, exit.stderr.as_str()), (Some(0), ""), "{command:?}");
        for word in words {
            assert!(exit.stdout.contains(word), "{command:?} says nothing of {word}:\n{}", exit.stdout);
        }
        // No line is wider than a narrow terminal shows, and none is empty of meaning.
        let option = |line: &&str| line.trim_start().starts_with("--") || line.trim_start().starts_with('-');
        let mut lines = exit.stdout.lines().peekable();
        while let Some(line) = lines.next() {
            assert!(line.chars().count() <= 110, "{line}");
            if option(&line) && !line.trim().contains("  ") {
                assert!(lines.peek().is_some_and(|next| !next.trim().is_empty()), "no word on {line}");
            }
        }
    }
    assert_eq!(tickworks(["--version"]).stdout, format!("tickworks {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn what_cannot_be_meant_is_refused_with_status_2() {
    let cases: [(&[&str], &str); 26] = [
        (&[], "Usage:"),
        (&["fly"], "unrecognized subcommand 'fly'"),
        (&["run"], "<WORLD>"),
        (&["run", "w.sdf", "--plugin", "race"], "'--plugin"),
        (&["run", "w.sdf", "--rate", "0"], "0 is out of range: 0.1 to 100000 Hz"),
        (&["run", "w.sdf", "--rate", "fast"], "'fast' is not a number"),
        (&["run", "w.sdf", "--rate", "nan"], "out of range"),
        (&["run", "w.sdf", "--real-time-factor", "0"], "for as fast as possible: --fast"),
        (&["run", "w.sdf", "--fast", "--real-time-factor", "2"], "cannot be used with"),
        (&["run", "w.sdf", "--rate", "-1"], "'--rate <HZ>': -1 is out of range: 0.1 to 100000 Hz"),
        (&["run", "w.sdf", "--real-time-factor", "-0.5"], "-0.5 is out of range: 0.001 to 1000"),
        (&["run", "w.sdf", "--ticks", "-1"], "'--ticks <N>': -1 is out of range: 0 to "),
        (&["run", "w.sdf", "--seed", "-1"], "'--seed <N>': -1 is out of range: 0 to "),
        (&["run", "w.sdf", "--max-frame", "0"], "'--max-frame <BYTES>': 0 is out of range: 1 to 67108863 bytes"),
        (&["run", "w.sdf", "--max-frame", "67108864"], "67108864 is out of range: 1 to 67108863 bytes"),
        (&["run", "w.sdf", "--max-connections", "0"], "'--max-connections <N>': 0 is out of range: 1 to 1000000"),
        (
            &["run", "w.sdf", "--max-outstanding-requests", "0"],
            "'--max-outstanding-requests <N>': 0 is out of range: 1 to ",
        ),
        (
            &["run", "w.sdf", "--max-outstanding-bytes", "0"],
            "'--max-outstanding-bytes <BYTES>': 0 is out of range: 1 to ",
        ),
        (&["run", "w.sdf", "--max-buffered-bytes", "-5"], "'--max-buffered-bytes <BYTES>': -5 is out of range: 1 to "),
        (&["call", "help", "--timeout", "-1"], "'--timeout <SECONDS>': -1 s is out of range: above 0, at most 1000000"),
        (&["run", "w.sdf", "--seed", "x"], "'x' is not a whole number"),
        (&["run", "w.sdf", "--threads", "0"], "0 is out of range: 1 to 256 threads"),
        (&["run", "w.sdf", "--plugin-start-timeout", "-3"], "-3 s is out of range: above 0, at most"),
        (&["run", "w.sdf", "--drain-timeout", "inf"], "inf s is out of range"),
        (&["check"], "<FILE>"),
        (&["plugin", "info"], "<NAME|PATH>"),
    ];
    for (args, text) in cases {
        let exit = tickworks(args);
        assert_eq!((exit.code, exit.stdout.as_str()), (Some(2), ""), "{args:?}: {exit:?}");
        assert!(exit.stderr.contains(text), "{args:?}: expected {text:?} in {exit:?}");
    }
}

/// Options that are well-formed and still cannot work are errors of the run.
#[test]
fn addresses_and_tokens_that_do_not_work_are_named() {
    let run = |args: &[&str]| {
        let empty = world("empty.sdf");
        tickworks(["run", empty.to_str().unwrap()].iter().chain(args))
    };
    for (args, text) in [
        (&["--listen", "nonsense"][..], "tickworks: --listen nonsense: "),
        (&["--listen", "127.0.0.1:70000"], "tickworks: --listen 127.0.0.1:70000: "),
        (&["--listen", "192.0.2.1:1234"], "tickworks: cannot listen on 192.0.2.1:1234: "),
        (&["--token-file", "/no/such/token"], "tickworks: --token-file /no/such/token: "),
    ] {
        let exit = run(args);
        assert_eq!((exit.code, exit.stdout.as_str()), (Some(1), ""), "{exit:?}");
        assert!(exit.stderr.contains(text) && exit.stderr.lines().count() == 1, "{text}: {exit:?}");
    }
}

/// The main job, as the README begins.
#[test]
fn a_run_says_where_it_listens_how_fast_it_ticks_and_who_is_there() {
    let host = Host::start("arena.sdf", &["manual_move", "trajectory_mission", "race"], &[]);
    let line = host.process().line(|line| line.starts_with("  plugins:"));
    assert_eq!(line, "  plugins: manual_move, trajectory_mission, race");
    let stdout = host.process().stdout();
    let lines: Vec<_> = stdout.lines().collect();
    for name in ["manual_move", "trajectory_mission", "race"] {
        let place =
            |start: &str| lines.iter().position(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{stdout}"));
        assert!(place(&format!("plugin {name}: starting (")) < place(&format!("plugin {name} 0.1.0: started in ")));
    }
    let at = lines.iter().position(|line| line.starts_with("world ")).unwrap();
    assert_eq!(
        lines[at],
        format!("world arena: listening on {}, 60 Hz in real time, 5 physics steps a tick", host.addr())
    );
    assert!(lines[at + 1].starts_with("  robots:  ") && lines[at + 1].matches("UAVLevel1").count() == 2, "{stdout}");
    assert!(lines[at + 1].contains("UAVLevel2"), "{stdout}");
    assert!(lines[at - 1].ends_with("(3/3)"), "{stdout}");
    let exit = host.stop();
    assert_eq!((exit.code, exit.stderr.as_str()), (Some(0), ""));
}

/// A world of thousands of robots is one line as well.
#[test]
fn of_many_robots_the_first_ten_are_named() {
    let scratch = Scratch::new();
    let mut robots = String::new();
    for n in 1..30 {
        robots += &format!(
            "<model name='uav{n}'><tw:robot type='UAVLevel1' max_velocities='1 1 1 1 1 1'/><pose>{n} 0 1 0 0 0</pose>\
             <link name='body'/></model>"
        );
    }
    let exit = tickworks(Host::args(scratch.world(&robots), &[], &["--ticks", "1", "--fast"]));
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let line = exit.stdout.lines().find(|line| line.starts_with("  robots:  ")).unwrap();
    assert!(line.contains("uav0 (UAVLevel1), uav1 (UAVLevel1), "), "{line}");
    assert!(line.ends_with(", uav9 (UAVLevel1), and 20 more"), "{line}");
}

/// One that is asked for by name may be found elsewhere; that its directory is not there is worth a line.
#[test]
fn a_plugin_dir_that_is_none_is_warned_of_once() {
    let scratch = Scratch::new();
    let file = scratch.write("file", "");
    let missing = scratch.path().join("missing");
    for (dir, what) in [(&file, "is no directory"), (&missing, "does not exist")] {
        let dir = dir.to_str().unwrap();
        let run = Host::args("empty.sdf", &["manual_move"], &["--plugin-dir", dir, "--ticks", "1", "--fast"]);
        let info = ["plugin", "info", "manual_move", "--plugin-dir", dir].map(OsString::from).to_vec();
        let list = ["plugin", "list", "--plugin-dir", dir].map(OsString::from).to_vec();
        for args in [run, info, list] {
            let exit = tickworks(&args);
            assert!(exit.stderr.contains(&format!("--plugin-dir {dir} {what}: ")), "{args:?}: {exit:?}");
            assert_eq!(exit.stderr.lines().count(), 1, "{args:?}: {exit:?}");
        }
    }
}

/// Without a list it is the one that moves robots by hand; an empty list is none.
#[test]
fn plugins_default_to_manual_move() {
    let empty = world("empty.sdf");
    let run = |args: &[&str]| {
        let fixed = ["run", empty.to_str().unwrap(), "--listen", "127.0.0.1:0", "--fast", "--ticks", "3"];
        let exit = tickworks(fixed.iter().chain(args));
        assert_eq!((exit.code, exit.stderr.as_str()), (Some(0), ""), "{exit:?}");
        assert!(exit.stdout.contains("\nended at tick 3, simulated time 0.050 s, state hash "), "{exit:?}");
        exit.stdout
    };
    assert!(run(&[]).contains("\n  plugins: manual_move\n"));
    assert!(run(&["--plugins"]).contains("\n  plugins: none\n"));
}
