//! Plugins that cannot be loaded, through `run`, `plugin info` and `plugin list`: one sentence each, with the path, what
//! was expected and what was found.

use std::path::{Path, PathBuf};
use tickworks_tests::{Exit, Host, Process, Scratch, bin_dir, compile_as, plugin, tickworks, workspace};

/// Runs a world with this plugin and no other; it must not come to run.
fn run(plugin: &str) -> Exit {
    let exit = tickworks(Host::args("empty.sdf", &[plugin], &[]));
    assert_eq!((exit.code, exit.signal), (Some(1), None), "{exit:?}");
    assert!(!exit.stdout.contains("listening on"), "{exit:?}");
    exit
}

fn info(plugin: &str) -> Exit {
    tickworks(["plugin", "info", plugin])
}

/// The same refusal from `run` and from `plugin info`, for a file.
#[track_caller]
fn assert_refused(path: &Path, text: &str) {
    let name = path.to_str().unwrap();
    let refusal = format!("plugin {}: {text}", path.canonicalize().unwrap_or(path.into()).display());
    assert_eq!(
        run(name).stderr,
        format!("tickworks: 0 of 1 plugins started (--keep-going runs without the others)\n  {name}: {refusal}\n")
    );
    let exit = info(name);
    assert_eq!((exit.code, exit.stdout.as_str(), exit.stderr), (Some(1), "", format!("tickworks: {refusal}\n")));
}

/// Compiles one of `tests/bad-plugins` under another name.
fn bad(scratch: &Scratch, name: &str, source: &str, defines: &[(&str, &str)]) -> PathBuf {
    compile_as(name, format!("bad-plugins/{source}.c"), defines, scratch.path())
}

#[test]
fn a_name_that_is_not_found_lists_where_it_was_looked_for_and_what_is_near() {
    let scratch = Scratch::new();
    let missing = scratch.path().join("missing");
    let user = scratch.path().join(".local/share/tickworks/plugins");
    let variable = scratch.path().join("of-variable");
    std::fs::create_dir(&variable).unwrap();
    let search = |args: &[&str]| {
        Process::start_with(args, |command| {
            command.env("TICKWORKS_PLUGIN_PATH", &variable).env("HOME", scratch.path());
        })
        .wait()
    };
    let searched = format!(
        "was not found in {} (does not exist), {}, {}, {} (does not exist)",
        missing.display(),
        variable.display(),
        bin_dir().display(),
        user.display()
    );
    let refusal = format!("plugin \"race2\" {searched}; did you mean \"race\"?");
    let dir = missing.to_str().unwrap();
    let exit = search(&["plugin", "info", "race2", "--plugin-dir", dir]);
    assert!(exit.code == Some(1) && exit.stderr.ends_with(&format!("\ntickworks: {refusal}\n")), "{exit:?}");
    let world = workspace().join("worlds/empty.sdf");
    let exit =
        search(&["run", world.to_str().unwrap(), "--listen", "127.0.0.1:0", "--plugins", "race2", "--plugin-dir", dir]);
    assert_eq!(exit.code, Some(1));
    let said =
        format!("\ntickworks: 0 of 1 plugins started (--keep-going runs without the others)\n  race2: {refusal}\n");
    assert!(exit.stderr.ends_with(&said), "{exit:?}");
    // Nothing is near to this one: then all are named.
    let exit = search(&["plugin", "info", "zzzzzzzz"]);
    assert!(exit.stderr.contains("; there are ") && exit.stderr.contains("\"race\""), "{exit:?}");
}

/// It does not run on without what was asked for, unless that was asked for as well.
#[test]
fn a_run_without_its_plugin_is_no_run_but_with_keep_going() {
    assert!(run("no_such_plugin").stderr.contains("plugin \"no_such_plugin\" was not found in "));
    let host = Host::start("empty.sdf", &["no_such_plugin", "manual_move"], &["--keep-going"]);
    host.process()
        .line(|line| line.starts_with("plugin no_such_plugin: failed: plugin \"no_such_plugin\" was not found"));
    host.process().line(|line| line == "  plugins: manual_move");
}

#[test]
fn a_path_where_nothing_is() {
    let scratch = Scratch::new();
    assert_refused(&scratch.path().join("libnothing.so"), "there is no such file");
}

