/* zip.h - the parts of an XLSX file: a strict reader of ZIP archives over a descriptor.
 *
 * Follows docs/spec/10-batches.md section 9 'Hostile input': at most 2 000 entries, none twice,
 * none overlapping, no paths that climb, sizes and ratio counted while inflating and never
 * believed from headers, CRC checked. Leaves to others: XML. */
#ifndef WHARF_CELLS_ZIP_H
#define WHARF_CELLS_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

enum {
    ZIP_ENTRIES_MAX = 2000, /* files in a spreadsheet */
    ZIP_BLOCK = 64 << 10
};

struct zip_entry {
    char *name; /* as written, ended by NUL */
    uint16_t flags, method;
    uint32_t crc;
    uint64_t packed, header; /* bytes in the file; place of the local header */
    uint64_t data; /* place of the bytes */
};

struct zip {
    int fd;
    uint64_t size;
    struct zip_entry *entries;
    size_t n;
    uint64_t in, out; /* bytes inflated so far, of all parts */
    char error[200]; /* "code: text", or empty */
};

struct zip_part { /* one entry, being read */
    struct zip *zip;
    const struct zip_entry *entry;
    z_stream z;
    uint64_t at; /* packed bytes read */
    uint32_t crc;
    bool ended, inflating, counted;
    unsigned char in[ZIP_BLOCK];
};

/* Opens the archive behind fd. Returns false when it fails; zip->error says why. */
bool zip_open(struct zip *zip, int fd);
void zip_close(struct zip *zip);
/* Finds an entry by name, whatever the case of its letters. Returns NULL when there is none. */
const struct zip_entry *zip_find(const struct zip *zip, const char *name);
/* Opens a part for reading. counted = false: the bytes are not added to the limits again (a part
 * that is read twice). */
bool zip_part_open(
    struct zip_part *part, struct zip *zip, const struct zip_entry *entry, bool counted);
/* Reads the next bytes. Returns how many; 0 at the end, after its CRC was checked; -1 on failure
 * (zip->error). */
long zip_part_read(struct zip_part *part, void *to, size_t room);
void zip_part_close(struct zip_part *part);
/* Keeps the first error; always false. */
bool zip_fail(struct zip *zip, const char *code, const char *text);

#endif
