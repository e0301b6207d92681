// tickworks.hpp - what a plugin in C++17 needs on top of tickworks.h: the guard that keeps exceptions on this side.
//
// Wrap the body of each slot. An exception becomes text at the sink and TW_ERR_PANIC; the instance has then failed and
// only destroy is called. Build with -fvisibility=hidden, and with -fno-gnu-unique where the compiler knows it.
//
//   int32_t on_message(void *self, const tw_world *world, const tw_message *message, const tw_sink *sink) {
//     return tw::guard(sink, [&] { return static_cast<Plugin *>(self)->on_message(*world, *message, *sink); });
//   }
#ifndef TICKWORKS_HPP
#define TICKWORKS_HPP

#include "tickworks.h"

#include <exception>
#include <string_view>
#include <utility>

namespace tw {

// Text as the border takes it; borrowed, so the text must outlive the call.
inline tw_bytes bytes(std::string_view text) noexcept {
  return tw_bytes{reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

// Text that came across; valid until the slot returns.
inline std::string_view view(tw_bytes text) noexcept {
  return text.len == 0 ? std::string_view{} : std::string_view{reinterpret_cast<const char *>(text.ptr), text.len};
}

// Writes text to a sink that may be NULL.
inline int32_t write(const tw_sink *sink, uint32_t kind, std::string_view text) noexcept {
  return sink == nullptr || sink->write == nullptr ? TW_ERR_BAD_ARG : sink->write(sink->ctx, kind, bytes(text));
}

// Runs body, which returns a code. Nothing is thrown past it.
template <class Body>
int32_t guard(const tw_sink *sink, Body &&body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (const std::exception &error) {
    write(sink, TW_OUT_TEXT, error.what());
  } catch (...) {
    write(sink, TW_OUT_TEXT, "threw something that is no std::exception");
  }
  return TW_ERR_PANIC;
}

// The same for destroy, which has no sink: what is thrown goes to the host's log, if one is given.
template <class Body>
void guard_destroy(const tw_host *host, Body &&body) noexcept {
  const auto log = [host](const char *text) noexcept {
    if (host != nullptr && host->log != nullptr) {
      host->log(host, TW_LOG_ERROR, bytes(text));
    }
  };
  try {
    std::forward<Body>(body)();
  } catch (const std::exception &error) {
    log(error.what());
  } catch (...) {
    log("destroy threw something that is no std::exception");
  }
}

}  // namespace tw

#endif  // TICKWORKS_HPP
