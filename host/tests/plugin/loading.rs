//! What is refused, and in which words: one sentence each, with path, expected and found.

use crate::support::{ask, built, compile, error_of, fields_of, running, spec, start_failure};
use std::path::Path;
use tickworks::plugin::{Door, Library, LoadError, LoadErrorKind, PluginSpec, Search};

/// The refusal of a file, without the path that it must begin with.
fn refusal(path: &Path) -> (LoadErrorKind, String) {
    let error = Library::load(path).expect_err("it should be refused");
    (error.kind(), without_path(&error, path))
}

fn without_path(error: &LoadError, path: &Path) -> String {
    let text = error.to_string();
    assert!(!text.contains('\n'), "one line: {text}");
    text.strip_prefix(&format!("plugin {}: ", path.display())).unwrap_or_else(|| panic!("no path: {text}")).to_owned()
}

#[test]
fn a_rust_plugin_comes_through_the_first_door() {
    let library = Library::load(&built("stress")).unwrap();
    assert_eq!((library.id(), library.version()), ("stress", env!("CARGO_PKG_VERSION")));
    assert_eq!(library.door(), Door::Rust);
    assert_eq!(library.abi(), (1, 0));
    let endpoints: Vec<_> = library.manifest().endpoints.iter().map(|endpoint| endpoint.name.as_str()).collect();
    assert!(endpoints.contains(&"stress_echo") && endpoints.contains(&"stress_calls"), "{endpoints:?}");
}

#[test]
fn a_c_plugin_comes_through_the_second_door() {
    let library = Library::load(&compile("c-plugins/nudge.c", &[])).unwrap();
    assert_eq!((library.id(), library.door()), ("nudge", Door::C));
    assert_eq!(library.manifest().summary, "Nudges robots forward.");
}

#[test]
fn a_missing_file_is_looked_for_by_its_nearest_names() {
    let stress = built("stress");
    let dir = stress.parent().unwrap().to_path_buf();
    let search = Search::in_dirs(vec![dir.clone(), "/no/such/dir".into()]);
    let error = search.resolve("stres").unwrap_err();
    assert_eq!(error.kind(), LoadErrorKind::NotFound);
    let text = error.to_string();
    let start = format!(
        "plugin \"stres\" was not found in {}, /no/such/dir (does not exist); did you mean \"stress\"",
        dir.display()
    );
    assert!(text.starts_with(&start), "{text}");
    let error = Library::load(Path::new("/no/such.so")).unwrap_err();
    assert_eq!(error.kind(), LoadErrorKind::NotFound);
}

#[test]
fn candidates_are_what_exports_a_door() {
    let nudge = compile("c-plugins/nudge.c", &[]);
    let dir = nudge.parent().unwrap();
    std::fs::copy(compile("bad-plugins/no_entry.c", &[]), dir.join("libno_entry.so")).unwrap();
    std::fs::write(dir.join("libtext.so"), "text").unwrap();
    let candidates = Search::in_dirs(vec![dir.to_path_buf()]).candidates();
    assert_eq!(candidates, [("nudge".to_owned(), nudge.clone())]);
}

#[test]
fn what_is_no_shared_object_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("libtext.so");
    std::fs::write(&text, "not a library\n").unwrap();
    assert_eq!(
        refusal(&text),
        (
            LoadErrorKind::NotElf,
            "not a shared object: expected it to begin with 7f 45 4c 46 (ELF), found 6e 6f 74 20".into()
        )
    );
    assert_eq!(refusal(dir.path()).0, LoadErrorKind::NotElf);
}

#[test]
fn a_file_that_was_cut_anywhere_is_refused() {
    for whole in [built("stress"), compile("c-plugins/nudge.c", &[])] {
        let bytes = std::fs::read(&whole).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let cut = dir.path().join("libcut.so");
        // The last one lacks a single byte.
        let lengths = (0..10).map(|tenth| bytes.len() * tenth / 10).chain([4, 63, 64, 4096, bytes.len() - 1]);
        for length in lengths {
            std::fs::write(&cut, &bytes[..length]).unwrap();
            let (kind, text) = refusal(&cut);
            let expected = if length == 0 { LoadErrorKind::NotElf } else { LoadErrorKind::Truncated };
            assert_eq!(kind, expected, "{length} bytes: {text}");
        }
        std::fs::write(&cut, &bytes).unwrap();
        assert!(Library::load(&cut).is_ok());
    }
}

#[test]
fn a_library_without_a_door_is_refused() {
    let (kind, text) = refusal(&compile("bad-plugins/no_entry.c", &[]));
    assert_eq!(kind, LoadErrorKind::NoEntry);
    assert_eq!(
        text,
        "it is no Tickworks plugin: expected the symbol tw_plugin_entry (or abi_stable's root module), found neither"
    );
}

