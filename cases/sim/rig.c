/* rig.c - launches, copies and listening, each with its own check. */
#define _GNU_SOURCE
#include "rig.h"
#include <sys/mman.h>
#include <unistd.h>

cudaError_t launch(const void *kernel, unsigned blocks, unsigned threads, size_t shared,
                   void **args)
{
    struct dim3 g = {blocks, 1, 1}, b = {threads, 1, 1};
    return cudaLaunchKernel(kernel, g, b, args, shared, NULL);
}

void run(const void *kernel, unsigned blocks, unsigned threads, void **args)
{
    OK(launch(kernel, blocks, threads, 0, args));
    OK(cudaDeviceSynchronize());
}

void *device(const void *from, size_t bytes)
{
    void *p = NULL;
    OK(cudaMalloc(&p, bytes));
    if (from)
        OK(cudaMemcpy(p, from, bytes, cudaMemcpyHostToDevice));
    else
        OK(cudaMemset(p, 0, bytes));
    return p;
}

void fetch(void *to, const void *from, size_t bytes)
{
    OK(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}

static int ear = -1, listened, before;

void listen_to(int fd)
{
    fflush(NULL);
    ear = memfd_create("heard", MFD_CLOEXEC);
    listened = fd;
    before = dup(fd);
    ck_assert_msg(ear >= 0 && before >= 0 && dup2(ear, fd) == fd, "cannot listen to %d", fd);
}

char *heard(void)
{
    fflush(NULL);
    off_t n = lseek(ear, 0, SEEK_END);
    char *text = calloc(1, (size_t)n + 1);
    ck_assert_int_eq(pread(ear, text, (size_t)n, 0), n);
    dup2(before, listened);
    close(before);
    close(ear);
    return text;
}
