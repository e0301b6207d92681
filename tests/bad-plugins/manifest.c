/* MANIFEST is what it writes as its manifest; without it describe fails. */
#include "base.h"

static int32_t describe(const tw_sink *sink) {
#ifdef MANIFEST
  return put(sink, TW_OUT_MANIFEST, MANIFEST);
#else
  put(sink, TW_OUT_TEXT, "the dog ate it");
  return TW_ERR;
#endif
}

EXPORT_TABLE(table.describe = describe)
