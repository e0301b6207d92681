//! What a world's `<plugin>` elements say reaches their plugins, and what is wrong in it is said by name.

use serde_json::{Value, json};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use tickworks_tests::{Host, Process, Scratch, compile, tickworks};

/// The configuration that the one instance of the plugin got.
fn config(host: &Host) -> Value {
    let mut config = host.json().ok(json!({"cmd": "config"}));
    config.as_object_mut().unwrap().remove("timestamp");
    config
}

#[test]
fn parameters_come_whole_and_in_their_order() {
    let scratch = Scratch::new();
    let plugin = compile("c-plugins/config.c", &[], scratch.path());
    let world = scratch.world(&format!(
        "<plugin filename='{}' name='mine' mode='a &amp; b'>
           <b>2</b><a unit='m' kind=\"x\">1.50</a><b>  two  words </b>
           <nested><deep><deeper value='&lt;&quot;&#233;&gt;'/></deep></nested>
           <text>1 &lt; 2</text><raw><![CDATA[<not> & parsed]]></raw><empty/>
         </plugin>",
        plugin.display()
    ));
    let host = Host::start(&world, &[], &["--rate", "120", "--seed", "42"]);
    let config = config(&host);
    assert_eq!(config["instance"], "mine");
    assert_eq!((&config["rate_hz"], &config["seed"], &config["model"]), (&json!(120.0), &json!(42), &Value::Null));
    assert_eq!(config["world"], json!({"name": "scratch", "file": world.to_str().unwrap()}));
    let parameters = &config["parameters"];
    assert!(parameters["attributes"].as_array().unwrap().contains(&json!(["mode", "a & b"])), "{parameters}");
    let element = |name: &str, attributes: Value, text: &str, children: Value| json!({"name": name, "attributes": attributes, "text": text, "children": children});
    let deeper = element("deeper", json!([["value", "<\"é>"]]), "", json!([]));
    let deep = element("deep", json!([]), "", json!([deeper]));
    let expected = [
        element("b", json!([]), "2", json!([])),
        element("a", json!([["unit", "m"], ["kind", "x"]]), "1.50", json!([])),
        element("b", json!([]), "two  words", json!([])),
        element("nested", json!([]), "", json!([deep])),
        element("text", json!([]), "1 < 2", json!([])),
        element("raw", json!([]), "<not> & parsed", json!([])),
        element("empty", json!([]), "", json!([])),
    ];
    let found = parameters["children"].as_array().unwrap();
    assert_eq!(found.len(), expected.len(), "{parameters}");
    for (found, mut expected) in found.iter().zip(expected) {
        // White space around a text is how the file is set.
        let text = found["text"].as_str().unwrap().trim();
        expected["text"] = json!(expected["text"].as_str().unwrap());
        assert_eq!(text, expected["text"], "{found}");
        expected["text"] = found["text"].clone();
        assert_eq!(*found, expected);
    }
}

/// One that the command line and the world both name is one: its place is from the one, its parameters from the other.
#[test]
fn a_plugin_that_is_named_twice_is_one_with_its_parameters() {
    let scratch = Scratch::new();
    let plugin = compile("c-plugins/config.c", &[], scratch.path());
    let world = scratch.world(&format!("<plugin filename='{}' name='mine'><n>1</n></plugin>", plugin.display()));
    let host = Host::start(&world, &[plugin.to_str().unwrap(), "manual_move"], &[]);
    host.process().line(|line| line == "  plugins: mine, manual_move");
    assert_eq!(config(&host)["parameters"]["children"][0]["name"], "n");
}

#[test]
fn a_model_s_plugin_is_told_which_model_it_is() {
    let scratch = Scratch::new();
    let plugin = compile("c-plugins/config.c", &[], scratch.path());
    let world = scratch.world(&format!(
        "<model name='lamp'><static>true</static><link name='l'/>\
         <plugin filename='{}' name='switch'/></model>",
        plugin.display()
    ));
    let host = Host::start(&world, &[], &[]);
    host.process().line(|line| line == "  plugins: lamp::switch");
    let config = config(&host);
    // Models are numbered as the document has them: the floor, the robot, this one.
    assert_eq!(config["model"], json!({"id": (2_u64 << 32) + 2, "name": "lamp"}));
}

/// Plugins of other simulators are named once each, and the world runs without them.
#[test]
fn foreign_plugins_are_reported_once_and_skipped() {
    let scratch = Scratch::new();
    let foreign = "<plugin filename='gz-sim-physics-system' name='gz::sim::systems::Physics'/>";
    let camera = "<plugin filename='libgazebo_ros_camera.so' name='camera'/>";
    let world = scratch.world(&format!("{foreign}{camera}<model name='m'><link name='l'/>{camera}</model>"));
    let host = Host::start(&world, &["manual_move"], &[]);
    host.process().line(|line| line == "  plugins: manual_move");
    let exit = host.stop();
    for name in ["gz-sim-physics-system", "libgazebo_ros_camera.so"] {
        let said = format!("the plugin '{name}' is one of another simulator and is skipped");
        assert_eq!(exit.stderr.matches(&said).count(), 1, "{exit:?}");
    }
    // One of ours that is missing is no such thing.
    let world = scratch.world("<plugin filename='our_own' name='ours'/>");
    let exit = tickworks(Host::args(&world, &[], &[]));
    assert_eq!(exit.code, Some(1), "{exit:?}");
    assert!(exit.stderr.contains("\n  ours: plugin \"our_own\" was not found in "), "{exit:?}");
}

