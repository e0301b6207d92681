/* Says everything with control characters in it, and fails in create if FAILS is set. */
#include "base.h"

#ifndef FAILS
#define FAILS 0
#endif

static const tw_host *kept;

static int32_t describe(const tw_sink *sink) {
  return put(sink, TW_OUT_MANIFEST,
             "{\"summary\": \"Talks.\\nA lot.\", \"endpoints\": [{\"name\": \"talk\", \"summary\": \"Talks.\\u001b[31m\"}],"
             " \"topics\": [{\"name\": \"talk\", \"summary\": \"Talk.\"}]}");
}

static int32_t create(const tw_host *host, tw_bytes config, const tw_sink *sink, void **out) {
  static const char line[] = "first line\nsecond line \033[2J\n";
  tw_bytes text = {(const uint8_t *)line, sizeof line - 1};
  kept = host;
  host->log(host, TW_LOG_WARN, text);
  if (FAILS) {
    put(sink, TW_OUT_TEXT, "no\nfuel \033[31m");
    return TW_ERR;
  }
  return base_create(host, config, sink, out);
}

/* Pushes to a topic of the manifest and to another one, and says with what codes. */
static int32_t on_message(void *instance, const tw_world *world, const tw_message *message, const tw_sink *sink) {
  tw_bytes declared = {(const uint8_t *)"talk", 4};
  tw_bytes other = {(const uint8_t *)"other", 5};
  tw_bytes object = {(const uint8_t *)"{}", 2};
  (void)instance;
  (void)world;
  (void)message;
  if (kept->publish(kept, declared, object) != TW_OK) {
    return put(sink, TW_OUT_OK, "{\"status\": \"the declared topic is refused\"}");
  }
  if (kept->publish(kept, other, object) != TW_ERR_BAD_ARG) {
    return put(sink, TW_OUT_OK, "{\"status\": \"the other topic is taken\"}");
  }
  put(sink, TW_OUT_TEXT, "not\nnow");
  return TW_ERR;
}

EXPORT_TABLE(table.describe = describe; table.create = create; table.on_message = on_message;
             table.version.ptr = (const uint8_t *)"1.0\n\033[7m"; table.version.len = 8)
