/* font.c - a font of fixed width for the letters that the fourteen fonts of every PDF reader
 * have not: DejaVu Sans Mono, put into the document as it is. See render.h.
 *
 * Its file is mapped before the walls. Only letters that stand one after the other from left to
 * right are taken: others need shaping. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"
#include "render.h"

enum { FORMAT_4 = 4, CHARACTERS = 0x10000, BLOCK = 100, LINE = 24 };

static struct {
    const unsigned char *p; /* NULL: there is none */
    size_t n;
    const unsigned char *map; /* `cmap` subtable of format 4 */
    size_t map_n;
} font; /* read-only after font_prepare() */

/* ---- the file: of this computer, and believed to be a font, but not to be whole ---- */

static unsigned two(const unsigned char *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static size_t four(const unsigned char *p)
{
    return (size_t)two(p) << 16 | two(p + 2);
}

static bool find_map(const unsigned char *table, size_t n)
{
    for (unsigned i = 0; n >= 4 && i < two(table + 2) && 4 + 8 * (size_t)(i + 1) <= n; i++) {
        const unsigned char *entry = table + 4 + 8 * i;
        size_t at = four(entry + 4);

        if (two(entry) != 3 || two(entry + 2) != 1 || at + 14 > n || two(table + at) != FORMAT_4)
            continue;
        font.map = table + at;
        font.map_n = n - at;
        return true;
    }
    return false;
}

static bool find_tables(void)
{
    unsigned tables = font.n >= 12 ? two(font.p + 4) : 0;

    for (unsigned i = 0; i < tables && 12 + 16 * (size_t)(i + 1) <= font.n; i++) {
        const unsigned char *entry = font.p + 12 + 16 * i;
        size_t at = four(entry + 8), n = four(entry + 12);

        if (memcmp(entry, "cmap", 4) == 0 && at <= font.n && n <= font.n - at)
            return find_map(font.p + at, n);
    }
    return false;
}

static bool map_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    void *p = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0)
                       : MAP_FAILED;

    if (fd >= 0)
        close(fd);
    if (p == MAP_FAILED)
        return false;
    font.p = p;
    font.n = (size_t)size;
    if (find_tables())
        return true;
    munmap(p, (size_t)size);
    font.p = NULL;
    return false;
}

void font_prepare(void)
{
    static const char *const places[] = {"/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf",
        "/usr/share/fonts/dejavu-sans-mono-fonts/DejaVuSansMono.ttf",
        "/usr/share/fonts/TTF/DejaVuSansMono.ttf"};

    for (size_t i = 0; !font.p && i < sizeof(places) / sizeof(places[0]); i++)
        map_file(places[i]);
}

/* ---- letters ---- */

/* Tells whether the script is one that is written letter by letter, or a sign. */
static bool plain_script(uint32_t c)
{
    static const struct {
        uint16_t from, to;
    } ranges[] = {{0x20, 0x7e}, {0xa0, 0x2ff}, {0x370, 0x482}, {0x48a, 0x58f}, {0x10a0, 0x10ff},
        {0x1c90, 0x1cbf}, {0x1d00, 0x1dbf}, {0x1e00, 0x200a}, {0x2010, 0x2027}, {0x202f, 0x205f},
        {0x2070, 0x20cf}, {0x2100, 0x2bff}, {0x2c60, 0x2c7f}, {0xfb00, 0xfb06}};

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        if (c >= ranges[i].from && c <= ranges[i].to)
            return true;
    }
    return false;
}

unsigned font_glyph(uint32_t c)
{
    size_t n, at;

    if (!font.p || !plain_script(c))
        return 0;
    n = two(font.map + 6) / 2u;
    if (16 + 8 * n > font.map_n)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const unsigned char *end = font.map + 14 + 2 * i, *start = end + 2 + 2 * n,
                            *delta = start + 2 * n, *offset = delta + 2 * n;

        if (c > two(end))
            continue;
        if (c < two(start))
            return 0;
        if (!two(offset))
            return (c + two(delta)) & 0xffff;
        at = (size_t)(offset - font.map) + two(offset) + 2 * (c - two(start));
        if (at + 2 > font.map_n || !two(font.map + at))
            return 0;
        return (two(font.map + at) + two(delta)) & 0xffff;
    }
    return 0;
}

