//! `tickworks check`: what is wrong with a file, where, and what would be right.

use serde_json::{Value, json};
use tickworks_tests::{Exit, Process, Scratch, tickworks, world};

fn check(args: &[&str]) -> Exit {
    tickworks(["check"].iter().chain(args))
}

#[test]
fn the_worlds_that_ship_are_all_right() {
    for name in ["empty.sdf", "arena.sdf", "race.sdf", "ground.sdf"] {
        let path = world(name);
        let exit = check(&["--strict", path.to_str().unwrap()]);
        assert_eq!((exit.code, exit.stderr.as_str()), (Some(0), ""), "{exit:?}");
        let start = format!("{}: all right (world '", path.display());
        assert!(exit.stdout.starts_with(&start) && exit.stdout.lines().count() == 1, "{exit:?}");
    }
}

const BAD: &str = "<?xml version=\"1.0\"?>
<sdf version=\"1.11\">
  <world name=\"bad\">
    <gravity>0 0</gravity>
    <model name=\"a\">
      <pose>0 0 1 0 0</pose>
      <link name=\"l\">
        <colision name=\"c\"/>
        <inertial><mass>heavy</mass></inertial>
      </link>
    </model>
    <model name=\"a\"><link name=\"l\"/></model>
  </world>
</sdf>
";

#[test]
fn all_that_is_wrong_is_said_at_once_with_its_places() {
    let scratch = Scratch::new();
    let path = scratch.write("bad.sdf", BAD);
    let path = path.to_str().unwrap();
    let exit = check(&[path]);
    assert_eq!((exit.code, exit.stderr.as_str()), (Some(1), ""), "{exit:?}");
    for place in ["4:14", "6:13", "9:25", "12:5"] {
        assert!(exit.stdout.contains(&format!("  --> {path}:{place}\n")), "{place}: {}", exit.stdout);
    }
    // The line itself, and a mark below what is meant.
    assert!(exit.stdout.contains("  4 |     <gravity>0 0</gravity>\n    |              ^^^\n"), "{}", exit.stdout);
    // A warning beside the errors, with what was probably meant.
    assert!(exit.stdout.contains(&format!("  --> {path}:8:9\n")) && exit.stdout.contains("collision"), "{exit:?}");
    let last = exit.stdout.lines().last().unwrap();
    assert_eq!(last, format!("{path}: 4 errors, 1 warning (world 'bad', 2 models)"));
}

#[test]
fn the_same_as_json() {
    let scratch = Scratch::new();
    let path = scratch.write("bad.sdf", BAD);
    let exit = check(&["--json", path.to_str().unwrap()]);
    assert_eq!(exit.code, Some(1));
    let document: Value = serde_json::from_str(&exit.stdout).unwrap();
    let errors = document["errors"].as_array().unwrap();
    assert_eq!((errors.len(), document["warnings"].as_array().unwrap().len()), (4, 1), "{document}");
    assert_eq!(document["built"], json!(false));
    for error in errors {
        assert!(error["message"].is_string() && error["code"].is_string(), "{error}");
        assert_eq!(error["file"], path.to_str().unwrap(), "{error}");
        assert!(error["line"].as_u64() > Some(1) && error["column"].as_u64() > Some(1), "{error}");
    }
    let good = world("arena.sdf");
    let exit = check(&["--json", good.to_str().unwrap()]);
    let document: Value = serde_json::from_str(&exit.stdout).unwrap();
    assert_eq!((exit.code, &document["errors"], &document["built"]), (Some(0), &json!([]), &json!(true)));
}

#[test]
fn a_warning_is_an_error_when_it_is_asked_to_be() {
    let scratch = Scratch::new();
    let path = scratch.world("<model name='m'><link name='l'><colour>red</colour></link></model>");
    let path = path.to_str().unwrap();
    let exit = check(&[path]);
    assert_eq!(exit.code, Some(0), "{exit:?}");
    assert!(exit.stdout.contains(": 1 warning (world 'scratch', 3 models)"), "{exit:?}");
    let strict = check(&["--strict", path]);
    assert_eq!(strict.code, Some(1));
    assert!(!strict.stdout.contains("warning"), "{strict:?}");
    let strict: serde_json::Value = serde_json::from_str(&check(&["--strict", "--json", path]).stdout).unwrap();
    assert!(strict["warnings"] == serde_json::json!([]) && strict["errors"] != strict["warnings"], "{strict}");
}

#[test]
fn one_bad_file_does_not_hide_the_next_one() {
    let scratch = Scratch::new();
    let bad = scratch.write("bad.sdf", "<sdf version='1.11'><world>");
    let good = world("empty.sdf");
    let missing = scratch.path().join("missing.sdf");
    let files = [&bad, &missing, &good].map(|path| path.to_str().unwrap());
    let exit = check(&files);
    assert_eq!(exit.code, Some(1), "{exit:?}");
    assert!(exit.stdout.contains(&format!("cannot read {}: No such file", missing.display())), "{exit:?}");
    assert!(exit.stdout.contains(&format!("{}: all right", good.display())), "{exit:?}");
    for file in &files[..2] {
        assert!(exit.stdout.lines().any(|line| line.starts_with(&format!("{file}: 1 error"))), "{exit:?}");
    }
}

