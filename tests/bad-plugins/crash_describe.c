/* Dies when it is asked what it is. */
#include "base.h"

static int32_t describe(const tw_sink *sink) {
  (void)sink;
  abort();
}

EXPORT_TABLE(table.describe = describe; table.id.ptr = (const uint8_t *)"crash_describe"; table.id.len = 14)
