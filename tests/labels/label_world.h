/* label_world.h - the world of the reader of labels (modules/inference/label.h) for programs that
 * have no server: carriers of schemas/carriers.json, memory of an arena. */
#ifndef LABEL_WORLD_H
#define LABEL_WORLD_H

#include "label.h"
#include "util/arena.h"

struct label_world;

/* Reads the carriers; ends the program where they can't be read. The file is below the folder of
 * the environment variable WHARF_SOURCE, or where the program stands. */
struct label_world *label_world_new(void);
void label_world_free(struct label_world *w);
/* An environment whose memory is of the arena. */
struct label_env label_world_env(
    struct label_world *w, struct arena *arena, const char *country, int64_t today);
/* Finds the name of a provider. */
wharf_str label_world_provider(const struct label_world *w, wharf_str id);

#endif
