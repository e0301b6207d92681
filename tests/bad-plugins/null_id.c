/* Its id was never set, but a length was. */
#include "base.h"

EXPORT_TABLE(table.id.ptr = NULL)
