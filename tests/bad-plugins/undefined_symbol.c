/* Calls a function that no library has. */
#include "base.h"

int a_function_that_nobody_has(void);

static void destroy(void *instance) {
  (void)instance;
  a_function_that_nobody_has();
}

EXPORT_TABLE(table.destroy = destroy)