#[test]
fn another_major_version_is_refused() {
    assert_eq!(
        refusal(&compile("bad-plugins/wrong_major.c", &[])),
        (LoadErrorKind::Major, "expected a plugin for ABI 1.0, found one for 2.7".into())
    );
    assert_eq!(
        refusal(&compile("bad-plugins/null_table.c", &[])),
        (
            LoadErrorKind::Major,
            "expected a table from tw_plugin_entry(1, 0), found NULL: it does not work with this host".into()
        )
    );
}

#[test]
fn a_table_of_an_odd_size_is_refused() {
    let own = size_of::<tickworks_plugin_api::abi::PluginTable>();
    for size in ["0", "8", "sizeof table - 8", "sizeof table + 4", "4104", "0xcccccccc"] {
        let (kind, text) = refusal(&compile("bad-plugins/table_size.c", &[("SIZE", size)]));
        assert_eq!(kind, LoadErrorKind::Size, "{size}");
        let start = format!("expected a table of {own} to 4096 bytes, a multiple of 8, found struct_size ");
        assert!(text.starts_with(&start), "{text}");
    }
    // A later minor version may know more slots behind those that are known here.
    assert!(Library::load(&compile("bad-plugins/table_size.c", &[("SIZE", "sizeof table + 16")])).is_ok());
}

#[test]
fn each_required_slot_is_required() {
    for slot in ["describe", "create", "destroy", "on_message"] {
        assert_eq!(
            refusal(&compile("bad-plugins/null_slot.c", &[("SLOT", slot)])),
            (LoadErrorKind::Slot, format!("expected a function in the slot {slot}, found NULL"))
        );
    }
    assert_eq!(
        refusal(&compile("bad-plugins/save_without_load.c", &[])),
        (LoadErrorKind::Slot, "expected a function in the slot load, since there is one in save, found NULL".into())
    );
}

#[test]
fn an_id_is_an_id() {
    let wanted = "expected an id of 1 to 64 of a-z, 0-9, '.', '_' and '-', found ";
    let id = |id: &str| refusal(&compile("bad-plugins/id.c", &[("ID", &format!("\"{id}\""))]));
    for bad in ["", "Race", "a b", "race!"] {
        assert_eq!(id(bad), (LoadErrorKind::Id, format!("{wanted}\"{bad}\"")));
    }
    assert_eq!(id("a\\nb").1, format!("{wanted}\"a\\nb\""));
    assert_eq!(id("a\\xff").1, format!("{wanted}bytes that are not UTF-8 after byte 1"));
    let long = compile("bad-plugins/id.c", &[("ID", "\"a\""), ("LENGTH", "((size_t)1 << 40)")]);
    assert_eq!(refusal(&long).1, format!("{wanted}1099511627776 bytes"));
    assert_eq!(refusal(&compile("bad-plugins/null_id.c", &[])).1, format!("{wanted}NULL"));
}

#[test]
fn two_files_with_one_id_are_refused_and_the_first_one_works() {
    let (first, second) = (compile("c-plugins/nudge.c", &[]), compile("c-plugins/nudge.c", &[]));
    let mut manager = crate::support::manager_with(std::time::Duration::from_secs(60), true);
    manager.load(vec![spec(&first), spec(&second)], &crate::support::context());
    crate::support::settle(&mut manager);
    manager.on_all_started(&crate::support::World::default());
    let reports = manager.reports();
    assert_eq!(
        reports[1].state.reason().unwrap(),
        format!(
            "plugin {}: expected an id that no other plugin has, found \"nudge\", the id of {}",
            second.display(),
            first.display()
        )
    );
    assert_eq!(fields_of(&ask(&mut manager, "nudge_count"))["count"], 0);
}

#[test]
fn one_file_can_have_several_instances_of_different_names() {
    let nudge = compile("c-plugins/nudge.c", &[]);
    let named = |name: &str| PluginSpec { instance: Some(name.into()), ..spec(&nudge) };
    let manager = running(vec![named("a"), named("b")]);
    assert_eq!(manager.counts().started, 2);
    let mut manager = crate::support::manager();
    manager.load(vec![named("a"), named("a")], &crate::support::context());
    crate::support::settle(&mut manager);
    assert_eq!(
        manager.reports()[1].state.reason().unwrap(),
        format!("plugin {}: expected a name that no other instance has, found \"a\" again", nudge.display())
    );
}

#[test]
fn a_layout_that_differs_is_refused_by_the_field() {
    let (kind, text) = refusal(&built("bad_layout"));
    assert_eq!(kind, LoadErrorKind::Layout);
    assert_eq!(
        text,
        "its table is laid out differently: on_tick.param_1: mismatched type: expected *const World, found u64"
    );
}

