/* variants.c - calls that have another name in a program which is compiled for per-thread default
 * streams. Built both ways. Prints their results: 0, or 13 for a symbol that is none. */
#include <cuda_runtime_api.h>
#include <stdio.h>

static int symbol; /* not one of a device */

int main(void)
{
    float host[4] = {0}, *p = NULL, *from = host;
    size_t bytes = sizeof host;
    cudaStream_t s = NULL;
    cudaEvent_t e = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t run = NULL;
    cudaGraphInstantiateParams how = {0};
    struct cudaMemcpy3DParms box = {.extent = {16, 1, 1}, .kind = cudaMemcpyHostToDevice};
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice};
    printf("%d ", cudaMalloc((void **)&p, 4096));
    printf("%d ", cudaStreamCreate(&s));
    printf("%d:", cudaEventCreate(&e));
    struct cudaPitchedPtr block = {p, 64, 16, 1};
    box.srcPtr = (struct cudaPitchedPtr){host, 16, 16, 1};
    box.dstPtr = block;
    printf(" %d", cudaMemcpyToSymbol(&symbol, host, 4, 0, cudaMemcpyHostToDevice));
    printf(" %d", cudaMemcpyFromSymbol(host, &symbol, 4, 0, cudaMemcpyDeviceToHost));
    printf(" %d", cudaMemcpyToSymbolAsync(&symbol, host, 4, 0, cudaMemcpyHostToDevice, s));
    printf(" %d", cudaMemcpyFromSymbolAsync(host, &symbol, 4, 0, cudaMemcpyDeviceToHost, s));
    printf(" %d", cudaMemcpy3D(&box) != 0);
    printf(" %d", cudaMemcpy3DAsync(&box, s) != 0);
    printf(" %d", cudaMemset2D(p, 64, 0, 4, 4));
    printf(" %d", cudaMemset2DAsync(p, 64, 0, 4, 4, s));
    printf(" %d", cudaMemset3D(block, 0, box.extent) != 0);
    printf(" %d", cudaMemset3DAsync(block, 0, box.extent, s) != 0);
    struct cudaMemcpyAttributes about = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    printf(" %d", cudaMemcpyBatchAsync((void *const *)&p, (const void *const *)&from, &bytes, 1,
                                       &about, (size_t[]){0}, 1, s) != 0);
    printf(" %d", cudaMemPrefetchAsync(p, 4096, here, 0, s) != 0);
    printf(" %d", cudaEventRecord(e, s));
    printf(" %d", cudaStreamQuery(s));
    printf(" %d", cudaStreamWaitEvent(s, e, 0));
    printf(" %d", cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    printf(" %d", cudaStreamEndCapture(s, &graph));
    printf(" %d", cudaGraphInstantiateWithParams(&run, graph, &how) != 0);
    printf(" %d\n", cudaGraphUpload(run, s) != 0);
    return 0;
}
