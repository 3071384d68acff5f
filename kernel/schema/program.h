/* program.h - a compiled pattern from inside; for pattern.c and program.c only. */
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

#endif
