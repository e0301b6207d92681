/* Saves a state that it cannot take back. */
#include "base.h"

static int32_t save(void *instance, const tw_sink *sink) {
  (void)instance;
  return put(sink, TW_OUT_STATE, "state");
}

EXPORT_TABLE(table.save = save)
