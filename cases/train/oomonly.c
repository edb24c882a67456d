/* oomonly.c - property 1: only an out-of-memory is recovered; everything else reaches the user with
 * its cause, and leaves the state as it was. */
#include "case.h"
#include "rig.h"

static const rig_options small = {.scenes = 2, .points = {900, 700}, .allocator = PT_ALLOC_DIRECT};

/* The fault is recovered from without splitting, and nothing differs from the run without it. */
static void recovered(const char *rules)
{
    rig r;
    uint64_t fired;
    rig_open(&r, &small);
    rig_run(&r, NULL, NULL);
    ck_assert_msg(r.status == PT_OK, "without a fault: %s", r.error.message);
    rig_state whole = rig_state_copy(&r, &r.end);
    rig_run(&r, rules, &fired);
    ck_assert_msg(fired == 1, "%s fired %d times", rules, (int)fired);
    ck_assert_msg(r.status == PT_OK, "%s: not recovered: %s", rules, r.error.message);
    ck_assert_msg(!*rig_state_diff(&r, &r.end, &whole), "%s: different%s", rules,
                  rig_state_diff(&r, &r.end, &whole));
    ck_assert_int_ge(r.result.recover.retries, 1);
    ck_assert_int_eq(r.result.recover.splits_scene + r.result.recover.splits_space, 0);
    ck_assert_int_eq(r.result.dropped, 0);
    rig_check_invariants(&r, rules);
    rig_state_free(&whole);
    rig_close(&r);
}

/* The fault ends the batch at once, unsplit, with this class; nothing has changed. */
static rig refused(const char *rules, pt_status status, pt_class class, int exit_code)
{
    rig r;
    uint64_t fired;
    rig_open(&r, &small);
    rig_run(&r, rules, &fired);
    ck_assert_msg(fired >= 1, "%s never fired", rules);
    ck_assert_msg(r.status == status, "%s: status %d (%s)", rules, r.status, r.error.message);
    ck_assert_msg(pt_classify(&r.error) == class, "%s: classified as %s", rules,
                  pt_class_name(pt_classify(&r.error)));
    ck_assert_int_eq(pt_exit_code(&r.error, &r.result), exit_code);
    ck_assert_msg(r.result.recover.attempts == 1, "%s: tried %d times", rules,
                  (int)r.result.recover.attempts);
    ck_assert_int_eq(r.result.recover.splits_scene + r.result.recover.splits_space, 0);
    ck_assert_int_eq(r.stepped && r.result.stepped, 0);
    if (class != PT_CLASS_FATAL) {
        r.start.step++; /* the schedule advances */
        ck_assert_msg(!*rig_state_diff(&r, &r.end, &r.start), "%s: changed%s", rules,
                      rig_state_diff(&r, &r.end, &r.start));
        rig_check_invariants(&r, rules);
    }
    return r;
}

START_TEST(an_oom_from_the_allocator_is_recovered_exactly)
{
    recovered("cudaMalloc phase=forward nth=3 -> oom");
    recovered("cudaMalloc phase=backward nth=5 -> oom");
    recovered("cudaMalloc phase=load nth=2 -> oom");
    recovered("cudaMalloc phase=voxelise nth=2 -> oom");
}
END_TEST

START_TEST(an_oom_from_a_launch_is_recovered_exactly)
{
    recovered("cudaLaunchKernel phase=forward nth=4 -> oom");
    recovered("cudaLaunchKernel phase=backward nth=4 -> oom");
}
END_TEST

START_TEST(an_oom_from_cublas_is_recovered_exactly)
{
    recovered("cublas*gemm* phase=forward nth=5 -> oom");
    recovered("cublas*gemm* phase=backward nth=7 -> status(CUBLAS_STATUS_ALLOC_FAILED)");
}
END_TEST

START_TEST(an_oom_from_cudnn_is_recovered_exactly)
{
    recovered("cudnnSoftmaxForward nth=1 -> oom");
    recovered("cudnnActivationBackward nth=2 -> oom");
}
END_TEST

START_TEST(a_shape_error_is_refused_with_cause_phase_and_site)
{
    rig r = refused("cublas*gemm* phase=forward nth=3 -> shape(ldc=m-1)", PT_ERR_DEVICE,
                    PT_CLASS_NO, 11);
    ck_assert_int_eq(r.error.lib, PT_LIB_CUBLAS);
    ck_assert_int_eq(r.error.code, 7);
    ck_assert_str_eq(r.error.phase, "forward");
    ck_assert_msg(*r.error.site, "no site in: %s", r.error.message);
    ck_assert_ptr_nonnull(strstr(r.error.message, "CUBLAS_STATUS_INVALID_VALUE"));
    ck_assert_ptr_nonnull(strstr(r.error.message, r.error.site));
    rig_close(&r);
}
END_TEST

