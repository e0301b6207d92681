//! The two doors to the table: abi_stable's root module, whose layout the host checks, and a plain C symbol.

use crate::abi::{ABI_MAJOR, PluginTable};
use crate::{Plugin, shim};
use abi_stable::StableAbi;
use abi_stable::library::{CheckTypeLayout, LibHeader, RootModule, RootModuleResult};
use abi_stable::prefix_type::PrefixTypeTrait;
use abi_stable::sabi_types::VersionStrings;
use abi_stable::std_types::RStr;

/// The root module: abi_stable compares its type, and through it all of [`PluginTable`], field by field.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PluginRootRef)))]
pub struct PluginRoot {
    /// The table.
    #[sabi(last_prefix_field)]
    pub plugin: extern "C" fn() -> *const PluginTable,
}

impl RootModule for PluginRootRef {
    abi_stable::declare_root_module_statics! {PluginRootRef}
    const BASE_NAME: &'static str = "tickworks_plugin";
    const NAME: &'static str = "tickworks_plugin";
    // The ABI's version, not the crate's: a plugin of any release that has the same major version is welcome.
    const VERSION_STRINGS: VersionStrings = VersionStrings { version: RStr::from_str(ABI_VERSION) };
}

/// `ABI_MAJOR.ABI_MINOR.0`.
const ABI_VERSION: &str = "1.0.0";
const _: () = assert!(ABI_MAJOR == 1 && crate::abi::ABI_MINOR == 0, "ABI_VERSION says what the numbers say");

/// The name of door 1's symbol.
pub const ROOT_SYMBOL: &str = "_1as_0lib_1header_0root_bmodule_bloader";
/// The name of door 2's symbol.
pub const ENTRY_SYMBOL: &str = "tw_plugin_entry";

/// Implemented by [`export_plugin!`](crate::export_plugin).
#[diagnostic::on_unimplemented(message = "export the plugin with `export_plugin!`")]
pub trait Exported: Plugin {
    /// `[a-z0-9._-]+`.
    const ID: &'static str;
    /// The plugin's own version.
    const VERSION: &'static str;
}

/// The table of an exported plugin.
pub const fn table<P: Exported>() -> &'static PluginTable {
    const { &shim::table::<P>(P::ID, P::VERSION) }
}

extern "C" fn table_pointer<P: Exported>() -> *const PluginTable {
    table::<P>()
}

fn root<P: Exported>() -> PluginRootRef {
    PluginRoot { plugin: table_pointer::<P> }.leak_into_prefix()
}

extern "C" fn root_result<P: Exported>() -> RootModuleResult {
    abi_stable::library::__call_root_module_loader(root::<P>)
}

/// What door 1's symbol is.
pub const fn header<P: Exported>() -> LibHeader {
    // SAFETY: `root_result` returns the erased form of a `PluginRootRef`.
    unsafe { LibHeader::from_constructor::<PluginRootRef>(root_result::<P>, CheckTypeLayout::Yes) }
}

/// Whether text is a plugin's id: `[a-z0-9._-]+`.
pub const fn valid_id(id: &str) -> bool {
    let bytes = id.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        if !matches!(bytes[i], b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-') {
            return false;
        }
        i += 1;
    }
    !bytes.is_empty()
}

/// Makes a shared object that the host can load of a crate with `crate-type = ["cdylib"]`. Once a crate.
///
/// The plugin's id is the package's name, its version the package's version.
///
/// ```
/// # use tickworks_plugin_api::{Config, EntityId, Error, Host, Manifest, Message, Plugin, Response, World, export_plugin};
/// # struct MyPlugin;
/// # impl Plugin for MyPlugin {
/// #     fn manifest() -> Manifest { Manifest::new("") }
/// #     fn create(_: Host, _: Config) -> Result<Self, Error> { Ok(Self) }
/// #     fn on_message(&mut self, _: &World, _: EntityId, _: &Message) -> Response { Response::not_mine() }
/// # }
/// # mod with_another_id { use super::*;
/// export_plugin!(MyPlugin, id = "my-plugin");
/// # }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! export_plugin {
    ($plugin:ty) => {
        $crate::export_plugin!($plugin, id = env!("CARGO_PKG_NAME"));
    };
    ($plugin:ty, id = $id:expr) => {
        #[cfg(panic = "abort")]
        compile_error!(
            "a Tickworks plugin must be built with panic = \"unwind\": the host survives a plugin that panics, and cannot survive one that aborts"
        );

        impl $crate::door::Exported for $plugin {
            const ID: &'static str = $id;
            const VERSION: &'static str = env!("CARGO_PKG_VERSION");
        }

        const _: () = {
            assert!(
                $crate::door::valid_id(<$plugin as $crate::door::Exported>::ID),
                "a plugin's id is made of a-z, 0-9, '.', '_' and '-'; give one: export_plugin!(MyPlugin, id = \"my-plugin\")"
            );

            #[unsafe(export_name = "_1as_0lib_1header_0root_bmodule_bloader")]
            pub static ROOT: $crate::door::reexport::LibHeader = $crate::door::header::<$plugin>();

            // The table says its own version first, in a place that never moves, so every host can be given it.
            #[unsafe(export_name = "tw_plugin_entry")]
            pub extern "C" fn entry(_host_major: u16, _host_minor: u16) -> *const $crate::abi::PluginTable {
                $crate::door::table::<$plugin>()
            }
        };
    };
}

/// For the macro alone.
#[doc(hidden)]
pub mod reexport {
    pub use abi_stable::library::LibHeader;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_symbol_is_abi_stable_s_own() {
        assert_eq!(ROOT_SYMBOL, abi_stable::library::ROOT_MODULE_LOADER_NAME);
        // The macro must spell it out.
        assert_eq!(include_str!("door.rs").matches(&format!("export_name = \"{ROOT_SYMBOL}\"")).count(), 1);
        assert_eq!(include_str!("door.rs").matches(&format!("export_name = \"{ENTRY_SYMBOL}\"")).count(), 1);
    }

    #[test]
    fn ids() {
        assert!(valid_id("manual_move") && valid_id("a.b-c_0"));
        assert!(!valid_id("") && !valid_id("Manual") && !valid_id("a b") && !valid_id("é"));
    }
}