/* ---- in the document ---- */

static qpdf_oh stream_of(
    struct source *s, const void *p, size_t n, const char *key, long long value)
{
    qpdf_oh stream = qpdf_oh_new_stream(s->q), null = qpdf_oh_new_null(s->q);

    qpdf_oh_replace_stream_data(s->q, stream, p, n, null, null);
    if (key)
        qpdf_oh_replace_key(
            s->q, qpdf_oh_get_dict(s->q, stream), key, qpdf_oh_new_integer(s->q, value));
    return stream;
}

static qpdf_oh dictionary(struct source *s, const char *text, const char *key, qpdf_oh value)
{
    qpdf_oh d = qpdf_oh_parse(s->q, text);

    qpdf_oh_replace_key(s->q, d, key, value);
    return d;
}

/* Maps glyphs to letters, for who copies text out of the document. */
static qpdf_oh font_letters_of(struct source *s)
{
    static const char head[] =
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CIDSystemInfo << /Registry "
        "(Adobe) /Ordering (UCS) /Supplement 0 >> def /CMapName /Adobe-Identity-UCS def /CMapType "
        "2 def 1 begincodespacerange <0000> <FFFF> endcodespacerange\n";
    static const char foot[] = "endcmap CMapName currentdict /CMap defineresource pop end end\n";
    size_t room = sizeof(head) + sizeof(foot), n = 0;
    uint32_t *list = cell_alloc(CHARACTERS * sizeof(*list)), count = 0;
    qpdf_oh stream;
    char *text;

    for (uint32_t c = 0x20; c < CHARACTERS; c++) {
        if (font_glyph(c))
            list[count++] = c;
    }
    room += (size_t)count * LINE + (count / BLOCK + 1) * 40;
    text = cell_alloc(room);
    n += (size_t)snprintf(text, room, "%s", head);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t left = count - i;

        if (i % BLOCK == 0)
            n += (size_t)snprintf(
                text + n, room - n, "%u beginbfchar\n", left < BLOCK ? left : BLOCK);
        n += (size_t)snprintf(text + n, room - n, "<%04X> <%04X>\n", font_glyph(list[i]), list[i]);
        if (i % BLOCK == BLOCK - 1 || left == 1)
            n += (size_t)snprintf(text + n, room - n, "endbfchar\n");
    }
    n += (size_t)snprintf(text + n, room - n, "%s", foot);
    stream = stream_of(s, text, n, NULL, 0);
    free(text);
    free(list);
    return stream;
}

int font_object(struct source *s)
{
    qpdf_oh descriptor = dictionary(s,
        "<< /Type /FontDescriptor /FontName /DejaVuSansMono /Flags 5 /FontBBox [-558 -375 718 "
        "1042] /ItalicAngle 0 /Ascent 928 /Descent -236 /CapHeight 729 /StemV 80 >>",
        "/FontFile2", stream_of(s, font.p, font.n, "/Length1", (long long)font.n));
    qpdf_oh below = dictionary(s,
        "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /DejaVuSansMono /CIDSystemInfo << "
        "/Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /CIDToGIDMap /Identity /DW 602 >>",
        "/FontDescriptor", qpdf_make_indirect_object(s->q, descriptor));
    qpdf_oh list = qpdf_oh_new_array(s->q), whole;

    qpdf_oh_append_item(s->q, list, qpdf_make_indirect_object(s->q, below));
    whole = dictionary(s,
        "<< /Type /Font /Subtype /Type0 /BaseFont /DejaVuSansMono /Encoding /Identity-H >>",
        "/DescendantFonts", list);
    qpdf_oh_replace_key(s->q, whole, "/ToUnicode", font_letters_of(s));
    return qpdf_oh_get_object_id(s->q, qpdf_make_indirect_object(s->q, whole));
}
