/* Dies while it is loaded, in the way of HOW: in a constructor (STAGE 1), in tw_plugin_entry (2), in describe (3); or
 * leads the host to an address where nothing is: as its table (4), as its id (5). */
#include "base.h"
#include "die.h"

#if STAGE == 1
__attribute__((constructor)) static void construct(void) { die(); }
#endif

static int32_t describe(const tw_sink *sink) {
#if STAGE == 3
  die();
#endif
  return base_describe(sink);
}

TW_EXPORT const tw_plugin *tw_plugin_entry(uint16_t host_major, uint16_t host_minor) {
  static tw_plugin table;
  (void)host_major;
  (void)host_minor;
#if STAGE == 2
  die();
#endif
  table = base_table();
  table.describe = describe;
#if STAGE == 4
  return (const tw_plugin *)16;
#elif STAGE == 5
  table.id.ptr = (const uint8_t *)16;
#endif
  return &table;
}
