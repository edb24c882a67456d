/* asan_options.c - the shim is preloaded before ASan's runtime, and needs nothing of it. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "verify_asan_link_order=0";
}
