/* preview_fonts.c - fonts for text whose font the document does not carry along. See preview.h.
 *
 * The files are mapped before the walls, and fontconfig knows these and no others: a picture does
 * not depend on what else the computer has. Poppler opens a font by its path whenever it needs
 * it, with FT_New_Face() and fopen(). Those of this program take the place of the libraries' own
 * for all of the process, and answer such a path with the mapped bytes. Other files can't be
 * opened here (walls.c). */
#include <fcntl.h>
#include <fontconfig/fontconfig.h>
#include <ft2build.h>
#include FT_FREETYPE_H
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"
#include "preview.h"

enum {
    FONTS_MAX = 20, /* fonts in place of those that a document lacks */
    PATH_ROOM = 120
};

struct font {
    char path[PATH_ROOM];
    void *p;
    size_t n;
};
static struct {
    struct font all[FONTS_MAX];
    size_t n;
} fonts; /* read-only after fonts_prepare() */

/* Widths as those of the fourteen fonts that each PDF reader has (Liberation), then letters and
 * signs that these have not. */
static const char *const names[] = {"LiberationSans-Regular", "LiberationSans-Bold",
    "LiberationSans-Italic", "LiberationSans-BoldItalic", "LiberationSerif-Regular",
    "LiberationSerif-Bold", "LiberationSerif-Italic", "LiberationSerif-BoldItalic",
    "LiberationMono-Regular", "LiberationMono-Bold", "LiberationMono-Italic",
    "LiberationMono-BoldItalic", "DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono"};

#define ALIAS(from, to)                                                                            \
    "<alias binding=\"same\"><family>" from "</family><accept><family>" to                         \
    "</family></accept></alias>"
static const char settings[] = "<fontconfig>" ALIAS("Helvetica", "Liberation Sans")
    ALIAS("Arial", "Liberation Sans") ALIAS("Times", "Liberation Serif")
        ALIAS("Times New Roman", "Liberation Serif") ALIAS("Courier", "Liberation Mono")
            ALIAS("Courier New", "Liberation Mono") ALIAS("Symbol", "DejaVu Sans")
                ALIAS("Zapf Dingbats", "DejaVu Sans") ALIAS("ZapfDingbats", "DejaVu Sans")
                    ALIAS("sans-serif", "Liberation Sans") ALIAS("serif", "Liberation Serif")
                        ALIAS("monospace", "Liberation Mono")
                            ALIAS("sans", "Liberation Sans") "</fontconfig>";

/* ---- what libraries call ---- */

static const struct font *font_at(const char *path)
{
    for (size_t i = 0; path && i < fonts.n; i++) {
        if (strcmp(path, fonts.all[i].path) == 0)
            return &fonts.all[i];
    }
    return NULL;
}

#define OFFERED __attribute__((visibility("default")))

OFFERED FT_Error FT_New_Face(FT_Library library, const char *path, FT_Long index, FT_Face *ret_face)
{
    const struct font *font = font_at(path);

    return font ? FT_New_Memory_Face(library, font->p, (FT_Long)font->n, index, ret_face)
                : FT_Err_Cannot_Open_Resource;
}

/* Takes the place of fopen(), and the next one of fopen64(): a build with large files
 * calls the second one by the name of the first. */
OFFERED FILE *font_file(const char *path, const char *mode) __asm__("fopen");
OFFERED FILE *font_file_large(const char *path, const char *mode) __asm__("fopen64");

FILE *font_file(const char *path, const char *mode)
{
    const struct font *font = font_at(path);

    (void)mode; /* nobody writes here */
    return font ? fmemopen(font->p, font->n, "r") : NULL;
}

FILE *font_file_large(const char *path, const char *mode)
{
    return font_file(path, mode);
}

/* ---- before the walls ---- */

static bool preview_fonts_map_font(struct font *font)
{
    int fd = open(font->path, O_RDONLY | O_CLOEXEC);
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;

    font->p = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    font->n = (size_t)size;
    if (fd >= 0)
        close(fd);
    return font->p != MAP_FAILED;
}

void fonts_prepare(void)
{
    static const char *const places[] = {"/usr/share/fonts/truetype/liberation2",
        "/usr/share/fonts/truetype/liberation", "/usr/share/fonts/truetype/dejavu"};
    const size_t n_places = sizeof(places) / sizeof(places[0]);
    FcConfig *config = FcConfigCreate();

    FcConfigParseAndLoadFromMemory(config, (const FcChar8 *)settings, FcFalse);
    for (size_t i = 0; i < n_places * (sizeof(names) / sizeof(names[0])); i++) {
        struct font *font = &fonts.all[fonts.n];

        if (fonts.n == FONTS_MAX)
            break;
        snprintf(
            font->path, sizeof(font->path), "%s/%s.ttf", places[i % n_places], names[i / n_places]);
        if (!preview_fonts_map_font(font))
            continue;
        fonts.n++; /* before fontconfig reads it, through the functions above */
        if (!FcConfigAppFontAddFile(config, (const FcChar8 *)font->path))
            fonts.n--;
    }
    FcConfigSetCurrent(config);
    FcConfigDestroy(config);
}
