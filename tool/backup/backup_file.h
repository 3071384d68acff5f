/* backup_file.h - one file of a backup, written and read as a stream: hashed, and sealed where the
 * backup is encrypted.
 *
 * A sealed file is the header of a secretstream of libsodium, then pieces of 64 KiB, each with the
 * file's name authenticated; the last piece says that it is the last. */
#ifndef WHARF_TOOL_BACKUP_FILE_H
#define WHARF_TOOL_BACKUP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/backup/backup_seal.h"

enum { SUM_TEXT = 64 };

/* The number of bytes, and their SHA-256 in hex. */
struct backup_sum {
    uint64_t size;
    char sha256[SUM_TEXT + 1];
};

struct backup_out;

/* Makes a file, by its name in the folder. seal: NULL for a file that anybody can read. NULL and
 * errno when it can't be made. */
struct backup_out *backup_out(int dir, const char *name, const struct backup_seal *seal);
/* Returns false when the bytes can't be written; errno is told by backup_out_end(), too. */
bool backup_out_write(struct backup_out *o, const void *bytes, size_t n);
/* Ends the file. What is on disk is in *ret_stored, what was given in *ret_given (or NULL). False
 * and errno: it is not whole. o is gone. */
bool backup_out_end(
    struct backup_out *o, struct backup_sum *ret_stored, struct backup_sum *ret_given);
/* Writes a small file whole. */
bool backup_out_text(int dir, const char *name, const struct backup_seal *seal, const char *text,
    size_t n, struct backup_sum *ret_stored);

enum backup_read {
    READ_WHOLE,
    READ_ABSENT,
    READ_DAMAGED, /* sealed bytes that were changed, cut off or prolonged */
    READ_TROUBLE, /* errno */
    READ_STOPPED, /* fn did not want more */
};
typedef bool backup_bytes_fn(void *arg, const void *bytes, size_t n);
/* Reads a file and hands its bytes to fn (or NULL), in pieces, before it is known that all are
 * right. */
enum backup_read backup_in(int dir, const char *name, const struct backup_seal *seal,
    backup_bytes_fn *fn, void *arg, struct backup_sum *ret_stored, struct backup_sum *ret_given);

#endif
