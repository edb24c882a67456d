/* host.c - a program without CUDA that loads plugin.c: host PLUGIN local|deepbind. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int deep = argc > 2 && !strcmp(argv[2], "deepbind");
    void *h = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | (deep ? RTLD_DEEPBIND : 0)) : NULL;
    int (*one)(void) = NULL;
    if (h) *(void **)&one = dlsym(h, "plugin_one");
    if (!one) fprintf(stderr, "host: %s\n", dlerror());
    return one ? one() : 2;
}
