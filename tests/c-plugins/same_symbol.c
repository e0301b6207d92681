/* Compiled twice, with another NAME and ANSWER: both export a function and a variable of the same name. Each must meet
 * its own. */
#include "tickworks.h"

#include <stdio.h>
#include <string.h>

TW_EXPORT int shared_answer(void);
TW_EXPORT int shared_calls = 0;

int shared_answer(void) { return ANSWER; }

static int32_t put(const tw_sink *sink, uint32_t kind, const char *string) {
  tw_bytes bytes = {(const uint8_t *)string, strlen(string)};
  return sink->write(sink->ctx, kind, bytes);
}

static int32_t describe(const tw_sink *sink) {
  return put(sink, TW_OUT_MANIFEST, "{\"summary\": \"Same symbols.\", \"endpoints\": [{\"name\": \"" NAME
                                    "\", \"summary\": \"Its own answer.\"}]}");
}

static int32_t create(const tw_host *host, tw_bytes config, const tw_sink *sink, void **out) {
  (void)host;
  (void)config;
  (void)sink;
  *out = &shared_calls;
  return TW_OK;
}

static void destroy(void *instance) { (void)instance; }

static int32_t on_message(void *instance, const tw_world *world, const tw_message *message, const tw_sink *sink) {
  char reply[64];
  (void)instance;
  (void)world;
  (void)message;
  shared_calls += 1;
  /* Through the symbol, as code in another file would. */
  snprintf(reply, sizeof reply, "{\"answer\": %d, \"calls\": %d}", shared_answer(), shared_calls);
  return put(sink, TW_OUT_OK, reply);
}

TW_EXPORT const tw_plugin *tw_plugin_entry(uint16_t host_major, uint16_t host_minor) {
  static const tw_plugin table = {
      .struct_size = sizeof(tw_plugin),
      .abi_major = TW_ABI_MAJOR,
      .abi_minor = TW_ABI_MINOR,
      .id = {(const uint8_t *)NAME, sizeof NAME - 1},
      .version = {(const uint8_t *)"1.0.0", 5},
      .describe = describe,
      .create = create,
      .destroy = destroy,
      .on_message = on_message,
  };
  (void)host_major;
  (void)host_minor;
  return &table;
}
