# Every mutant: the patch NAME.patch, what it breaks, the invariant of the sweep (README, "What must hold") that it breaks,
# and the cases that tell: PASS without faults, FAIL by a check. MUTANTS.md is made from this.

oomproof_mutant(catch-all INVARIANT 7
  WHAT "every failure is taken for an out-of-memory"
  FILES trainer/recovery/classify.c SUITE oomonly PRECISION float
  PASS an_oom_from_the_allocator_is_recovered_exactly
  FAIL a_shape_error_is_refused_with_cause_phase_and_site a_nan_loss_is_refused_and_no_parameter_moves)
oomproof_mutant(no-floor-guard INVARIANT 5
  WHAT "splitting does not end at the floor"
  FILES trainer/recovery/split.c trainer/recovery/recover.c SUITE floor PRECISION float
  PASS sizes_around_the_floor_are_tried_whole_and_never_lost
  FAIL nothing_fits_ends_within_the_bound_for_every_geometry auto_tree_of_cuts_has_at_most_two_leaves_less_one_nodes)
oomproof_mutant(zero-grad-per-fragment INVARIANT 1
  WHAT "the gradient is zeroed for every fragment"
  FILES trainer/loop/trainer.c SUITE gradient PRECISION double
  PASS smaller_gather_chunks_give_the_same_gradient
  FAIL splitting_by_scene_gives_the_unsplit_gradient)
oomproof_mutant(no-staging INVARIANT 3
  WHAT "what failed is not brought to the host before the retry"
  FILES trainer/recovery/recover.c SUITE staging PRECISION float
  PASS a_batch_that_fits_stages_nothing
  FAIL live_bytes_are_the_baseline_at_the_first_call_of_each_retry)
oomproof_mutant(silent-skip INVARIANT 2
  WHAT "points at the floor are left out of the ledger"
  FILES trainer/recovery/recover.c SUITE queue PRECISION float
  PASS a_batch_that_fits_is_one_attempt
  FAIL a_scene_that_never_reached_the_device_is_named)
oomproof_mutant(fragment-lost INVARIANT 2
  WHAT "one of the pieces of a split is forgotten"
  FILES trainer/recovery/recover.c SUITE queue PRECISION float
  PASS a_batch_that_fits_is_one_attempt
  FAIL scenes_are_split_before_space)
oomproof_mutant(no-release INVARIANT 3
  WHAT "the allocator gives nothing back"
  FILES trainer/recovery/recover.c SUITE queue PRECISION float
  PASS a_batch_that_fits_is_one_attempt
  FAIL a_failing_release_ends_the_batch)
oomproof_mutant(last-error-kept INVARIANT 6
  WHAT "the last error is not cleared"
  FILES trainer/recovery/recover.c SUITE queue PRECISION float
  PASS a_batch_that_fits_is_one_attempt
  FAIL the_last_error_is_cleared_before_every_retry)
oomproof_mutant(split-before-retry INVARIANT 5
  WHAT "the same again is never tried"
  FILES trainer/recovery/recover.c SUITE queue PRECISION float
  PASS a_batch_that_fits_is_one_attempt
  FAIL a_transient_oom_is_repeated_and_nothing_is_split)
oomproof_mutant(ambiguous-retried INVARIANT 7
  WHAT "an ambiguous failure is tried more than once more"
  FILES trainer/recovery/recover.c SUITE queue PRECISION float
  PASS a_batch_that_fits_is_one_attempt
  FAIL an_ambiguous_failure_is_tried_once_more_and_never_split)
oomproof_mutant(host-memory-split INVARIANT 7
  WHAT "host memory is split for"
  FILES trainer/recovery/classify.c SUITE queue PRECISION float
  PASS a_batch_that_fits_is_one_attempt
  FAIL host_memory_is_not_split_for)
oomproof_mutant(sticky-as-oom INVARIANT 7
  WHAT "a sticky error is taken for an out-of-memory"
  FILES trainer/recovery/classify.c SUITE queue PRECISION float
  PASS a_batch_that_fits_is_one_attempt
  FAIL a_sticky_error_is_fatal)
