/* program.h - a compiled pattern from inside; for pattern.c, pattern_set.c and program.c only. */
#ifndef WHARF_SCHEMA_PROGRAM_H
#define WHARF_SCHEMA_PROGRAM_H

#include "schema/schema.h"

enum { PROGRAM_MAX = 4096 };

enum op { OP_RANGES, OP_SPLIT, OP_JUMP, OP_START, OP_END, OP_WORD_EDGE, OP_NO_WORD_EDGE, OP_MATCH };

struct range {
    uint32_t low, high;
};

struct instruction {
    enum op op;
    int to, or_to; /* OP_JUMP: to; OP_SPLIT: both; relative to this instruction */
    const struct range *ranges; /* OP_RANGES: sorted, not overlapping */
    size_t n_ranges;
    uint64_t ascii[2]; /* the same for code points below 128 */
};

struct pattern {
    const struct instruction *program;
    size_t size;
    bool anchored; /* begins with ^ */
};

/* ---- reading the source (pattern_set.c) ---- */

enum { RANGES_MAX = 256 };

struct ranges { /* of one class, while it is read */
    struct range list[RANGES_MAX];
    size_t n;
};

struct source {
    const char *p, *end;
    const char *error; /* the first; then p is end */
};

void source_fail(struct source *s, const char *message);
uint32_t source_char(struct source *s);
/* Reads the character behind a backslash; \d and its like were handled before. */
uint32_t source_escape(struct source *s, bool in_class);
/* Adds the set of \d \D \w \W \s \S. Returns false when the letter is none of them. */
bool ranges_named(struct source *s, struct ranges *set, char letter);
/* Sorts and joins; then the complement if wanted. */
void ranges_settle(struct source *s, struct ranges *set, bool negate);
/* Reads the whole class behind '[', settled. */
void ranges_class(struct source *s, struct ranges *set);
void ranges_dot(struct source *s, struct ranges *set);

#endif
