/* Says that it does not work with this host. */
#include "base.h"

TW_EXPORT const tw_plugin *tw_plugin_entry(uint16_t host_major, uint16_t host_minor) {
  (void)host_major;
  (void)host_minor;
  return NULL;
}