START_TEST(a_cublas_invalid_value_is_refused)
{
    rig r = refused("cublas*gemm* phase=backward nth=2 -> status(CUBLAS_STATUS_INVALID_VALUE)",
                    PT_ERR_DEVICE, PT_CLASS_NO, 11);
    ck_assert_str_eq(r.error.phase, "backward");
    rig_close(&r);
}
END_TEST

START_TEST(a_cudnn_not_supported_is_refused)
{
    rig r = refused("cudnn*Forward nth=2 -> status(CUDNN_STATUS_NOT_SUPPORTED)", PT_ERR_DEVICE,
                    PT_CLASS_NO, 11);
    ck_assert_int_eq(r.error.lib, PT_LIB_CUDNN);
    ck_assert_int_eq(r.error.code, 3000);
    rig_close(&r);
}
END_TEST

START_TEST(a_nan_loss_is_refused_and_no_parameter_moves)
{
    rig r = refused("cudaMemcpyAsync kind=d2h phase=loss nth=1 -> poison(nan, type=f64)",
                    PT_ERR_NAN, PT_CLASS_NO, 12);
    rig_close(&r);
}
END_TEST

START_TEST(a_nan_gradient_is_refused_and_no_parameter_moves)
{
    rig r = refused("cudaMemcpyAsync kind=d2h phase=step nth=1 -> poison(nan, type=f64)",
                    PT_ERR_NAN, PT_CLASS_NO, 12);
    rig_close(&r);
}
END_TEST

/* Batch norm: what an attempt makes of the running statistics counts when it is committed. */
START_TEST(a_failed_attempt_leaves_no_trace_in_the_running_statistics)
{
    rig_options o = small;
    rig r;
    uint64_t fired;
    o.norm = PT_NORM_BATCH;
    rig_open(&r, &o);
    rig_run(&r, NULL, NULL);
    ck_assert_msg(r.status == PT_OK, "without a fault: %s", r.error.message);
    rig_state whole = rig_state_copy(&r, &r.end);
    rig_run(&r, "cudaMalloc phase=backward nth=3 -> oom", &fired);
    ck_assert_int_eq(fired, 1);
    ck_assert_int_eq(r.status, PT_OK);
    ck_assert_msg(!*rig_state_diff(&r, &r.end, &whole), "different%s",
                  rig_state_diff(&r, &r.end, &whole));
    rig_state_free(&whole);
    rig_close(&r);
}
END_TEST

/* The first scene was committed before the second fails for another reason than memory. */
START_TEST(a_batch_refused_half_way_leaves_gradient_and_statistics_as_before)
{
    rig_options o = small;
    rig r;
    o.norm = PT_NORM_BATCH;
    rig_open(&r, &o);
    rig_run(&r,
            "cudaMalloc phase=forward times=3 -> oom;"
            "cudnnSoftmaxForward nth=2 -> status(CUDNN_STATUS_BAD_PARAM)",
            NULL);
    ck_assert_int_eq(r.status, PT_ERR_DEVICE);
    ck_assert_msg(r.result.recover.fragments == 1, "%d fragments were committed before",
                  (int)r.result.recover.fragments);
    r.start.step++;
    ck_assert_msg(!*rig_state_diff(&r, &r.end, &r.start), "changed%s",
                  rig_state_diff(&r, &r.end, &r.start));
    real *grad = malloc(sizeof *grad * r.t->net->nparams);
    ck_assert_int_eq(pt_trainer_read(r.t, r.t->net->grad, r.t->net->nparams, grad), PT_OK);
    for (size_t i = 0; i < r.t->net->nparams; i++)
        ck_assert_msg(grad[i] == 0, "the gradient of the refused batch is kept");
    free(grad);
    rig_close(&r);
}
END_TEST

START_TEST(a_sticky_illegal_address_is_fatal)
{
    rig r = refused("cudaLaunchKernel nth=20 -> error(cudaErrorIllegalAddress)", PT_ERR_DEVICE,
                    PT_CLASS_FATAL, 11);
    ck_assert_int_eq(r.error.code, 700);
    ck_assert_ptr_nonnull(strstr(r.error.message, "cudaErrorIllegalAddress"));
    rig_close(&r); /* on a dead device too: nothing is left on the host */
}
END_TEST

START_TEST(too_many_resources_is_not_memory)
{
    rig r = refused("cudaLaunchKernel phase=forward nth=2 -> status(cudaErrorLaunchOutOfResources)",
                    PT_ERR_DEVICE, PT_CLASS_NO, 11);
    rig_close(&r);
}
END_TEST

START_TEST(the_legacy_cudnn_alloc_failed_is_host_memory)
{
    rig r = refused("cudnn*Forward nth=1 -> status(4003)", PT_ERR_DEVICE, PT_CLASS_HOST, 10);
    rig_close(&r);
}
END_TEST

static const case_entry cases[] = {
#include "oomonly.def"
};
CASE_MAIN("oomonly")
