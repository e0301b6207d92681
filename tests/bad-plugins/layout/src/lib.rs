//! A plugin whose table differs from the host's in one argument: see the build script.

use abi_stable::StableAbi;
use abi_stable::library::{CheckTypeLayout, LibHeader, RootModule, RootModuleResult};
use abi_stable::prefix_type::PrefixTypeTrait;
use abi_stable::sabi_types::VersionStrings;
use abi_stable::std_types::RStr;

#[allow(dead_code, reason = "only its layout matters")]
mod abi {
    include!(concat!(env!("OUT_DIR"), "/abi.rs"));
}

#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PluginRootRef)))]
pub struct PluginRoot {
    #[sabi(last_prefix_field)]
    pub plugin: extern "C" fn() -> *const abi::PluginTable,
}

impl RootModule for PluginRootRef {
    abi_stable::declare_root_module_statics! {PluginRootRef}
    const BASE_NAME: &'static str = "tickworks_plugin";
    const NAME: &'static str = "tickworks_plugin";
    const VERSION_STRINGS: VersionStrings = VersionStrings { version: RStr::from_str("1.0.0") };
}

extern "C" fn table() -> *const abi::PluginTable {
    // Never reached: the host refuses the layout before it asks for the table.
    std::process::abort()
}

fn load() -> PluginRootRef {
    PluginRoot { plugin: table }.leak_into_prefix()
}

extern "C" fn root() -> RootModuleResult {
    abi_stable::library::__call_root_module_loader(load)
}

/// Door 1.
#[unsafe(export_name = "_1as_0lib_1header_0root_bmodule_bloader")]
// SAFETY: `root` returns the erased form of a `PluginRootRef`.
pub static ROOT: LibHeader = unsafe { LibHeader::from_constructor::<PluginRootRef>(root, CheckTypeLayout::Yes) };

/// Door 2 is fine. It must not be tried after door 1 has been found wrong.
#[unsafe(export_name = "tw_plugin_entry")]
pub extern "C" fn entry(_host_major: u16, _host_minor: u16) -> *const abi::PluginTable {
    std::process::abort()
}