/// What only shows when a world is built from a file is found as well.
#[test]
fn a_robot_without_its_wheels_is_an_error() {
    let scratch = Scratch::new();
    let path = scratch.world(
        "<model name='cart'><tw:robot type='DiffDrive' left_joint='left' right_joint='right'/><link name='l'/></model>",
    );
    let exit = check(&[path.to_str().unwrap()]);
    assert_eq!(exit.code, Some(1), "{exit:?}");
    assert!(exit.stdout.contains("left") && exit.stdout.contains("scratch.sdf:"), "{exit:?}");
}

/// `tickworks check … | head -1`
#[test]
fn a_reader_that_goes_is_no_reason_to_complain() {
    let scratch = Scratch::new();
    let path = scratch.write("bad.sdf", BAD);
    for args in [&["check", path.to_str().unwrap()][..], &["plugin", "list"], &["plugin", "info", "race", "--json"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let exit = Process::start_with(args, |command| {
            command.stdout(writer);
        })
        .wait();
        assert_eq!(exit.stderr, "", "{args:?}");
        assert_eq!(exit.signal, None, "{args:?}");
    }
}

#[test]
fn the_tree_of_frames_as_text_and_for_graphviz() {
    let scratch = Scratch::new();
    let path = scratch.write(
        "frames.sdf",
        "<sdf version=\"1.11\"><model name=\"m\"><link name=\"base\"/>\
         <frame name=\"mount\" attached_to=\"base\"><pose>0 0 1 0 0 0</pose></frame>\
         <link name=\"camera\"><pose relative_to=\"mount\">0 0 1 0 0 0</pose></link></model></sdf>",
    );
    let exit = check(&["--graph", path.to_str().unwrap()]);
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let tree = "model m\n  link base  [0 0 0 0 0 0]\n    frame mount  [0 0 1 0 0 0]  on base\n      link camera  [0 0 1 0 0 0]\n";
    assert!(exit.stdout.starts_with(tree), "{exit:?}");
    let exit = check(&["--graph=dot", path.to_str().unwrap()]);
    assert!(exit.stdout.starts_with("digraph"), "{exit:?}");
    assert!(exit.stdout.contains("mount") && exit.stdout.contains("->"), "{exit:?}");
}

#[test]
fn a_uri_is_looked_up_in_places_that_are_shown() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.path().join("models/crate")).unwrap();
    scratch.write("models/crate/model.config", "<model><sdf version=\"1.7\">model.sdf</sdf></model>");
    scratch
        .write("models/crate/model.sdf", "<sdf version=\"1.7\"><model name=\"crate\"><link name=\"l\"/></model></sdf>");
    let dir = scratch.path().join("models");
    let dir = dir.to_str().unwrap();
    let found = tickworks(["resolve", "model://crate", "--model-path", "/nowhere/at/all", "--model-path", dir]);
    assert_eq!(found.code, Some(0), "{found:?}");
    assert!(found.stdout.contains("not there /nowhere/at/all/crate\n"), "{found:?}");
    assert!(found.stdout.ends_with(&format!("found     {dir}/crate\n")), "{found:?}");
    let missing = tickworks(["resolve", "model://crates", "--model-path", dir]);
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.stdout.contains(&format!("not there {dir}/crates\n")), "{missing:?}");
}

#[test]
fn a_file_is_written_flat_and_reads_as_the_same() {
    let scratch = Scratch::new();
    let (out, again) = (scratch.path().join("flat.sdf"), scratch.path().join("again.sdf"));
    let (out, again) = (out.to_str().unwrap(), again.to_str().unwrap());
    let ground = world("ground.sdf");
    let exit = tickworks(["convert", ground.to_str().unwrap(), "-o", out]);
    assert_eq!((exit.code, exit.stderr.as_str()), (Some(0), ""), "{exit:?}");
    let exit = tickworks(["convert", out, "-o", again]);
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let read = |path: &str| serde_json::from_str::<Value>(&check(&["--json", path]).stdout).unwrap();
    let (original, flat, twice) = (read(ground.to_str().unwrap()), read(out), read(again));
    for other in [&flat, &twice] {
        assert!(near(&original["worlds"][0]["models"], &other["worlds"][0]["models"]));
    }
    let first = std::fs::read_to_string(out).unwrap();
    assert!(first.contains("xmlns:tw=\"https://tickworks.dev/sdf\""), "the robots' elements have their namespace");
    let exit = tickworks(["convert", ground.to_str().unwrap(), "-o", out]);
    assert_eq!(exit.code, Some(1), "{exit:?}");
    assert_eq!(exit.stderr, format!("tickworks: {out} exists already; --overwrite replaces it\n"));
    let bad = scratch.write("bad.sdf", BAD);
    let exit = tickworks(["convert", bad.to_str().unwrap()]);
    assert_eq!((exit.code, exit.stdout.as_str()), (Some(1), ""), "{exit:?}");
    assert!(exit.stderr.contains("bad.sdf:4:14: error"), "{exit:?}");
}