#[test]
fn what_is_no_shared_object() {
    let scratch = Scratch::new();
    let text = scratch.write("libtext.so", "not a library\n");
    assert_refused(&text, "not a shared object: expected it to begin with 7f 45 4c 46 (ELF), found 6e 6f 74 20");
    let empty = scratch.write("libempty.so", "");
    assert_refused(
        &empty,
        "not a shared object: expected it to begin with 7f 45 4c 46 (ELF), found nothing: the file is empty",
    );
    assert_refused(scratch.path(), "expected a shared object, found what is no regular file");
}

/// Mapped as it says that it is, a file that was cut would end the process with SIGBUS.
#[test]
fn a_file_that_was_cut() {
    let scratch = Scratch::new();
    let bytes = std::fs::read(bad(&scratch, "whole", "id", &[("ID", "\"whole\"")])).unwrap();
    for tenth in 1..10 {
        let length = bytes.len() * tenth / 10;
        let cut = scratch.write("libcut.so", &bytes[..length]);
        let exit = info(cut.to_str().unwrap());
        assert_eq!(exit.code, Some(1), "{length}: {exit:?}");
        let start = format!("tickworks: plugin {}: truncated: the file has {length} bytes, ", cut.display());
        assert!(exit.stderr.starts_with(&start), "{length}: {exit:?}");
    }
    let cut = scratch.write("libcut.so", &bytes[..bytes.len() - 1]);
    assert_refused(
        &cut,
        &format!(
            "truncated: the file has {} bytes, its list of sections ends at byte {}",
            bytes.len() - 1,
            bytes.len()
        ),
    );
}

#[test]
fn a_library_that_is_no_plugin() {
    let scratch = Scratch::new();
    assert_refused(
        &bad(&scratch, "no_entry", "no_entry", &[]),
        "it is no Tickworks plugin: expected the symbol tw_plugin_entry (or abi_stable's root module), found neither",
    );
}

/// Both versions are shown, and both sizes.
#[test]
fn one_for_another_version() {
    let scratch = Scratch::new();
    let bad = |name: &str, defines: &[(&str, &str)]| bad(&scratch, name, name, defines);
    assert_refused(&bad("wrong_major", &[]), "expected a plugin for ABI 1.0, found one for 2.7");
    assert_refused(
        &bad("null_table", &[]),
        "expected a table from tw_plugin_entry(1, 0), found NULL: it does not work with this host",
    );
    let path = bad("table_size", &[("SIZE", "16")]);
    let exit = info(path.to_str().unwrap());
    assert!(exit.stderr.contains(": expected a table of "), "{exit:?}");
    assert!(exit.stderr.ends_with(" to 4096 bytes, a multiple of 8, found struct_size 16\n"), "{exit:?}");
}

#[test]
fn a_table_with_a_hole() {
    let scratch = Scratch::new();
    for slot in ["describe", "create", "destroy", "on_message"] {
        assert_refused(
            &bad(&scratch, slot, "null_slot", &[("SLOT", slot)]),
            &format!("expected a function in the slot {slot}, found NULL"),
        );
    }
}

#[test]
fn an_id_that_is_none() {
    let scratch = Scratch::new();
    let wanted = "expected an id of 1 to 64 of a-z, 0-9, '.', '_' and '-', found";
    assert_refused(&bad(&scratch, "big", "id", &[("ID", "\"Race\"")]), &format!("{wanted} \"Race\""));
    assert_refused(&bad(&scratch, "none", "id", &[("ID", "\"\"")]), &format!("{wanted} \"\""));
    assert_refused(&bad(&scratch, "null", "null_id", &[]), &format!("{wanted} NULL"));
}

#[test]
fn two_files_with_one_id() {
    let scratch = Scratch::new();
    let [first, second] = ["first", "second"].map(|name| bad(&scratch, name, "id", &[("ID", "\"twin\"")]));
    let (first, second) = (first.to_str().unwrap(), second.to_str().unwrap());
    let refusal = format!(
        "{second}: plugin {second}: expected an id that no other plugin has, found \"twin\", the id of {first}\n"
    );
    let exit = tickworks(Host::args("empty.sdf", &[first, second], &[]));
    assert_eq!(exit.code, Some(1));
    let said = format!("tickworks: 1 of 2 plugins started (--keep-going runs without the others)\n  {refusal}");
    assert_eq!(exit.stderr, said);
    // Each alone is fine.
    let host = Host::start("empty.sdf", &[first, second], &["--keep-going"]);
    host.process().line(|line| line == "  plugins: twin");
}