oomproof_mutant(dead-context-ignored INVARIANT 7
  WHAT "a dead context is not noticed"
  FILES trainer/recovery/recover.c SUITE queue PRECISION float
  PASS a_batch_that_fits_is_one_attempt
  FAIL an_ambiguous_failure_on_a_dead_context_is_fatal)
oomproof_mutant(commit-given-up INVARIANT 1
  WHAT "an out-of-memory while committing ends the batch"
  FILES trainer/recovery/recover.c SUITE queue PRECISION float
  PASS a_batch_that_fits_is_one_attempt
  FAIL an_oom_while_committing_is_repeated_once)
oomproof_mutant(halo-forgotten INVARIANT 1
  WHAT "pieces have no halo"
  FILES trainer/recovery/split.c SUITE gradient PRECISION double
  PASS smaller_gather_chunks_give_the_same_gradient
  FAIL splitting_in_space_with_the_halo_gives_the_unsplit_gradient)
oomproof_mutant(not-supported-as-oom INVARIANT 7
  WHAT "not supported is taken for an out-of-memory"
  FILES trainer/recovery/classify.c SUITE oomonly PRECISION float
  PASS an_oom_from_the_allocator_is_recovered_exactly
  FAIL a_cudnn_not_supported_is_refused)
oomproof_mutant(nan-as-oom INVARIANT 7
  WHAT "a NaN loss is taken for an out-of-memory"
  FILES trainer/recovery/classify.c SUITE oomonly PRECISION float
  PASS an_oom_from_the_allocator_is_recovered_exactly
  FAIL a_nan_loss_is_refused_and_no_parameter_moves)
oomproof_mutant(cache-kept INVARIANT 3
  WHAT "a release that does nothing"
  FILES trainer/loop/trainer.c SUITE staging PRECISION float
  PASS a_batch_that_fits_stages_nothing
  FAIL the_caching_allocator_gives_everything_back)
oomproof_mutant(cuda-error-kept INVARIANT 6
  WHAT "the runtime keeps its last error"
  FILES trainer/loop/trainer.c SUITE staging PRECISION float
  PASS a_batch_that_fits_stages_nothing
  FAIL a_hundred_ooms_leak_nothing)
oomproof_mutant(mean-of-means INVARIANT 1
  WHAT "each fragment divides by its own points"
  FILES trainer/loop/trainer.c SUITE gradient PRECISION double
  PASS smaller_gather_chunks_give_the_same_gradient
  FAIL splitting_by_scene_gives_the_unsplit_gradient)
oomproof_mutant(step-per-fragment INVARIANT 1
  WHAT "the optimiser steps for every fragment"
  FILES trainer/loop/trainer.c SUITE gradient PRECISION double
  PASS smaller_gather_chunks_give_the_same_gradient
  FAIL splitting_by_scene_gives_the_unsplit_gradient)
oomproof_mutant(halo-off-by-one INVARIANT 1
  WHAT "a piece sees one voxel less than the net does"
  FILES trainer/recovery/split.c SUITE gradient PRECISION double
  PASS smaller_gather_chunks_give_the_same_gradient
  FAIL splitting_in_space_with_the_halo_gives_the_unsplit_gradient)
oomproof_mutant(dropout-redrawn INVARIANT 1
  WHAT "each try draws its dropout anew"
  FILES trainer/loop/trainer.c SUITE learning PRECISION float
  FAIL a_retry_draws_the_same_dropout_in_every_bit_and_the_next_step_another)
oomproof_mutant(redrawn-on-retry INVARIANT 1
  WHAT "each try draws its augmentation anew"
  FILES trainer/loop/trainer.c SUITE everyalloc PRECISION float
  FAIL every_allocation_fails_once_and_the_step_is_the_same)
oomproof_mutant(scene-id-reset INVARIANT 2
  WHAT "a piece says that it is of scene 0"
  FILES trainer/recovery/fragment.c SUITE floor PRECISION float
  PASS sizes_around_the_floor_are_tried_whole_and_never_lost
  FAIL fields_are_sliced_by_kind_not_by_length)