#[test]
fn an_undefined_symbol_is_named_at_load() {
    let (kind, text) = refusal(&compile("bad-plugins/undefined_symbol.c", &[]));
    assert_eq!(kind, LoadErrorKind::Open);
    assert_eq!(text, "it cannot be loaded: undefined symbol: a_function_that_nobody_has");
}

#[test]
fn a_manifest_that_cannot_be_read_is_refused() {
    let manifest = |text: &str| {
        let text = format!("\"{}\"", text.replace('"', "\\\""));
        let (kind, text) = refusal(&compile("bad-plugins/manifest.c", &[("MANIFEST", &text)]));
        assert_eq!(kind, LoadErrorKind::Manifest);
        text
    };
    assert_eq!(refusal(&compile("bad-plugins/manifest.c", &[])).1, "describe failed: the dog ate it");
    assert!(manifest("{").starts_with("its manifest is not JSON: EOF"));
    assert_eq!(manifest("{}"), "in its manifest the field summary is missing");
    assert_eq!(manifest(r#"["x", [], [], []]"#), "its manifest is not a JSON object: [\"x\", [], [], []]");
    assert_eq!(
        manifest(r#"{"summary":"","endpoints":[{"name":5,"summary":""}]}"#),
        "in its manifest field endpoints[0].name is 5, expected text"
    );
    assert_eq!(
        manifest(r#"{"summary":"","endpoints":[{"name":"a","summary":"","robot":"drive"}]}"#),
        "in its manifest field endpoints[0].robot is \"drive\", expected one of \"none\", \"read\", \"control\""
    );
    let deep = format!(r#"{{"summary":"","x":{}{}}}"#, "[".repeat(70), "]".repeat(70));
    assert!(manifest(&deep).starts_with("its manifest is nested deeper than 64 levels"));
    assert_eq!(
        manifest(r#"{"summary":"","endpoints":[{"name":"a b","summary":""}]}"#),
        "expected an endpoint's name of letters, digits, '.', '_' and '-', found \"a b\""
    );
    assert_eq!(
        manifest(r#"{"summary":"","endpoints":[{"name":"a","summary":""},{"name":"a","summary":""}]}"#),
        "expected each endpoint once in the manifest, found \"a\" twice"
    );
}

#[test]
fn equal_symbols_of_two_plugins_do_not_meet() {
    let plugin = |name: &str, answer: &str| {
        compile("c-plugins/same_symbol.c", &[("NAME", &format!("\"{name}\"")), ("ANSWER", answer)])
    };
    let mut manager = running(vec![spec(&plugin("one", "1")), spec(&plugin("two", "2"))]);
    for _ in 0..3 {
        ask(&mut manager, "one");
    }
    let two = fields_of(&ask(&mut manager, "two"));
    assert_eq!((&two["answer"], &two["calls"]), (&2.into(), &1.into()));
    assert_eq!(fields_of(&ask(&mut manager, "one"))["answer"], 1);
}

#[test]
fn create_must_give_an_instance_or_a_reason() {
    let create = |body: &str| start_failure(spec(&compile("bad-plugins/create.c", &[("CREATE", body)])));
    assert_eq!(create("return TW_OK"), "create returned 0 (success) and no instance");
    assert_eq!(create("return TW_ERR_STATE"), "create returned TW_ERR_STATE (-5) and no reason");
    assert_eq!(create("put(sink, TW_OUT_TEXT, \"no fuel\"); return TW_ERR"), "no fuel");
}

#[test]
fn an_exception_stays_on_its_side() {
    let throws = compile("c-plugins/throws.cpp", &[]);
    let named = |name: &str| PluginSpec { instance: Some(name.into()), ..spec(&throws) };
    assert_eq!(start_failure(named("no")), "thrown in create");
    let mut manager = running(vec![named("yes"), named("other")]);
    // Both own the commands; the stronger one's answer counts.
    assert_eq!(
        error_of(&ask(&mut manager, "throw")),
        "throw: plugin \"other\" failed in on_message: thrown in on_message: throw"
    );
    assert_eq!(
        error_of(&ask(&mut manager, "calm")),
        "calm belongs to plugin \"other\", which has failed: in on_message: thrown in on_message: throw"
    );
    let mut manager = running(vec![named("yes")]);
    assert_eq!(fields_of(&ask(&mut manager, "calm"))["status"], "calm");
    assert_eq!(
        error_of(&ask(&mut manager, "throw_int")),
        "throw_int: plugin \"yes\" failed in on_message: threw something that is no std::exception"
    );
}
