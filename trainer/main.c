/* main.c - pointtrain: trains a point-cloud net and survives running out of device memory. */
#include "loop/apply.h"
#include "loop/options.h"
#include "loop/train.h"

int main(int argc, char **argv)
{
    pt_options o;
    int code;
    if (!pt_options_parse(argc, argv, &o, &code)) return code;
    switch (o.command) {
    case PT_INFO: code = pt_info(&o); break;
    case PT_EVAL:
    case PT_PREDICT: code = pt_apply(&o); break;
    default: code = pt_train(&o);
    }
    pt_options_free(&o);
    return code;
}
