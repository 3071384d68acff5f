/* import_detect.c - which format a file has, by its content and never by its name
 * (docs/spec/10-batches.md section 9). */
#include <string.h>
#include <strings.h>

#include "import/reader.h"
#include "wharf/errors.h"

enum {
    HEAD = 4096,
    BLOCK = 64 << 10,
    MANY_CONTROLS = 8,
    CONTROL_SHARE = 10, /* one control character in so many letters: no text */
    NUL_SHARE = 4
};

/* Tells whether a legacy compound file is encrypted: an encrypted workbook has a stream of this
 * name, an old one has not. */
static bool has_encrypted_package(const struct bytes *b)
{
    static const char name[] = "E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e";
    char block[BLOCK];
    uint64_t at = 0;
    size_t n;

    while ((n = bytes_read(b, at, block, sizeof(block))) > sizeof(name)) {
        if (memmem(block, n, name, sizeof(name)))
            return true;
        at += n - sizeof(name);
    }
    return false;
}

static bool import_detect_begins(const char *head, size_t n, const char *magic, size_t magic_n)
{
    return n >= magic_n && memcmp(head, magic, magic_n) == 0;
}

static const char *known_binary(const char *head, size_t n)
{
    static const struct {
        const char *magic;
        size_t n;
        const char *what;
    } known[] = {{"%PDF", 4, "a PDF"}, {"\x89PNG", 4, "an image"}, {"\xFF\xD8\xFF", 3, "an image"},
        {"GIF8", 4, "an image"}, {"RIFF", 4, "an image or sound"}, {"II*\0", 4, "an image"},
        {"MM\0*", 4, "an image"}, {"\x1F\x8B", 2, "compressed"}, {"BZh", 3, "compressed"},
        {"\xFD"
         "7zXZ",
            5, "compressed"},
        {"7z\xBC\xAF", 4, "compressed"}, {"Rar!", 4, "compressed"},
        {"\x7F"
         "ELF",
            4, "a program"}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (import_detect_begins(head, n, known[i].magic, known[i].n))
            return known[i].what;
    return NULL;
}

/* Finds what shows that this is no text: the first control byte (NUL too) where there are so many
 * that they are no accident. n when there is nothing of the kind. A form feed and the old
 * end-of-file mark are harmless. */
static size_t binary_byte(const char *head, size_t n)
{
    size_t first = n, many = 0, nuls = 0;

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)head[i];

        nuls += c == 0;
        if (c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != 0x1A) {
            first = many++ ? first : i;
        }
    }
    if (nuls * NUL_SHARE > n) /* numbers, or letters of two bytes */
        return first;
    return many > MANY_CONTROLS && many * CONTROL_SHARE > n ? first : n;
}

/* Tells whether the text is UTF-16. A mark wins over what is declared, as in text_open. */
static bool is_wide(const char *head, size_t n, const char *declared)
{
    if (import_detect_begins(head, n, "\xFF\xFE", 2) ||
        import_detect_begins(head, n, "\xFE\xFF", 2))
        return true;
    return declared && !import_detect_begins(head, n, "\xEF\xBB\xBF", 3) &&
           (strcasecmp(declared, "utf-16le") == 0 || strcasecmp(declared, "utf-16be") == 0);
}

static size_t mark_size(const char *head, size_t n)
{
    if (import_detect_begins(head, n, "\xEF\xBB\xBF", 3))
        return 3;
    return import_detect_begins(head, n, "\xFF\xFE", 2) ||
                   import_detect_begins(head, n, "\xFE\xFF", 2)
               ? 2
               : 0;
}

/* Returns the first character that is not blank, or 0. In UTF-16 letters and NULs alternate. */
static char first_letter(const char *head, size_t n, bool wide)
{
    size_t at = mark_size(head, n);

    while (at < n && (head[at] == 0 ? wide : strchr(" \t\r\n\f", head[at]) != NULL))
        at++;
    return at < n ? head[at] : 0;
}

static enum import_format refuse_compound(const struct bytes *b, struct import_problem *problem)
{
    if (has_encrypted_package(b))
        problem_set(problem, ERR_FILE_ENCRYPTED, 0, 0, 0,
            "the spreadsheet is encrypted; save it without a password");
    else
        problem_set(problem, ERR_FILE_UNSUPPORTED_TYPE, 0, 0, 0,
            "this is a spreadsheet of an old format (XLS); save it as XLSX or CSV");
    return IMPORT_AUTO;
}

enum import_format detect_format(
    const struct bytes *b, const char *declared, struct import_problem *problem)
{
    char head[HEAD], first;
    size_t n = bytes_read(b, 0, head, sizeof(head)), bad;
    const char *what = known_binary(head, n);
    bool wide = is_wide(head, n, declared);

    if (import_detect_begins(head, n, "PK\3\4", 4) || import_detect_begins(head, n, "PK\5\6", 4))
        return IMPORT_XLSX;
    if (import_detect_begins(head, n, "\xD0\xCF\x11\xE0", 4))
        return refuse_compound(b, problem);
    bad = wide ? n : binary_byte(head, n);
    if (what || bad < n) {
        problem_set(problem, ERR_FILE_UNSUPPORTED_TYPE, 0, 0, bad < n ? bad : 0,
            "this is %s file; send CSV, JSON or XLSX", what ? what : "a binary");
        return IMPORT_AUTO;
    }
    first = first_letter(head, n, wide);
    return first == '[' || first == '{' ? IMPORT_JSON : IMPORT_CSV;
}