oomproof_mutant(sliced-by-length INVARIANT 1
  WHAT "a field of classes is sliced like points where there are as many"
  FILES trainer/recovery/fragment.c SUITE floor PRECISION float
  PASS sizes_around_the_floor_are_tried_whole_and_never_lost
  FAIL fields_are_sliced_by_kind_not_by_length)
oomproof_mutant(scene-field-shared INVARIANT 1
  WHAT "every piece has the scene fields of the first scene"
  FILES trainer/recovery/fragment.c SUITE floor PRECISION float
  PASS sizes_around_the_floor_are_tried_whole_and_never_lost
  FAIL fields_are_sliced_by_kind_not_by_length)
oomproof_mutant(staged-without-wait INVARIANT 4 LAZY
  WHAT "the host copy is used before the copy was waited for (lazy streams see it)"
  FILES trainer/recovery/stage.c SUITE staging PRECISION float
  PASS a_batch_that_fits_stages_nothing
  FAIL the_staged_copy_is_what_was_on_the_device_of_a_caching_allocator)
oomproof_mutant(committed-twice INVARIANT 1
  WHAT "after a retry a fragment is added twice"
  FILES trainer/recovery/recover.c SUITE gradient PRECISION double
  PASS smaller_gather_chunks_give_the_same_gradient
  FAIL zero_grad_per_fragment_and_mean_of_means_are_seen)
oomproof_mutant(floor-tried-later INVARIANT 5
  WHAT "scenes just above the floor are cut although a half must be at it"
  FILES trainer/recovery/split.c SUITE floor PRECISION float
  PASS sizes_around_the_floor_are_tried_whole_and_never_lost
  FAIL nothing_fits_ends_within_the_bound_for_every_geometry)
oomproof_mutant(told-by-message INVARIANT 7
  WHAT "an out-of-memory is told by words of the message"
  FILES trainer/recovery/classify.c SUITE oomonly PRECISION float
  PASS an_oom_from_the_allocator_is_recovered_exactly
  FAIL the_legacy_cudnn_alloc_failed_is_host_memory)
oomproof_mutant(half-backward-kept INVARIANT 1
  WHAT "what a half-done backward pass left is not zeroed"
  FILES trainer/net/pass.c SUITE gradient PRECISION double
  PASS smaller_gather_chunks_give_the_same_gradient
  FAIL an_oom_in_the_middle_of_backward_gives_the_unsplit_gradient)
oomproof_mutant(statistics-of-failures INVARIANT 1
  WHAT "a failed attempt changes the running statistics"
  FILES trainer/loop/trainer.c SUITE oomonly PRECISION float
  PASS an_oom_from_the_allocator_is_recovered_exactly
  FAIL a_failed_attempt_leaves_no_trace_in_the_running_statistics)
oomproof_mutant(step-by-one-weight INVARIANT 1
  WHAT "a step of several batches is divided by the weight of its last"
  FILES trainer/loop/step.c SUITE accum PRECISION double
  PASS the_schedule_counts_steps
  FAIL a_step_of_three_batches_is_that_of_one_batch_of_their_scenes)
oomproof_mutant(voided-sum-goes-on INVARIANT 1
  WHAT "a sum of gradients that cannot be trusted goes into the next step"
  FILES trainer/loop/step.c SUITE accum PRECISION double
  PASS a_step_of_three_batches_is_that_of_one_batch_of_their_scenes
  FAIL a_sum_that_cannot_be_trusted_is_given_up_and_said)
oomproof_mutant(voided-statistics-stay INVARIANT 1
  WHAT "what batch norm learnt in a step that was not taken stays"
  FILES trainer/loop/step.c SUITE accum PRECISION double
  PASS a_step_of_three_batches_is_that_of_one_batch_of_their_scenes
  FAIL statistics_that_a_voided_step_learnt_go_with_it)
oomproof_mutant(statistics-of-the-halo INVARIANT 1
  WHAT "batch norm learns from the halo too, whose voxels another piece learns from"
  FILES trainer/net/voxelise.c SUITE batchnorm PRECISION double
  PASS an_unsplit_batch_has_no_bias_and_pieces_have_the_one_of_the_formula
  FAIL running_statistics_of_the_first_norm_are_cudnns_however_the_batch_is_cut)
