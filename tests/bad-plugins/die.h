/* die(): ends the process in the way of HOW. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static int *volatile nowhere = NULL;

/* Deeper than any stack. */
static inline int fall(int depth) {
  volatile char frame[4096];
  frame[0] = (char)depth;
  return depth == -1 ? 0 : fall(depth + 1) + frame[0];
}

static inline void *exit_in_thread(void *unused) {
  (void)unused;
  exit(0);
}

static inline void die(void) {
#if HOW == 1
  *nowhere = 1;
#elif HOW == 2
  abort();
#elif HOW == 3
  /* Sent, not a fault: it does not happen again by itself when the handler returns. */
  raise(SIGFPE);
#elif HOW == 4
  __builtin_trap();
#elif HOW == 5
  fall(0);
#elif HOW == 6
  exit(0);
#elif HOW == 7
  quick_exit(0);
#elif HOW == 8
  pthread_t thread;
  pthread_create(&thread, NULL, exit_in_thread, NULL);
  pthread_join(thread, NULL);
#endif
  (void)nowhere;
}
