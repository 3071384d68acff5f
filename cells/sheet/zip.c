/* zip.c - see zip.h. */
#include "zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "child.h"
#include "wharf/errors.h"

enum {
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    CENTRAL_BYTES = 46,
    LOCAL_BYTES = 30,
    COMMENT_MAX = 65535,
    DIRECTORY_MAX = 4 << 20,
    STORED = 0,
    DEFLATED = 8,
    ENCRYPTED = 1,
};

static const uint64_t TOTAL_MAX = 512u << 20, RATIO_FROM = 10u << 20, RATIO_MAX = 200;

bool zip_fail(struct zip *zip, const char *code, const char *text)
{
    if (!zip->error[0])
        snprintf(zip->error, sizeof(zip->error), "%s: %s", code, text);
    return false;
}

static bool zip_broken(struct zip *zip, const char *text)
{
    return zip_fail(zip, ERR_FILE_XLSX_INVALID, text);
}

static uint32_t u16(const unsigned char *p)
{
    return (uint32_t)(p[0] | p[1] << 8);
}

static uint32_t zip_u32(const unsigned char *p)
{
    return u16(p) | u16(p + 2) << 16;
}

static uint64_t u64(const unsigned char *p)
{
    return zip_u32(p) | (uint64_t)zip_u32(p + 4) << 32;
}

