// A plugin in C++ that throws in each slot that it has, under the guard of tickworks.hpp.
#include "tickworks.hpp"

#include <stdexcept>
#include <string>

namespace {

struct Throws {
  const tw_host *host;
  ~Throws() noexcept(false) { throw std::runtime_error("thrown in destroy"); }
};

int32_t describe(const tw_sink *sink) {
  return tw::guard(sink, [&] {
    return tw::write(sink, TW_OUT_MANIFEST,
                     R"({"summary": "Throws.", "endpoints": [{"name": "throw", "summary": "Throws."},
                         {"name": "throw_int", "summary": "Throws what is no exception."},
                         {"name": "calm", "summary": "Does not."}]})");
  });
}

int32_t create(const tw_host *host, tw_bytes config, const tw_sink *sink, void **out) {
  return tw::guard(sink, [&]() -> int32_t {
    if (tw::view(config).find("\"no\"") != std::string_view::npos) {
      throw std::runtime_error("thrown in create");
    }
    *out = new Throws{host};
    return TW_OK;
  });
}

void destroy(void *instance) {
  const tw_host *host = static_cast<Throws *>(instance)->host;
  tw::guard_destroy(host, [&] { delete static_cast<Throws *>(instance); });
}

int32_t on_message(void *, const tw_world *, const tw_message *message, const tw_sink *sink) {
  return tw::guard(sink, [&]() -> int32_t {
    const std::string cmd{tw::view(message->cmd)};
    if (cmd == "throw") {
      throw std::runtime_error("thrown in on_message: " + cmd);
    }
    if (cmd == "throw_int") {
      throw 42;
    }
    return tw::write(sink, TW_OUT_OK, "{\"status\": \"calm\"}");
  });
}

}  // namespace

extern "C" TW_EXPORT const tw_plugin *tw_plugin_entry(uint16_t, uint16_t) {
  static const tw_plugin table = [] {
    tw_plugin plugin{};
    plugin.struct_size = sizeof(tw_plugin);
    plugin.abi_major = TW_ABI_MAJOR;
    plugin.abi_minor = TW_ABI_MINOR;
    plugin.id = tw::bytes("throws");
    plugin.version = tw::bytes("1.0.0");
    plugin.describe = describe;
    plugin.create = create;
    plugin.destroy = destroy;
    plugin.on_message = on_message;
    return plugin;
  }();
  return &table;
}
