/* Writes into the file that the environment names (TICKWORKS_DIARY) when it is created (c), told that all have started (a), ticked (t,
   once), reset (r) and destroyed (d). A call after its end is an x. */
#include "tickworks.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct diary {
  int alive;
  int ticked;
} diary;

static void note(char what) {
  const char *path = getenv("TICKWORKS_DIARY");
  FILE *file = path != NULL ? fopen(path, "a") : NULL;
  if (file != NULL) {
    fputc(what, file);
    fclose(file);
  }
}

static int32_t describe(const tw_sink *sink) {
  static const char text[] =
      "{\"summary\": \"Keeps a diary.\", \"endpoints\": [{\"name\": \"diary_hello\", \"summary\": \"Says hello.\","
      " \"reads_only\": true}]}";
  tw_bytes bytes = {(const uint8_t *)text, sizeof text - 1};
  return sink->write(sink->ctx, TW_OUT_MANIFEST, bytes);
}

static int32_t create(const tw_host *host, tw_bytes config, const tw_sink *sink, void **out) {
  diary *self = calloc(1, sizeof *self);
  (void)host;
  (void)config;
  (void)sink;
  if (self == NULL) {
    return TW_ERR;
  }
  self->alive = 1;
  note('c');
  *out = self;
  return TW_OK;
}

static void destroy(void *instance) {
  diary *self = instance;
  note(self->alive ? 'd' : 'x');
  self->alive = 0;
  free(self);
}

static int32_t on_all_started(void *instance, const tw_world *world, const tw_sink *sink) {
  (void)world;
  (void)sink;
  note(((diary *)instance)->alive ? 'a' : 'x');
  return TW_OK;
}

static int32_t on_reset(void *instance, const tw_world *world, const tw_sink *sink) {
  (void)world;
  (void)sink;
  note(((diary *)instance)->alive ? 'r' : 'x');
  return TW_OK;
}

static int32_t on_tick(void *instance, const tw_world *world, const tw_sink *sink) {
  diary *self = instance;
  (void)world;
  (void)sink;
  if (!self->alive) {
    note('x');
  } else if (!self->ticked) {
    self->ticked = 1;
    note('t');
  }
  return TW_OK;
}

static int32_t on_message(void *instance, const tw_world *world, const tw_message *message, const tw_sink *sink) {
  static const char text[] = "{\"hello\": true}";
  tw_bytes bytes = {(const uint8_t *)text, sizeof text - 1};
  (void)instance;
  (void)world;
  (void)message;
  return sink->write(sink->ctx, TW_OUT_OK, bytes);
}

TW_EXPORT const tw_plugin *tw_plugin_entry(uint16_t host_major, uint16_t host_minor) {
  static const tw_plugin table = {
      .struct_size = sizeof(tw_plugin),
      .abi_major = TW_ABI_MAJOR,
      .abi_minor = TW_ABI_MINOR,
      .id = {(const uint8_t *)"diary", 5},
      .version = {(const uint8_t *)"1.0.0", 5},
      .describe = describe,
      .create = create,
      .destroy = destroy,
      .on_all_started = on_all_started,
      .on_reset = on_reset,
      .on_message = on_message,
      .on_tick = on_tick,
  };
  (void)host_minor;
  return host_major == TW_ABI_MAJOR ? &table : NULL;
}
