/* SIZE is what it says its table's size is: too small, too large, not a multiple of 8, or never set. */
#include "base.h"

EXPORT_TABLE(table.struct_size = (SIZE))
