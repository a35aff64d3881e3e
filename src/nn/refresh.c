/* refresh.c - batch-norm statistics taken again without dropout, after training: of the last checkpoint and of every
 * other one that predictions may use. The statistics of the last one mark the run as finished, so it is
 * written last. */
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include "nn/resident_data.h"
#include "nn/trainer.h"

bool vg_train__wants_refresh(const vg_training *t) {
    const vg_network *net = t->learner->model->net;
    bool both = net->norm_count > 0 && net->first_dropout < net->node_count;
    return t->recipe.bn_refresh < 0 ? both : t->recipe.bn_refresh && net->norm_count > 0;
}

static vg_status take_statistics(vg_training *t) {
    const vg_feed *feed = &t->options.train;
    VG_TRY(t->resident ? vg_resident_data__epoch(t->resident, t->recipe.epochs)
                       : feed->seek(feed->context, t->recipe.epochs, 0));
    for (size_t i = 0; i < feed->steps; i++) {
        vg_nn_batch batch = {.n = t->resident ? vg_train__resident_rows(t, i) : 0};
        if (!t->resident)
            VG_TRY(feed->next(feed->context, &batch));
        VG_TRY(vg_learner__refresh(t->learner, batch.images, t->resident ? vg_resident_data__store(t->resident) : NULL,
                                   (uint64_t)i * t->recipe.batch, batch.n, i));
        if (vg_train__event(t, (vg_train_event){.kind = VG_TRAIN_REFRESH, .step = i + 1, .loss = NAN}))
            return vg_base__fail(
                VG_ERR_INTERRUPTED,
                "stopped while taking batch-norm statistics again; the checkpoint is %s/last.safetensors, and "
                "resume takes them from the start",
                t->options.folder);
    }
    t->learner->model->has_refreshed = true;
    return VG_OK;
}

/* Predictions use the running mean of the parameters where there is one, so the statistics are taken with it. */
static vg_status refresh_once(vg_training *t) {
    vg_learner__exchange(t->learner);
    vg_status status = take_statistics(t);
    vg_learner__exchange(t->learner);
    return status;
}

/* Refreshes the other checkpoints. */
static vg_status refresh_others(vg_training *t) {
    char last[4096], name[VG_SNAPSHOT_NAME];
    bool earlier = t->state.best_epoch > 0 && t->state.best_epoch < t->state.epoch;
    if (earlier)
        VG_TRY(vg_train__rewrite(t, "best.safetensors", refresh_once));
    for (size_t i = 1; i <= t->recipe.snapshots; i++)
        VG_TRY(vg_train__rewrite(t, vg_train__snapshot_name(name, i), refresh_once));
    if (!earlier && !t->recipe.snapshots)
        return VG_OK;
    VG_TRY(vg_train__path(last, sizeof last, t, "last.safetensors"));
    return vg_checkpoint__load(last, t->learner, true);
}

vg_status vg_train__refresh(vg_training *t) {
    VG_TRY(refresh_others(t));
    VG_TRY(refresh_once(t));
    if (t->state.best_epoch == t->state.epoch)
        VG_TRY(vg_train__save(t, "best.safetensors", false));
    if (t->recipe.ensemble != VG_ENSEMBLE_MCD) { /* MCD is validated with dropout, on the running statistics */
        vg_epoch_metrics m = {0};
        VG_TRY(vg_train__validate(t, &m));
        VG_TRY(vg_train__log_refreshed(t, &m));
        vg_train__text(t, VG_TRAIN_NOTE, "with batch-norm refreshed: val loss %.4f  accuracy %.4f  ECE %.4f",
                       m.val_loss, m.val_accuracy, m.val_ece);
    }
    return vg_train__save(t, "last.safetensors", true);
}
