/* Dies in SLOT, one of create, on_message, on_tick, destroy, in the way of HOW. */
#include "base.h"

#include <signal.h>

static int *volatile nowhere = NULL;

/* Deeper than any stack. */
static int fall(int depth) {
  volatile char frame[4096];
  frame[0] = (char)depth;
  return depth == -1 ? 0 : fall(depth + 1) + frame[0];
}

static void die(void) {
#if HOW == 1
  *nowhere = 1;
#elif HOW == 2
  abort();
#elif HOW == 3
  /* Sent, not a fault: it does not happen again by itself when the handler returns. */
  raise(SIGFPE);
#elif HOW == 4
  __builtin_trap();
#elif HOW == 5
  fall(0);
#endif
}

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

EXPORT_TABLE((void)nowhere; (void)fall; table.SLOT = PASTE(crash_, SLOT))