oomproof_mutant(frozen-by-scene-only INVARIANT 1
  WHAT "pieces of a scene are normalised by their own statistics where all were to take the running ones"
  FILES trainer/loop/trainer.c SUITE batchnorm PRECISION double
  PASS an_unsplit_batch_has_no_bias_and_pieces_have_the_one_of_the_formula
  FAIL frozen_pieces_add_up_and_learn_the_statistics_of_the_whole)
oomproof_mutant(failure-ignored INVARIANT 7
  WHAT "the optimiser steps on the gradient of a batch that failed"
  FILES trainer/loop/trainer.c SUITE oomonly PRECISION float
  PASS an_oom_from_the_allocator_is_recovered_exactly
  FAIL a_shape_error_is_refused_with_cause_phase_and_site)
oomproof_mutant(step-without-points INVARIANT 1
  WHAT "a step is taken for a batch that was dropped whole"
  FILES trainer/loop/step.c SUITE ends PRECISION float
  PASS scenes_at_the_edge_of_the_floor_train_whole
  FAIL nothing_fits_ends_for_every_geometry_on_the_trainer)
oomproof_mutant(ambiguous-as-oom INVARIANT 7
  WHAT "an internal error of cuBLAS is split for"
  FILES trainer/recovery/classify.c SUITE queue PRECISION float
  PASS a_batch_that_fits_is_one_attempt
  FAIL an_ambiguous_failure_is_tried_once_more_and_never_split)
oomproof_mutant(chunks-forgotten INVARIANT 5
  WHAT "pieces lose the smaller workspace that did not suffice"
  FILES trainer/recovery/fragment.c SUITE queue PRECISION float
  PASS a_batch_that_fits_is_one_attempt
  FAIL smaller_chunks_are_left_to_the_pieces_of_what_never_got_so_far)
oomproof_mutant(second-mark-allowed INVARIANT 2
  WHAT "the ledger takes a point twice"
  FILES trainer/recovery/ledger.c SUITE queue PRECISION float
  PASS a_batch_that_fits_is_one_attempt
  FAIL a_point_trained_twice_is_caught)
oomproof_mutant(open-points-allowed INVARIANT 2
  WHAT "the ledger takes points of unknown fate"
  FILES trainer/recovery/ledger.c SUITE queue PRECISION float
  PASS a_batch_that_fits_is_one_attempt
  FAIL the_ledger_names_what_is_left_open)
oomproof_mutant(bound-ignored INVARIANT 5
  WHAT "attempts may pass their bound"
  FILES trainer/recovery/recover.c SUITE broken PRECISION float
  PASS augmenting_that_fails_for_another_reason_drops_nothing
  FAIL a_recovery_that_does_not_end_is_stopped_at_the_bound)
oomproof_mutant(baseline-unchecked INVARIANT 3
  WHAT "memory that stays after a failure is not noticed"
  FILES trainer/recovery/recover.c SUITE queue PRECISION float
  PASS a_batch_that_fits_is_one_attempt
  FAIL memory_that_stays_after_a_failure_is_refused)
oomproof_mutant(median-without-id INVARIANT 1
  WHAT "equal coordinates are halved by their place in the file"
  FILES trainer/recovery/split.c SUITE floor PRECISION float
  PASS sizes_around_the_floor_are_tried_whole_and_never_lost
  FAIL identical_points_are_halved_by_point_id)
oomproof_mutant(halo-owned INVARIANT 2
  WHAT "halo points carry loss"
  FILES trainer/recovery/split.c SUITE floor PRECISION float
  PASS sizes_around_the_floor_are_tried_whole_and_never_lost
  FAIL nothing_fits_ends_within_the_bound_for_every_geometry)
oomproof_mutant(floor-error-dropped INVARIANT 2
  WHAT "points are dropped where that is an error"
  FILES trainer/recovery/recover.c SUITE floor PRECISION float
  PASS sizes_around_the_floor_are_tried_whole_and_never_lost
  FAIL floor_error_refuses_instead_of_dropping)
