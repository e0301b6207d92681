/* CREATE is the body of its create. */
#include "base.h"

static int32_t create(const tw_host *host, tw_bytes config, const tw_sink *sink, void **out) {
  (void)host;
  (void)config;
  (void)sink;
  (void)out;
  CREATE;
}

EXPORT_TABLE(table.create = create)
