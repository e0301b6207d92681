/* Answers with what it was given at its start, byte by byte. */
#include "tickworks.h"

#include <stdlib.h>
#include <string.h>

typedef struct config {
  size_t len;
  uint8_t bytes[];
} config;

static int32_t put(const tw_sink *sink, uint32_t kind, const char *string) {
  tw_bytes bytes = {(const uint8_t *)string, strlen(string)};
  return sink->write(sink->ctx, kind, bytes);
}

static int32_t describe(const tw_sink *sink) {
  return put(sink, TW_OUT_MANIFEST,
             "{\"summary\": \"Keeps its configuration.\","
             " \"endpoints\": [{\"name\": \"config\", \"summary\": \"What it was given.\", \"reads_only\": true}]}");
}

static int32_t create(const tw_host *host, tw_bytes given, const tw_sink *sink, void **out) {
  config *self = malloc(sizeof *self + given.len);
  (void)host;
  if (self == NULL) {
    put(sink, TW_OUT_TEXT, "no memory for the instance");
    return TW_ERR;
  }
  self->len = given.len;
  memcpy(self->bytes, given.ptr, given.len);
  *out = self;
  return TW_OK;
}

static void destroy(void *instance) { free(instance); }

static int32_t on_message(void *instance, const tw_world *world, const tw_message *message, const tw_sink *sink) {
  const config *self = instance;
  tw_bytes bytes = {self->bytes, self->len};
  (void)world;
  (void)message;
  return sink->write(sink->ctx, TW_OUT_OK, bytes);
}

TW_EXPORT const tw_plugin *tw_plugin_entry(uint16_t host_major, uint16_t host_minor) {
  static const tw_plugin table = {
      .struct_size = sizeof(tw_plugin),
      .abi_major = TW_ABI_MAJOR,
      .abi_minor = TW_ABI_MINOR,
      .id = {(const uint8_t *)"config", 6},
      .version = {(const uint8_t *)"1.0.0", 5},
      .describe = describe,
      .create = create,
      .destroy = destroy,
      .on_message = on_message,
  };
  (void)host_minor;
  return host_major == TW_ABI_MAJOR ? &table : NULL;
}
