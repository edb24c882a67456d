/* fixture.c - libFuzzer target: any bytes as a recording, and what it holds through every model. */
#include "field/fixture.h"
#include "field/stream.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
    char why[200];
    op_fixture *f = op_fixture_parse((const char *)data, n, why, sizeof why);
    for (int k = 0; f && k < OP_MODELS; k++) {
        op_stream_result r;
        op_stream_run(f, (op_model_kind)k, &(op_stream){(uint64_t)1 << 28, 1, 2, NULL}, &r);
    }
    op_fixture_free(f);
    return 0;
}
