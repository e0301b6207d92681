/* SLOT is a required one, and NULL. */
#include "base.h"

EXPORT_TABLE(table.SLOT = NULL)