#[test]
fn two_instances_of_one_name() {
    let scratch = Scratch::new();
    let twin = bad(&scratch, "twin", "id", &[("ID", "\"twin\"")]);
    let twin = twin.to_str().unwrap();
    let exit = tickworks(Host::args("empty.sdf", &[twin, twin], &[]));
    assert_eq!(exit.code, Some(1));
    let refusal = format!("  twin: plugin {twin}: expected a name that no other instance has, found \"twin\" again\n");
    assert!(exit.stderr.ends_with(&refusal), "{exit:?}");
}

#[test]
fn a_table_that_is_laid_out_differently_names_the_field() {
    assert_refused(
        &plugin("bad_layout"),
        "its table is laid out differently: on_tick.param_1: mismatched type: expected *const World, found u64",
    );
}

/// Found when it is loaded, and not by the first call in the middle of a run.
#[test]
fn an_undefined_symbol_is_named_at_load() {
    let scratch = Scratch::new();
    assert_refused(
        &bad(&scratch, "undefined", "undefined_symbol", &[]),
        "it cannot be loaded: undefined symbol: a_function_that_nobody_has",
    );
}

#[test]
fn a_manifest_that_cannot_be_read() {
    let scratch = Scratch::new();
    assert_refused(&bad(&scratch, "dog", "manifest", &[]), "describe failed: the dog ate it");
}

#[test]
fn the_list_tells_the_good_from_the_bad() {
    let scratch = Scratch::new();
    bad(&scratch, "a_good", "id", &[("ID", "\"good\"")]);
    let major = bad(&scratch, "b_major", "wrong_major", &[]);
    let undefined = bad(&scratch, "c_undefined", "undefined_symbol", &[]);
    // What exports no door is some other library, and what is no library is some other file.
    bad(&scratch, "d_other", "no_entry", &[]);
    scratch.write("libe_text.so", "text");
    let exit = tickworks(["plugin", "list", "--plugin-dir", scratch.path().to_str().unwrap()]);
    assert_eq!(exit.code, Some(1), "one that is refused is a reason: {exit:?}");
    assert_eq!(exit.stderr, "");
    let lines: Vec<_> = exit.stdout.lines().collect();
    assert!(lines[0].starts_with("good ") && lines[0].contains(" 1.0.0 ") && lines[0].contains("Bad."), "{lines:?}");
    let refused = [
        format!("refused: plugin {}: expected a plugin for ABI 1.0, found one for 2.7", major.display()),
        format!(
            "refused: plugin {}: it cannot be loaded: undefined symbol: a_function_that_nobody_has",
            undefined.display()
        ),
    ];
    assert!(lines[1].starts_with("b_major ") && lines[1].ends_with(&refused[0]), "{lines:?}");
    assert!(lines[2].starts_with("c_undefined ") && lines[2].ends_with(&refused[1]), "{lines:?}");
    // Then those beside the program.
    for name in ["manual_move", "race", "trajectory_mission"] {
        assert!(lines[3..].iter().any(|line| line.starts_with(name)), "{lines:?}");
    }
}

#[test]
fn info_is_what_the_plugin_says_of_itself() {
    let exit = info("manual_move");
    assert_eq!((exit.code, exit.stderr.as_str()), (Some(0), ""));
    let lines: Vec<_> = exit.stdout.lines().collect();
    assert!(lines[0].starts_with("manual_move 0.1.0: "), "{lines:?}");
    assert_eq!(lines[1], format!("  file:  {}", plugin("manual_move").display()));
    assert_eq!(lines[2], "  ABI:   1.0, by the Rust (abi_stable) door");
    assert!(lines.contains(&"  commands:") && lines.iter().any(|line| line.starts_with("    move  ")), "{lines:?}");

    let exit = tickworks(["plugin", "info", "manual_move", "--json"]);
    let manifest: serde_json::Value = serde_json::from_str(&exit.stdout).unwrap();
    assert_eq!(manifest["endpoints"][0]["name"], "move");
    assert!(manifest["endpoints"][0]["request"]["properties"]["control_input"].is_object(), "{manifest}");
}

/// The user's own directory is the last one that is looked into.
#[test]
fn a_plugin_in_the_users_directory_is_found_by_name() {
    let scratch = Scratch::new();
    let dir = scratch.path().join(".local/share/tickworks/plugins");
    std::fs::create_dir_all(&dir).unwrap();
    compile_as("mine", "bad-plugins/id.c", &[("ID", "\"mine\"")], &dir);
    let exit = Process::start_with(["plugin", "info", "mine"], |command| {
        command.env("HOME", scratch.path());
    })
    .wait();
    assert_eq!(exit.code, Some(0), "{exit:?}");
    assert!(exit.stdout.contains(dir.to_str().unwrap()), "{exit:?}");
}
