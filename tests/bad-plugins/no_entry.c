/* Exports something, but no door. */
#include "tickworks.h"

TW_EXPORT int some_other_function(void);
int some_other_function(void) { return TW_ABI_MAJOR; }
