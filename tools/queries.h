/* queries.h - SQL statements that stand in files, for C code as macros. It uses libc alone: the
 * build makes the kernel's statements with it before there is a kernel.
 * docs/reference/plugin-abi.md section 12. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Writes "#define QUERY_NAME ..." for each NAME.sql of a folder, in the order of their names, and
 * adds the folder and its files to a list for make (depfile, may be NULL). Returns false after a
 * message on stderr. */
bool queries_write(FILE *out, FILE *depfile, const char *dir);
