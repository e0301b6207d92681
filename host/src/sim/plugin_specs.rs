//! Which plugins a world asks for, and with what parameters.

use std::ffi::OsString;
use tickworks_plugin_api::{Element, EntityId, ModelRef};

use crate::plugin::{PluginSpec, Search};
use crate::sdf;
use crate::world::World;

/// Which plugins to load, weakest first: those of the command line, then the document's others. One that both name is
/// one: its place from the command line, its parameters from the document.
pub(super) fn plugin_specs(
    asked: &[OsString],
    document: &sdf::World,
    world: &World,
    search: &Search,
) -> Vec<PluginSpec> {
    let mut of_world: Vec<&sdf::Plugin> = document.plugins.iter().collect();
    let mut specs: Vec<PluginSpec> = asked
        .iter()
        .map(|plugin| {
            let same = of_world.iter().position(|element| stem(&element.filename) == stem(&plugin.to_string_lossy()));
            match same.map(|index| of_world.remove(index)) {
                Some(element) => PluginSpec { plugin: plugin.clone(), ..spec(element, None) },
                None => PluginSpec::named(plugin.clone()),
            }
        })
        .collect();
    let of_world = of_world.into_iter().map(|element| (element, None));
    specs.extend(known(of_world.chain(of_models(document, world)), search));
    specs
}

/// The plugins of the document's models alone.
pub(super) fn model_plugin_specs(document: &sdf::World, world: &World, search: &Search) -> Vec<PluginSpec> {
    known(of_models(document, world).into_iter(), search)
}

/// The plugins of all models, each with its model.
fn of_models<'a>(document: &'a sdf::World, world: &World) -> Vec<Asked<'a>> {
    let mut models = Vec::new();
    document.models.iter().for_each(|model| model.walk(&mut |model| models.push(model)));
    let with_model = models.into_iter().flat_map(|model| {
        let id = world.find(tickworks_plugin_api::abi::kind::MODEL, &model.scoped_name).unwrap_or_default();
        let model_ref = ModelRef { id: EntityId(id), name: model.scoped_name.clone() };
        model.plugins.iter().map(move |element| (element, Some(model_ref.clone())))
    });
    with_model.collect()
}

/// A `<plugin>` element, and the model that it is in.
type Asked<'a> = (&'a sdf::Plugin, Option<ModelRef>);

/// Those that are not another simulator's.
fn known<'a>(asked: impl Iterator<Item = Asked<'a>>, search: &Search) -> Vec<PluginSpec> {
    let mut specs = Vec::new();
    let mut skipped: Vec<&str> = Vec::new();
    for (element, model) in asked {
        if (is_foreign(&element.filename) || is_foreign_name(&element.name))
            && search.resolve(&element.filename).is_err()
        {
            if !skipped.contains(&element.filename.as_str()) {
                tracing::warn!(
                    "{}: the plugin '{}' is one of another simulator and is skipped",
                    element.span,
                    element.filename
                );
                skipped.push(&element.filename);
            }
            continue;
        }
        specs.push(spec(element, model));
    }
    specs
}

pub(super) fn spec(element: &sdf::Plugin, model: Option<ModelRef>) -> PluginSpec {
    let instance = match &model {
        None => element.name.clone(),
        // Two models may have the same plugin: the name says whose it is.
        Some(model) => format!("{}::{}", model.name, element.name),
    };
    PluginSpec {
        plugin: element.filename.clone().into(),
        instance: (!element.name.is_empty()).then_some(instance),
        parameters: parameters(element),
        model,
    }
}

fn parameters(element: &sdf::Plugin) -> Element {
    fn convert(element: &sdf::Element) -> Element {
        Element {
            name: element.name.clone(),
            attributes: element.attributes.clone(),
            text: element.text.clone(),
            children: element.children.iter().map(convert).collect(),
        }
    }
    let mut root = convert(&element.element);
    root.name = "plugin".into();
    root
}

/// The name of a plugin without the ornaments of a file: `race` for `race`, `librace.so` and `dir/librace.so`.
fn stem(plugin: &str) -> &str {
    let name = plugin.rsplit('/').next().unwrap_or(plugin);
    let name = name.strip_suffix(".so").unwrap_or(name);
    name.strip_prefix("lib").unwrap_or(name)
}

/// Whether a `<plugin name>` is a class of another simulator.
fn is_foreign_name(name: &str) -> bool {
    ["gz::", "ignition::", "gazebo::"].iter().any(|space| name.trim_start_matches(':').starts_with(space))
}

/// Whether a `<plugin filename>` is of the kind that other simulators load: ours are named plainly, or by a path.
fn is_foreign(filename: &str) -> bool {
    let name = filename.rsplit('/').next().unwrap_or(filename);
    let of_gazebo = ["gz-", "gz_", "ignition-", "ignition_", "gazebo", "libgz", "libignition", "libgazebo"];
    // Their libraries are often called like a class: `JoyPlugin`, `TestWorldSystem`.
    let class = name == filename
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && (name.ends_with("Plugin") || name.ends_with("System"));
    class || of_gazebo.iter().any(|start| name.starts_with(start)) || (name.starts_with("lib") && name == filename)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_the_same_by_name_and_by_path() {
        for name in ["race", "librace.so", "./target/release/librace.so", "race.so"] {
            assert_eq!(stem(name), "race");
        }
        assert_eq!(stem("liberty"), "erty", "an accepted cost: the same ornament is taken off on both sides");
    }

    #[test]
    fn plugins_of_other_simulators_are_told_from_ours() {
        for foreign in [
            "gz-sim-physics-system",
            "libgazebo_ros_camera.so",
            "libRayPlugin.so",
            "ignition-gazebo-imu-system",
            "JoyPlugin",
        ] {
            assert!(is_foreign(foreign), "{foreign}");
        }
        for foreign in ["gz::sim", "ignition::gazebo::systems::Physics", "::gazebo::RayPlugin"] {
            assert!(is_foreign_name(foreign), "{foreign}");
        }
        assert!(!is_foreign_name("race") && !is_foreign_name("gzip"));
        for ours in ["race", "manual_move", "./libcounter.so", "/opt/plugins/libcounter.so"] {
            assert!(!is_foreign(ours), "{ours}");
        }
    }
}
