/* replay.c - runs a fuzz target without libFuzzer: each file of the folders named, then
 * mutations of them.
 *
 * The mutations come from a fixed seed, so that a failure comes again. Usage: fuzz_x ROUNDS
 * FOLDER... */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEEDS = 512, SIZE_MAX_SEED = 1 << 16 };

static struct seed {
    uint8_t *data;
    size_t size;
} seeds[SEEDS];
static size_t n_seeds;
static uint64_t state = 0x9e3779b97f4a7c15u;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void load(const char *folder)
{
    DIR *dir = opendir(folder);

    if (!dir) {
        fprintf(stderr, "%s: no such folder\n", folder);
        exit(2);
    }
    for (struct dirent *e; n_seeds < SEEDS && (e = readdir(dir));) {
        char path[4096];
        FILE *f;

        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
        f = fopen(path, "r");
        if (!f)
            continue;
        seeds[n_seeds].data = malloc(SIZE_MAX_SEED);
        seeds[n_seeds].size = fread(seeds[n_seeds].data, 1, SIZE_MAX_SEED, f);
        n_seeds++;
        fclose(f);
    }
    closedir(dir);
}

/* A seed with pieces of another, flipped bytes and cuts. Returns its size. */
static size_t mutate(uint8_t *out)
{
    const struct seed *s = &seeds[next_random() % n_seeds], *t = &seeds[next_random() % n_seeds];
    size_t n = s->size, cut;

    memcpy(out, s->data, n);
    if (t->size && next_random() % 2) {
        size_t from = next_random() % t->size, k = next_random() % (t->size - from) + 1,
               at = n ? next_random() % n : 0;

        memmove(out + at + k, out + at, n - at);
        memcpy(out + at, t->data + from, k);
        n += k;
    }
    for (uint64_t i = next_random() % 8; n && i > 0; i--)
        out[next_random() % n] = next_random() % 3
                                     ? (uint8_t) "&=[],.:!%+null\\\"'{}01"[next_random() % 21]
                                     : (uint8_t)next_random();
    cut = next_random() % 4 ? 0 : next_random() % (n + 1);
    return n - cut;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    uint8_t *out = malloc(2 * SIZE_MAX_SEED);

    for (int i = 2; i < argc; i++)
        load(argv[i]);
    for (size_t i = 0; i < n_seeds; i++)
        LLVMFuzzerTestOneInput(seeds[i].data, seeds[i].size);
    for (long i = 0; n_seeds && i < rounds; i++) {
        size_t n = mutate(out);
        uint8_t *exact = malloc(n ? n : 1); /* so that sanitizers see reads past the end */

        memcpy(exact, out, n);
        LLVMFuzzerTestOneInput(exact, n);
        free(exact);
    }
    free(out);
    printf("%zu seeds, %ld mutations\n", n_seeds, rounds);
    return n_seeds ? 0 : 2;
}
