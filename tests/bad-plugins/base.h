/* A plugin that is right in all respects. Each file beside this one changes one thing and exports the result. */
#include "tickworks.h"

#include <stdlib.h>
#include <string.h>

static inline int32_t put(const tw_sink *sink, uint32_t kind, const char *string) {
  tw_bytes bytes = {(const uint8_t *)string, strlen(string)};
  return sink->write(sink->ctx, kind, bytes);
}

static inline int32_t base_describe(const tw_sink *sink) {
  return put(sink, TW_OUT_MANIFEST, "{\"summary\": \"Bad.\", \"endpoints\": [{\"name\": \"bad\", \"summary\": \"Bad.\"}]}");
}

static inline int32_t base_create(const tw_host *host, tw_bytes config, const tw_sink *sink, void **out) {
  static int instance;
  (void)host;
  (void)config;
  (void)sink;
  *out = &instance;
  return TW_OK;
}

static inline void base_destroy(void *instance) { (void)instance; }

static inline int32_t base_on_message(void *instance, const tw_world *world, const tw_message *message,
                                      const tw_sink *sink) {
  (void)instance;
  (void)world;
  (void)message;
  return put(sink, TW_OUT_OK, "{\"status\": \"fine\"}");
}

static inline tw_plugin base_table(void) {
  tw_plugin table;
  memset(&table, 0, sizeof table);
  table.struct_size = sizeof table;
  table.abi_major = TW_ABI_MAJOR;
  table.abi_minor = TW_ABI_MINOR;
  table.id.ptr = (const uint8_t *)"bad";
  table.id.len = 3;
  table.version.ptr = (const uint8_t *)"1.0.0";
  table.version.len = 5;
  table.describe = base_describe;
  table.create = base_create;
  table.destroy = base_destroy;
  table.on_message = base_on_message;
  return table;
}

/* The entry: CHANGE is a statement about `table`. */
#define EXPORT_TABLE(CHANGE)                                                              \
  TW_EXPORT const tw_plugin *tw_plugin_entry(uint16_t host_major, uint16_t host_minor) { \
    static tw_plugin table;                                                               \
    (void)host_major;                                                                     \
    (void)host_minor;                                                                     \
    table = base_table();                                                                 \
    CHANGE;                                                                               \
    return &table;                                                                        \
  }