/// Whether two documents say the same, but for the last digits of numbers.
fn near(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-6,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| near(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| near(a, b)))
        }
        _ => a == b,
    }
}

#[test]
fn a_file_is_replaced_only_when_asked_and_only_if_it_is_one() {
    let scratch = Scratch::new();
    let file = world("empty.sdf");
    let convert = |output: &std::path::Path, more: &[&str]| {
        tickworks(["convert", file.to_str().unwrap(), "-o", output.to_str().unwrap()].iter().chain(more))
    };
    let out = scratch.path().join("out.sdf");
    assert_eq!(convert(&out, &[]).code, Some(0));
    let exit = convert(&out, &[]);
    assert!(exit.code == Some(1) && exit.stderr.contains("exists already; --overwrite replaces it"), "{exit:?}");
    let link = scratch.path().join("link.sdf");
    std::os::unix::fs::symlink(&out, &link).unwrap();
    std::fs::write(&out, "old").unwrap();
    assert_eq!(convert(&link, &["--overwrite"]).code, Some(0));
    assert!(link.is_symlink() && std::fs::read_to_string(&out).unwrap().contains("<sdf"));
    // A device, a socket or a directory of that name is not a file to be replaced.
    let socket = scratch.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let exit = convert(&socket, &["--overwrite"]);
    assert!(exit.code == Some(1) && exit.stderr.contains("it is no regular file"), "{exit:?}");
    let nowhere = convert(std::path::Path::new("/nonexistent/out.sdf"), &[]);
    assert!(nowhere.stderr.contains("cannot write /nonexistent/out.sdf: No such file"), "{nowhere:?}");
    assert!(!nowhere.stderr.contains("tickworks-new"), "{nowhere:?}");
}

#[test]
fn what_only_shows_when_it_is_built_is_said_as_well() {
    let scratch = Scratch::new();
    let two = scratch.write("two.sdf", "<sdf version='1.11'><world name='a'/><world name='b'/></sdf>");
    let exit = check(&["--strict", two.to_str().unwrap()]);
    assert!(
        exit.code == Some(1) && exit.stdout.contains("the file has 2 worlds: the first, 'a', is the one that runs"),
        "{exit:?}"
    );
    let fine = scratch.write(
        "fine.sdf",
        "<sdf version='1.11'><world name='a'><physics name='p' type='x'><max_step_size>1e-12</max_step_size></physics></world></sdf>",
    );
    let exit = check(&[fine.to_str().unwrap()]);
    assert!(
        exit.code == Some(1) && exit.stdout.contains("max_step_size is 1e-12 s, so that a tick at 60 Hz has"),
        "{exit:?}"
    );
    let stiff =
        scratch.world("<model name='m'><link name='l'/><tw:robot type='UAVLevel2' drag_coefficient='1e9'/></model>");
    let exit = check(&[stiff.to_str().unwrap()]);
    assert!(
        exit.stdout.contains("the drag coefficient is 1000000000.0 1/s, but at 60 ticks a second must be at most 120"),
        "{exit:?}"
    );
    let pipe = scratch.path().join("pipe.sdf");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let include = scratch.world(&format!("<include><uri>{}</uri></include>", pipe.display()));
    let exit = check(&[include.to_str().unwrap()]);
    assert!(exit.code == Some(1) && exit.stdout.contains("it is no regular file"), "{exit:?}");
}

#[test]
fn strict_makes_errors_of_warnings_everywhere() {
    let scratch = Scratch::new();
    let path = scratch.write("w.sdf", "<sdf version=\"1.11\"><world name=\"w\"><gravty/></world></sdf>");
    let path = path.to_str().unwrap();
    let exit = check(&["--strict", "--json", path]);
    assert_eq!(exit.code, Some(1), "{exit:?}");
    let document: Value = serde_json::from_str(&exit.stdout).unwrap();
    assert_eq!(document["errors"].as_array().map(Vec::len), Some(1), "{document}");
    assert_eq!(document["warnings"], json!([]), "{document}");
    let exit = check(&["--strict", path]);
    assert!(exit.stdout.starts_with("error[") && exit.stdout.contains(": 1 error (world 'w'"), "{exit:?}");
}

#[test]
fn findings_that_are_not_listed_are_counted() {
    let scratch = Scratch::new();
    let text = |what: &str| format!("<sdf version=\"1.11\"><world name=\"w\">{}</world></sdf>", what.repeat(10_000));
    let path = scratch.write("w.sdf", text("<gravty/>"));
    let exit = check(&[path.to_str().unwrap()]);
    assert!(exit.stdout.contains("9000 more warnings are not listed"), "{}", exit.stdout.len());
    assert!(exit.stdout.contains(": 10000 warnings (world"), "{:?}", exit.stdout.lines().last());
    let path = scratch.write("e.sdf", text("<gravty/><light name=\"a\" type=\"point\"><pose>x</pose></light>"));
    let exit = check(&[path.to_str().unwrap()]);
    assert_eq!(exit.code, Some(1));
    assert!(exit.stdout.contains("more errors are not listed"), "{:?}", exit.stdout.lines().last());
}
