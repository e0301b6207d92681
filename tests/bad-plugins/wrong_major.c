/* Built for a version that is to come. */
#include "base.h"

EXPORT_TABLE(table.abi_major = 2; table.abi_minor = 7)
