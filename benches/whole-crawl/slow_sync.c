/* A disk that takes longer to sync: fsync, fdatasync and syncfs return SLOW_SYNC_MS milliseconds later than they would. To be preloaded;
   several at once take no longer than one, as on a disk whose time is latency. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int late(const char *name, int file) {
    const char *text = getenv("SLOW_SYNC_MS");
    long length = text ? atol(text) : 0;
    struct timespec pause = {length / 1000, length % 1000 * 1000000};
    nanosleep(&pause, NULL);
    int (*call)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return call(file);
}

int fsync(int file) { return late("fsync", file); }
int fdatasync(int file) { return late("fdatasync", file); }
int syncfs(int file) { return late("syncfs", file); }
