/* Dies in SLOT, one of create, on_message, on_tick, destroy, in the way of HOW. */
#include "base.h"
#include "die.h"

static inline int32_t crash_create(const tw_host *host, tw_bytes config, const tw_sink *sink, void **out) {
  die();
  return base_create(host, config, sink, out);
}

static inline void crash_destroy(void *instance) {
  (void)instance;
  die();
}

static inline int32_t crash_on_message(void *instance, const tw_world *world, const tw_message *message,
                                       const tw_sink *sink) {
  die();
  return base_on_message(instance, world, message, sink);
}

static inline int32_t crash_on_tick(void *instance, const tw_world *world, const tw_sink *sink) {
  (void)instance;
  (void)world;
  (void)sink;
  die();
  return TW_OK;
}

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

EXPORT_TABLE(table.SLOT = PASTE(crash_, SLOT))