oomproof_mutant(ignored-points-weigh INVARIANT 1
  WHAT "ignored points count in the divisor"
  FILES trainer/recovery/fragment.c SUITE fragment PRECISION float
  PASS only_one_scene_on_the_host_is_cut_in_space
  FAIL halo_and_ignored_points_weigh_nothing)
oomproof_mutant(augmented-twice INVARIANT 1
  WHAT "pieces are augmented again"
  FILES trainer/recovery/fragment.c SUITE gradient PRECISION double
  PASS smaller_gather_chunks_give_the_same_gradient
  FAIL splitting_by_scene_gives_the_unsplit_gradient)
oomproof_mutant(again-for-ever INVARIANT 5
  WHAT "a batch of several scenes is tried again and again"
  FILES trainer/recovery/recover.c SUITE queue PRECISION float
  PASS a_batch_that_fits_is_one_attempt
  FAIL scenes_are_split_before_space)
oomproof_mutant(pinned-host-as-device INVARIANT 7
  WHAT "pinned host memory is split for"
  FILES trainer/recovery/classify.c SUITE queue PRECISION float
  PASS a_batch_that_fits_is_one_attempt
  FAIL host_memory_is_not_split_for)
oomproof_mutant(gradient-kept-after-failure INVARIANT 1
  WHAT "the gradient of a refused batch stays"
  FILES trainer/loop/step.c SUITE oomonly PRECISION float
  PASS an_oom_from_the_allocator_is_recovered_exactly
  FAIL a_batch_refused_half_way_leaves_gradient_and_statistics_as_before)
oomproof_mutant(running-kept-after-failure INVARIANT 1
  WHAT "the running statistics of a refused batch stay"
  FILES trainer/loop/step.c SUITE batchnorm PRECISION double
  PASS a_piece_that_failed_leaves_no_trace_in_the_statistics
  FAIL a_refused_step_leaves_the_statistics_as_before)
oomproof_mutant(dropped-counted-trained INVARIANT 2
  WHAT "dropped points are called trained"
  FILES trainer/recovery/recover.c SUITE queue PRECISION float
  PASS a_batch_that_fits_is_one_attempt
  FAIL a_scene_that_never_reached_the_device_is_named)
oomproof_mutant(cut-without-guard INVARIANT 5
  WHAT "a cut may leave one side empty, so that a pole never ends"
  FILES trainer/recovery/split.c SUITE floor PRECISION float
  PASS sizes_around_the_floor_are_tried_whole_and_never_lost
  FAIL a_pole_is_cut_along_z_where_x_and_y_cannot)
oomproof_mutant(chunks-marked-untried INVARIANT 5
  WHAT "smaller chunks count as tried where they could not be"
  FILES trainer/recovery/recover.c SUITE queue PRECISION float
  PASS a_batch_that_fits_is_one_attempt
  FAIL smaller_chunks_are_left_to_the_pieces_of_what_never_got_so_far)
oomproof_mutant(divisor-shrinks INVARIANT 1
  WHAT "once points were dropped, what is left divides by less"
  FILES trainer/loop/trainer.c SUITE gradient PRECISION double
  PASS smaller_gather_chunks_give_the_same_gradient
  FAIL dropped_points_are_ignored_labels_with_the_same_divisor)
oomproof_mutant(released-before-copied INVARIANT 4
  WHAT "a field is freed before it was copied to the host"
  FILES trainer/recovery/stage.c SUITE staging PRECISION float
  PASS a_batch_that_fits_stages_nothing
  FAIL the_staged_copy_is_what_was_on_the_device)
oomproof_mutant(smaller-or-not INVARIANT 5
  WHAT "chunks that are no smaller count as a remedy"
  FILES trainer/recovery/recover.c SUITE queue PRECISION float
  PASS a_batch_that_fits_is_one_attempt
  FAIL chunks_that_are_no_smaller_are_not_tried)
oomproof_mutant(device-asked-in-handler INVARIANT 5
  WHAT "device memory is asked for before that of the failure is given back"
  FILES trainer/loop/trainer.c SUITE batchwise PRECISION double
  PASS a_batch_that_fits_says_so_once
  FAIL between_a_failure_and_its_retry_nothing_is_asked_of_the_device)
