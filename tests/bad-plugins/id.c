/* ID is its id; LENGTH its length, if that is not the truth. */
#include "base.h"

#ifndef LENGTH
#define LENGTH (sizeof ID - 1)
#endif

static const char id[] = ID;

EXPORT_TABLE(table.id.ptr = (const uint8_t *)id; table.id.len = (LENGTH))