/// Half a configuration is a start that fails, with the element that is wrong in its reason; never a crash, and never a
/// run in which something is silently different.
#[test]
fn a_half_configured_race_says_what_is_missing() {
    let gate = |content: &str| format!("<gate>{content}</gate>");
    let cases = [
        ("<laps>0</laps>".into(), "<laps> is 0, expected 1 to "),
        ("<laps>many</laps>".into(), "<laps> is \"many\""),
        ("<laps>-1</laps>".into(), "<laps> is \"-1\""),
        ("<lap>3</lap>".into(), "unknown element <lap>: a race has <laps> and <gate>"),
        (gate(""), "<gate> number 1: it has no <size>width height</size>"),
        (gate("<size>2 2</size>"), "<gate> number 1: it has neither a <pose> nor an attribute model"),
        (gate("<size>2</size><pose>0 0 1 0 0 0</pose>"), "<gate> number 1: <size>"),
        (gate("<size>2 nan</size><pose>0 0 1 0 0 0</pose>"), "<gate> number 1: <size>"),
        (gate("<size>0 2</size><pose>0 0 1 0 0 0</pose>"), "expected a width and a height over 0 m"),
        (gate("<size>2 2</size><pose>0 0 1</pose>"), "<gate> number 1: <pose>"),
        (gate("<size>2 2</size><pose relative_to='a'>0 0 1 0 0 0</pose>"), "relative_to=\"a\" of <pose> is not read"),
    ];
    let scratch = Scratch::new();
    for (parameters, reason) in cases {
        let world = scratch.world(&format!("<plugin filename='race' name='race'>{parameters}</plugin>"));
        let exit = tickworks(Host::args(&world, &[], &[]));
        assert_eq!((exit.code, exit.signal), (Some(1), None), "{parameters}: {exit:?}");
        let last = exit.stderr.lines().last().unwrap();
        assert!(last.starts_with("  race: ") && last.contains(reason), "{parameters}: {last}");
        assert!(!exit.stderr.contains("panicked"), "{exit:?}");
    }
}

/// A name that the world does not have is only known once there is a world: it fails the start all the same.
#[test]
fn a_race_through_a_model_that_does_not_exist_is_no_race() {
    let scratch = Scratch::new();
    let world =
        scratch.world("<plugin filename='race' name='race'><gate model='nowhere'><size>2 2</size></gate></plugin>");
    let reason = "in on_all_started: <gate model=\"nowhere\">: the world has no model of that name";
    let exit = tickworks(Host::args(&world, &["manual_move"], &["--ticks", "1", "--fast"]));
    assert_eq!(exit.code, Some(1), "{exit:?}");
    assert!(exit.stderr.ends_with(&format!("\n  race: {reason}\n")), "{exit:?}");
    let host = Host::start(&world, &["manual_move"], &["--keep-going"]);
    host.process().line(|line| line == "  plugins: manual_move");
    let error = host.json().error(json!({"cmd": "race_start"}));
    assert_eq!(error, format!("race_start belongs to plugin \"race\", which has failed: {reason}"));
}

/// Paths are bytes. What cannot be said of one in JSON is replaced, and nothing fails over it.
#[test]
fn paths_that_are_not_utf8_work_for_worlds_and_plugins() {
    let scratch = Scratch::new();
    let odd = |name: &[u8]| scratch.path().join(OsStr::from_bytes(name));
    let world = odd(b"w\xff.sdf");
    std::fs::rename(scratch.world(""), &world).unwrap();
    let plugin = odd(b"lib\xfeconfig.so");
    std::fs::rename(compile("c-plugins/config.c", &[], scratch.path()), &plugin).unwrap();
    let mut args = Host::args(&world, &[], &[]);
    args.insert(3, plugin.clone().into());
    let host = Host::of(Process::start(args));
    assert_eq!(config(&host)["world"]["file"], world.to_string_lossy().as_ref());
    let info = tickworks([OsStr::new("plugin"), OsStr::new("info"), plugin.as_os_str()]);
    assert_eq!((info.code, info.stderr.as_str()), (Some(0), ""), "{info:?}");
    // The one in every run, in Rust.
    let host = Host::start(&world, &["manual_move"], &[]);
    assert_eq!(host.json().ok(json!({"cmd": "sim_get_info"}))["world_file"], world.to_string_lossy().as_ref());
}
