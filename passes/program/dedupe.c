// dedupe: kernels that are equal up to names become one.
//
//   step "layer.0" = dense(…)          step "layer.0" = dense(…)
//   step "layer.1" = dense_1(…)   →    step "layer.1" = dense(…)
//
// Requires: nothing. Establishes: kernels are distinct, each is run by a step, and they stand in
// the order of their first step. Does not look through what is written differently and computes the
// same. Linear, by hashes.
#include "passes/pass.h"

typedef struct Kept {
    uint32_t index; // in the new list
    uint64_t hash;
} Kept;

// An open table of kernels by hash; nslots is a power of two, more than the kernels.
typedef struct Table {
    Kept *slots;
    bool *used;
    size_t nslots;
} Table;

static Kept *find_slot(const Table *t, Kernel *const *kept, const Kernel *k, uint64_t hash)
{
    size_t i = (size_t)hash & (t->nslots - 1);
    while (t->used[i] && (t->slots[i].hash != hash || !kernel_equal(kept[t->slots[i].index], k)))
        i = (i + 1) & (t->nslots - 1);
    return &t->slots[i];
}

bool pass_dedupe(PassContext *cx, Program *p)
{
    (void)cx;
    Arena *tmp = arena_create();
    Table table = {.nslots = 16};
    while (table.nslots <= 2 * p->kernels.n)
        table.nslots *= 2;
    table.slots = arena_new(tmp, Kept, table.nslots);
    table.used = arena_new(tmp, bool, table.nslots);
    Kernel **kept = arena_new(tmp, Kernel *, p->kernels.n);
    uint32_t *number = arena_new(tmp, uint32_t, p->kernels.n); // of the kept one, from 1
    uint32_t nkept = 0;
    for (size_t i = 0; i < p->steps.n; i++) {
        Step *step = &p->steps.items[i];
        if (step->kernel >= p->kernels.n)
            die("step %.*s has no kernel", STR_ARG(step->name));
        Kernel *k = p->kernels.items[step->kernel];
        if (number[step->kernel] == 0) {
            uint64_t hash = kernel_hash(k);
            Kept *slot = find_slot(&table, kept, k, hash);
            if (!table.used[slot - table.slots]) {
                table.used[slot - table.slots] = true;
                *slot = (Kept){.index = nkept, .hash = hash};
                kept[nkept++] = k;
            }
            number[step->kernel] = slot->index + 1;
        }
        step->kernel = number[step->kernel] - 1;
    }
    for (size_t i = 0; i < nkept; i++)
        p->kernels.items[i] = kept[i];
    p->kernels.n = nkept;
    arena_destroy(tmp);
    return true;
}
