/* Never comes back from dlopen. */
#include "base.h"

#include <unistd.h>

__attribute__((constructor)) static void hang(void) {
  static const char word[] = "the constructor hangs\n";
  if (write(STDERR_FILENO, word, sizeof word - 1) < 0) {
    abort();
  }
  for (;;) {
    pause();
  }
}

EXPORT_TABLE(table.id.ptr = (const uint8_t *)"hangs"; table.id.len = 5)
