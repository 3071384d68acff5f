/* import_text.h - the bytes of a file as UTF-8 text, in blocks: byte order marks, encodings, NFC
 * (docs/spec/10-batches.md section 9, 'Encoding').
 *
 * Leaves to others: what the text means (import_csv.c, jsonrows.c). Never holds more than a
 * block. Private to services/import. */
#ifndef WHARF_IMPORT_IMPORT_TEXT_H
#define WHARF_IMPORT_IMPORT_TEXT_H

#include "import/import.h"

/* A file, or memory. Read by offset: a descriptor's own position is not used. */
struct bytes {
    int fd; /* -1: memory */
    const char *p;
    uint64_t size;
};

/* Reads at most `room` bytes from offset on. Returns 0 at the end, or when the file can't be
 * read. */
size_t bytes_read(const struct bytes *b, uint64_t offset, char *to, size_t room);

enum text_encoding {
    TEXT_UTF8,
    TEXT_UTF16LE,
    TEXT_UTF16BE,
    TEXT_WINDOWS_1252,
    TEXT_ISO_8859_1,
    TEXT_ISO_8859_15
};

struct text {
    struct bytes bytes;
    enum text_encoding encoding;
    bool fallback; /* Windows-1252 was taken because the text is no UTF-8 */
    uint64_t at; /* next byte of the file */
};

const char *text_encoding_name(enum text_encoding e);
/* Decides the encoding: byte order mark, else declared, else UTF-8 when all of it is, else
 * Windows-1252 (unless only_utf8). UTF-8 is checked to its end here, so that no row of a broken
 * file is seen. declared: name in any case, "" or NULL: none. */
bool text_open(struct text *t, struct bytes bytes, const char *declared, bool only_utf8,
    struct import_problem *problem);
enum { TEXT_ROOM = 64 };
/* Stands for a NUL in what is read: it is the fault of its cell as other control characters are. */
enum { TEXT_NUL = 1 };
/* Reads the next bytes of UTF-8, at most `room`, which is at least TEXT_ROOM. *ret_n is 0 at the
 * end. Returns false after a problem. */
bool text_read(
    struct text *t, char *to, size_t room, size_t *ret_n, struct import_problem *problem);

/* Returns the index of the first byte that is not part of well-formed UTF-8, or n. With more =
 * true a character cut off by the end is fine, and *ret_whole tells where it begins. */
size_t text_check(const char *p, size_t n, bool more, size_t *ret_whole);
/* Tells whether the text is certainly in normal form C. (All below U+0300 is.) */
bool text_surely_nfc(const char *p, size_t n);
/* Returns s in normal form C, in the arena when it had to be changed. */
wharf_str text_nfc(struct arena *a, wharf_str s);

#endif