oomproof_mutant(after-batch-per-fragment INVARIANT 1
  WHAT "after_batch fires for every fragment of a batch that was cut"
  FILES trainer/loop/trainer.c SUITE batchwise PRECISION double
  PASS a_batch_that_fits_says_so_once
  FAIL hooks_of_a_batch_fire_once_however_it_was_cut)
oomproof_mutant(metrics-of-failures INVARIANT 1
  WHAT "the loss of a failed attempt is counted"
  FILES trainer/loop/trainer.c SUITE batchwise PRECISION double
  PASS a_batch_that_fits_says_so_once
  FAIL metrics_of_pieces_are_those_of_the_whole)
oomproof_mutant(metrics-of-last-fragment INVARIANT 1
  WHAT "a batch's metrics are those of its last fragment"
  FILES trainer/loop/trainer.c SUITE batchwise PRECISION double
  PASS a_batch_that_fits_says_so_once
  FAIL metrics_of_pieces_are_those_of_the_whole)
oomproof_mutant(remedy-kept-for-ever INVARIANT 1
  WHAT "smaller chunks stay for all later batches (a ratchet)"
  FILES trainer/loop/trainer.c SUITE batchwise PRECISION double
  PASS a_batch_that_fits_says_so_once
  FAIL what_a_batch_needed_is_forgotten_by_the_next)
oomproof_mutant(floor-itself-tried INVARIANT 5
  WHAT "a half of exactly the floor is tried"
  FILES trainer/recovery/recover.c SUITE floor PRECISION float
  PASS sizes_around_the_floor_are_tried_whole_and_never_lost
  FAIL a_half_of_exactly_the_floor_is_dropped_untried)
oomproof_mutant(half-left-at-floor INVARIANT 5
  WHAT "the default cut leaves a half of exactly the floor"
  FILES trainer/recovery/split.c SUITE floor PRECISION float
  PASS sizes_around_the_floor_are_tried_whole_and_never_lost
  FAIL a_half_of_exactly_the_floor_is_dropped_untried)
oomproof_mutant(overflow-keeps-its-scale INVARIANT 7
  WHAT "a gradient that is none takes no step, and the scale stays as it is: NaN passes in silence, for ever"
  FILES trainer/loop/step.c SUITE amp PRECISION float
  PASS the_scale_grows_after_many_good_steps
  FAIL an_overflow_is_no_failure_and_changes_only_the_scale a_nan_at_scale_1_is_an_error)
oomproof_mutant(overflow-keeps-statistics INVARIANT 1
  WHAT "running statistics of a batch that overflowed stay"
  FILES trainer/loop/trainer.c SUITE amp PRECISION float
  PASS the_scale_grows_after_many_good_steps
  FAIL an_overflow_is_no_failure_and_changes_only_the_scale)
oomproof_mutant(scale-of-loss-not-undone INVARIANT 1
  WHAT "the step is taken with the scaled gradient"
  FILES trainer/loop/step.c SUITE amp PRECISION float
  PASS the_scale_grows_after_many_good_steps
  FAIL the_scale_does_not_show_in_the_step)
oomproof_mutant(scores-of-the-last-piece INVARIANT 8
  WHAT "a scene that was split for a validation has the scores of its last piece"
  FILES trainer/loop/trainer.c SUITE parts PRECISION double
  PASS a_validation_that_failed_is_told
  FAIL a_validation_is_the_same_whatever_was_split)
oomproof_mutant(validation-leak-untold INVARIANT 8
  WHAT "a block that the last scene of a validation could not give back is not told"
  FILES trainer/loop/evaluate.c SUITE parts PRECISION double
  PASS a_validation_that_failed_is_told
  FAIL a_block_that_the_last_scene_cannot_give_back_is_told)
oomproof_mutant(checkpoint-emptied-first INVARIANT 8
  WHAT "the checkpoint is emptied before the new one is there"
  FILES trainer/loop/checkpoint.c SUITE parts PRECISION double
  PASS a_validation_that_failed_is_told
  FAIL a_checkpoint_is_as_without_the_failure_or_the_one_before)