static bool zip_read_at(const struct zip *zip, uint64_t at, void *to, size_t n)
{
    size_t done = 0;

    if (at > zip->size || zip->size - at < n)
        return false;
    while (done < n) {
        ssize_t got = pread(zip->fd, (char *)to + done, n - done, (off_t)(at + done));

        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* ---- the directory ---- */

struct directory {
    uint64_t at, bytes, entries;
};

/* Reads the end record of large archives, which stands before the small one. */
static bool read_end64(struct zip *zip, uint64_t end, struct directory *d)
{
    unsigned char locator[LOCATOR_BYTES], record[END64_BYTES];

    if (end < LOCATOR_BYTES || !zip_read_at(zip, end - LOCATOR_BYTES, locator, sizeof(locator)) ||
        zip_u32(locator) != 0x07064b50 ||
        !zip_read_at(zip, u64(locator + 8), record, sizeof(record)) ||
        zip_u32(record) != 0x06064b50)
        return zip_broken(zip, "the archive's directory is missing");
    *d = (struct directory){u64(record + 48), u64(record + 40), u64(record + 32)};
    return true;
}

static bool find_directory(struct zip *zip, struct directory *d)
{
    size_t n = zip->size < END_BYTES + COMMENT_MAX ? (size_t)zip->size : END_BYTES + COMMENT_MAX;
    unsigned char *tail = cell_alloc(n);
    bool found = false;

    if (n >= END_BYTES && zip_read_at(zip, zip->size - n, tail, n))
        for (size_t i = n - END_BYTES + 1; i > 0 && !found; i--) {
            const unsigned char *p = tail + i - 1;
            uint64_t end = zip->size - n + i - 1;

            /* the comment must fill the rest, so that nothing can stand for an end record by
             * chance */
            if (zip_u32(p) != 0x06054b50 || u16(p + 20) != n - (i - 1) - END_BYTES)
                continue;
            found = true;
            *d = (struct directory){zip_u32(p + 16), zip_u32(p + 12), u16(p + 10)};
            if (d->at == UINT32_MAX || d->bytes == UINT32_MAX || d->entries == UINT16_MAX)
                found = read_end64(zip, end, d);
            if (found && (d->at > end || end - d->at < d->bytes))
                found = zip_broken(zip, "the archive's directory is out of place");
        }
    free(tail);
    return found || zip_broken(zip, "the archive's directory is missing; was the file cut off?");
}

/* Reads sizes and places over 32 bits. */
static void wide_fields(
    const unsigned char *extra, size_t n, bool size_is_wide, struct zip_entry *e)
{
    while (n >= 4) {
        size_t k = u16(extra + 2);
        const unsigned char *p = extra + 4, *end = p + k;

        if (k > n - 4)
            return;
        if (u16(extra) == 1) {
            p += size_is_wide ? 8 : 0;
            if (e->packed == UINT32_MAX && p + 8 <= end) {
                e->packed = u64(p);
                p += 8;
            }
            if (e->header == UINT32_MAX && p + 8 <= end)
                e->header = u64(p);
            return;
        }
        extra += 4 + k;
        n -= 4 + k;
    }
}

/* Tells whether the name is a plain relative path; others are not taken. */
static bool zip_good_name(const char *name, size_t n)
{
    if (n == 0 || memchr(name, 0, n) || memchr(name, '\\', n) || memchr(name, ':', n) ||
        name[0] == '/')
        return false;
    for (size_t i = 0; i < n;) {
        const char *slash = memchr(name + i, '/', n - i);
        size_t k = slash ? (size_t)(slash - name) - i : n - i;

        if ((k == 2 && memcmp(name + i, "..", 2) == 0) || (k == 1 && name[i] == '.') ||
            (k == 0 && i < n))
            return false;
        i += k + 1;
    }
    return true;
}

static bool read_entries(struct zip *zip, const struct directory *d, const unsigned char *p)
{
    const unsigned char *end = p + d->bytes;

    for (; zip->n < d->entries; zip->n++) {
        struct zip_entry *e = &zip->entries[zip->n];
        size_t name, extra, comment;

        if ((size_t)(end - p) < CENTRAL_BYTES || zip_u32(p) != 0x02014b50)
            return zip_broken(zip, "the archive's directory is damaged");
        name = u16(p + 28);
        extra = u16(p + 30);
        comment = u16(p + 32);
        if ((size_t)(end - p) - CENTRAL_BYTES < name + extra + comment)
            return zip_broken(zip, "the archive's directory is damaged");
        *e = (struct zip_entry){.flags = (uint16_t)u16(p + 8),
            .method = (uint16_t)u16(p + 10),
            .crc = zip_u32(p + 16),
            .packed = zip_u32(p + 20),
            .header = zip_u32(p + 42)};
        wide_fields(p + CENTRAL_BYTES + name, extra, zip_u32(p + 24) == UINT32_MAX, e);
        if (!zip_good_name((const char *)p + CENTRAL_BYTES, name))
            return zip_broken(zip, "the archive has a part with a forbidden name");
        e->name = cell_alloc(name + 1);
        memcpy(e->name, p + CENTRAL_BYTES, name);
        e->name[name] = 0;
        p += CENTRAL_BYTES + name + extra + comment;
    }
    return true;
}

/* Finds the data of an entry. Its local header must tell the same name. */
static bool locate(struct zip *zip, struct zip_entry *e, uint64_t directory)
{
    unsigned char local[LOCAL_BYTES];
    char name[1024];
    size_t n = strlen(e->name);

    if (!zip_read_at(zip, e->header, local, sizeof(local)) || zip_u32(local) != 0x04034b50 ||
        u16(local + 26) != n || n > sizeof(name) ||
        !zip_read_at(zip, e->header + LOCAL_BYTES, name, n) || memcmp(name, e->name, n) != 0)
        return zip_broken(zip, "the archive's directory and its parts do not agree");
    e->data = e->header + LOCAL_BYTES + n + u16(local + 28);
    if (e->data > directory || directory - e->data < e->packed)
        return zip_broken(zip, "a part of the archive reaches beyond its place");
    return true;
}

static int zip_by_place(const void *a, const void *b)
{
    const struct zip_entry *const *x = a, *const *y = b;

    return ((*x)->header > (*y)->header) - ((*x)->header < (*y)->header);
}

static int zip_by_name(const void *a, const void *b)
{
    const struct zip_entry *const *x = a, *const *y = b;

    return strcasecmp((*x)->name, (*y)->name);
}

static bool no_overlap_no_twins(struct zip *zip)
{
    struct zip_entry **sorted = cell_alloc((zip->n + 1) * sizeof(*sorted));
    bool good = true;

    for (size_t i = 0; i < zip->n; i++)
        sorted[i] = &zip->entries[i];
    qsort(sorted, zip->n, sizeof(*sorted), zip_by_place);
    for (size_t i = 1; i < zip->n && good; i++)
        if (sorted[i - 1]->data + sorted[i - 1]->packed > sorted[i]->header)
            good = zip_broken(zip, "parts of the archive overlap");
    qsort(sorted, zip->n, sizeof(*sorted), zip_by_name);
    for (size_t i = 1; i < zip->n && good; i++)
        if (strcasecmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            good = zip_broken(zip, "the archive has a part twice");
    free(sorted);
    return good;
}

bool zip_open(struct zip *zip, int fd)
{
    struct directory d;
    unsigned char *bytes;
    off_t size = lseek(fd, 0, SEEK_END);
    bool good;

    *zip = (struct zip){.fd = fd, .size = size > 0 ? (uint64_t)size : 0};
    if (!find_directory(zip, &d))
        return false;
    if (d.entries > ZIP_ENTRIES_MAX || d.bytes > DIRECTORY_MAX)
        return zip_fail(zip, ERR_FILE_TOO_COMPLEX, "the archive has more than 2000 parts");
    zip->entries = cell_alloc((size_t)(d.entries + 1) * sizeof(*zip->entries));
    memset(zip->entries, 0, (size_t)(d.entries + 1) * sizeof(*zip->entries));
    bytes = cell_alloc((size_t)d.bytes + 1);
    good = zip_read_at(zip, d.at, bytes, (size_t)d.bytes)
               ? read_entries(zip, &d, bytes)
               : zip_broken(zip, "the archive's directory is damaged");
    free(bytes);
    for (size_t i = 0; i < zip->n && good; i++)
        good = locate(zip, &zip->entries[i], d.at);
    return good && no_overlap_no_twins(zip);
}

void zip_close(struct zip *zip)
{
    for (size_t i = 0; i <= zip->n && zip->entries; i++)
        free(zip->entries[i].name);
    free(zip->entries);
    zip->entries = NULL;
}

const struct zip_entry *zip_find(const struct zip *zip, const char *name)
{
    for (size_t i = 0; i < zip->n; i++)
        if (strcasecmp(zip->entries[i].name, name) == 0)
            return &zip->entries[i];
    return NULL;
}

/* ---- one part ---- */

bool zip_part_open(
    struct zip_part *part, struct zip *zip, const struct zip_entry *entry, bool counted)
{
    memset(part, 0, offsetof(struct zip_part, in));
    part->zip = zip;
    part->entry = entry;
    part->counted = counted;
    part->crc = (uint32_t)crc32(0, NULL, 0);
    if (entry->flags & ENCRYPTED)
        return zip_fail(
            zip, ERR_FILE_ENCRYPTED, "the spreadsheet is encrypted; save it without a password");
    if (entry->method != STORED && entry->method != DEFLATED)
        return zip_broken(zip, "a part of the archive is packed in an unusual way");
    part->inflating = entry->method == DEFLATED;
    if (part->inflating && inflateInit2(&part->z, -MAX_WBITS) != Z_OK)
        cell_out_of_memory();
    return true;
}

static bool refill(struct zip_part *part)
{
    uint64_t left = part->entry->packed - part->at;
    size_t n = left < sizeof(part->in) ? (size_t)left : sizeof(part->in);

    if (n == 0 || !zip_read_at(part->zip, part->entry->data + part->at, part->in, n))
        return zip_broken(part->zip, "a part of the archive is cut off");
    part->at += n;
    if (part->counted)
        part->zip->in += n;
    part->z.next_in = part->in;
    part->z.avail_in = (unsigned)n;
    return true;
}

static long inflate_some(struct zip_part *part, void *to, size_t room)
{
    int e = Z_OK;

    part->z.next_out = to;
    part->z.avail_out = (unsigned)room;
    while (part->z.avail_out > 0 && !part->ended) {
        if (part->z.avail_in == 0 && !refill(part))
            return -1;
        e = inflate(&part->z, Z_NO_FLUSH);
        part->ended = e == Z_STREAM_END;
        if (e != Z_OK && e != Z_STREAM_END) {
            zip_broken(part->zip, "a part of the archive is damaged");
            return -1;
        }
    }
    return (long)(room - part->z.avail_out);
}

static long copy_some(struct zip_part *part, void *to, size_t room)
{
    uint64_t left = part->entry->packed - part->at;
    size_t n = left < room ? (size_t)left : room;

    if (n > 0 && !zip_read_at(part->zip, part->entry->data + part->at, to, n)) {
        zip_broken(part->zip, "a part of the archive is cut off");
        return -1;
    }
    part->at += n;
    if (part->counted)
        part->zip->in += n;
    part->ended = part->at == part->entry->packed;
    return (long)n;
}

long zip_part_read(struct zip_part *part, void *to, size_t room)
{
    struct zip *zip = part->zip;
    bool was_ended = part->ended;
    long n = was_ended         ? 0
             : part->inflating ? inflate_some(part, to, room)
                               : copy_some(part, to, room);

    if (n < 0)
        return -1;
    part->crc = (uint32_t)crc32(part->crc, to, (unsigned)n);
    if (part->counted)
        zip->out += (uint64_t)n;
    if (zip->out > TOTAL_MAX || (zip->out > RATIO_FROM && zip->out > RATIO_MAX * zip->in)) {
        zip_fail(zip, ERR_FILE_TOO_COMPLEX,
            "the spreadsheet unpacks to more than 512 MB, or to 200 times its size");
        return -1;
    }
    if (part->ended && !was_ended && part->crc != part->entry->crc) {
        zip_broken(zip, "a part of the archive is damaged: its checksum is wrong");
        return -1;
    }
    return n;
}

void zip_part_close(struct zip_part *part)
{
    if (part->inflating)
        inflateEnd(&part->z);
    part->inflating = false;
}
