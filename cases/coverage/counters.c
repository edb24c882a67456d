/* counters.c - a process that ends with _exit, or is stopped by a signal, has written gcov's
 * counters; one that ends with _exit and nothing else has not, which shows that the cases can tell.
 */
#include "case.h"
#include "ledger.h"
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((weak)) void __gcov_dump(void);

static int counter_files(const char *dir, int remove_them)
{
    int n = 0;
    DIR *d = opendir(dir);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *e; (e = readdir(d));) {
        char path[600];
        if (!strstr(e->d_name, ".gcda")) continue;
        n += strcmp(e->d_name, "ledger.c.gcda") == 0;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (remove_them) unlink(path);
    }
    closedir(d);
    return n;
}

/* A child runs a line of the recovery and then `end`; the parent may stop it. Returns its status;
 * *written: its counters are on disk. */
static int child(void (*end)(void), int stop, int *written)
{
    char dir[] = "/tmp/oomproof-counters-XXXXXX", c = 0;
    int ready[2], status = 0;
    int64_t points = 3;
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pt_ledger l;
        setenv("GCOV_PREFIX", dir, 1);
        setenv("GCOV_PREFIX_STRIP", "99", 1);
        if (pt_ledger_open(&l, &points, 1) == PT_OK) pt_ledger_close(&l);
        if (write(ready[1], &c, 1) == 1) end();
        _exit(9);
    }
    ck_assert_int_eq(read(ready[0], &c, 1), 1);
    if (stop) kill(pid, stop);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    *written = counter_files(dir, 1);
    close(ready[0]);
    close(ready[1]);
    rmdir(dir);
    return status;
}

static void dump_and_exit(void)
{
    if (__gcov_dump) __gcov_dump();
    _exit(0);
}
static void only_exit(void)
{
    _exit(0);
}
static void hang(void)
{
    for (;;) pause();
}
static void abort_it(void)
{
    abort();
}

START_TEST(a_child_that_dumps_before_it_exits_has_written_its_counters)
{
    int written;
    ck_assert_int_eq(child(dump_and_exit, 0, &written), 0);
    ck_assert_int_eq(written, 1);
    ck_assert_int_eq(child(only_exit, 0, &written), 0);
    ck_assert_int_eq(written, 0);
}
END_TEST

START_TEST(a_process_that_a_watchdog_stops_has_written_its_counters)
{
    static const int stop[] = {SIGTERM, SIGINT, SIGALRM, SIGXCPU};
    for (size_t i = 0; i < sizeof stop / sizeof *stop; i++) {
        int written, status = child(hang, stop[i], &written);
        ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == stop[i],
                      "signal %d: the process ended with status %d", stop[i], status);
        ck_assert_msg(written == 1, "signal %d: no counters", stop[i]);
    }
}
END_TEST

START_TEST(a_process_that_aborts_has_written_its_counters)
{
    int written, status = child(abort_it, 0, &written);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    ck_assert_int_eq(written, 1);
}
END_TEST

static const case_entry cases[] = {
#include "counters.def"
};
CASE_MAIN("counters")
