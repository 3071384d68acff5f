/* problem.h - telling what ends a file. Private to services/import. */
#ifndef WHARF_IMPORT_PROBLEM_H
#define WHARF_IMPORT_PROBLEM_H

#include "import/import.h"

/* Keeps the first problem; always false, so that it ends a function of that kind. */
bool problem_set(struct import_problem *p, const char *code, uint64_t line, uint64_t column,
    uint64_t offset, const char *fmt, ...) WHARF_PRINTF(6, 7);

#endif
