/* draw_fonts.c - the fonts that there are: files of this computer that were mapped before the
 * walls, and those that came with the call. See draw.h.
 *
 * fontconfig knows these and no others, so that a page looks the same on each computer that has
 * the same packages. Cairo, fontconfig and pango open a font by its path, with access(),
 * FT_New_Face() and hb_blob_create_from_file(). Those of this program take the place of the
 * libraries' own for all of the process, and answer such a path with the mapped bytes. Pango looks
 * for fonts in threads of its own, which a cell can't have: g_thread_new() keeps what it was to
 * do, and g_cond_wait() does it before it waits. */
#include <dlfcn.h>
#include <fcntl.h>
#include <fontconfig/fontconfig.h>
#include <ft2build.h>
#include FT_FREETYPE_H
#include <fontconfig/fcfreetype.h>
#include <hb.h>
#include <pango/pangocairo.h>
#include <pango/pangofc-fontmap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"
#include "draw.h"
#include "util/str.h"

enum { FILES_MAX = 160, PATH_ROOM = 120, TASKS_MAX = 8 };

struct font_file {
    char path[PATH_ROOM];
    const void *p;
    size_t n;
};

static struct {
    struct font_file all[FILES_MAX + FONTS_MAX];
    size_t n; /* those of this computer, then those of the call */
    FcConfig *config;
    PangoFontMap *map;
} fonts; /* one process, one call at a time */

struct own_font {
    char family[64]; /* that fontconfig knows */
    wharf_str name; /* of the definition */
};

#define OFFERED __attribute__((visibility("default")))

/* ---- what libraries open ---- */

static const struct font_file *file_at(const char *path)
{
    for (size_t i = 0; path && i < fonts.n; i++) {
        if (strcmp(path, fonts.all[i].path) == 0)
            return &fonts.all[i];
    }
    return NULL;
}

OFFERED FT_Error FT_New_Face(FT_Library library, const char *path, FT_Long index, FT_Face *ret_face)
{
    const struct font_file *file = file_at(path);

    return file ? FT_New_Memory_Face(library, file->p, (FT_Long)file->n, index, ret_face)
                : FT_Err_Cannot_Open_Resource;
}

static hb_blob_t *blob_of(const char *path)
{
    const struct font_file *file = file_at(path);

    return file ? hb_blob_create(file->p, (unsigned)file->n, HB_MEMORY_MODE_READONLY, NULL, NULL)
                : NULL;
}

OFFERED hb_blob_t *hb_blob_create_from_file(const char *path)
{
    hb_blob_t *blob = blob_of(path);

    return blob ? blob : hb_blob_get_empty();
}

OFFERED hb_blob_t *hb_blob_create_from_file_or_fail(const char *path)
{
    return blob_of(path);
}

/* Answers cairo, which asks first whether it may read the file. */
OFFERED int access(const char *path, int mode)
{
    int (*real)(const char *, int);

    if (file_at(path))
        return 0;
    *(void **)&real = dlsym(RTLD_NEXT, "access");
    return real(path, mode);
}

/* ---- threads of pango, without threads ---- */

static _Thread_local struct {
    GThreadFunc fn;
    gpointer arg;
} tasks[TASKS_MAX]; /* each thread has a font map of its own, and waits for what that asked for */
static _Thread_local unsigned n_tasks;
static char no_thread[1]; /* stands for a thread that there is not */

OFFERED GThread *g_thread_new(const gchar *name, GThreadFunc fn, gpointer arg)
{
    GThread *(*real)(const gchar *, GThreadFunc, gpointer);

    if (name && strncmp(name, "[pango]", 7) == 0 && n_tasks < TASKS_MAX) {
        tasks[n_tasks].fn = fn;
        tasks[n_tasks++].arg = arg;
        return (GThread *)(void *)no_thread;
    }
    *(void **)&real = dlsym(RTLD_NEXT, "g_thread_new");
    return real(name, fn, arg);
}

OFFERED void g_thread_unref(GThread *thread)
{
    void (*real)(GThread *);

    if ((void *)thread == (void *)no_thread)
        return;
    *(void **)&real = dlsym(RTLD_NEXT, "g_thread_unref");
    real(thread);
}

/* Runs what threads would have done. Whoever waits looks at its condition again. */
OFFERED void g_cond_wait(GCond *cond, GMutex *mutex)
{
    void (*real)(GCond *, GMutex *);

    if (n_tasks) {
        g_mutex_unlock(mutex);
        while (n_tasks) {
            n_tasks--;
            tasks[n_tasks].fn(tasks[n_tasks].arg);
        }
        g_mutex_lock(mutex);
        return;
    }
    *(void **)&real = dlsym(RTLD_NEXT, "g_cond_wait");
    real(cond, mutex);
}

/* ---- before the walls ---- */

/* Fonts of the definition's four families, then those that have letters which these have not: of
 * scripts that are in use, one font each. With each more of them a size of text takes longer that
 * was not drawn before. */
static const char *const places[] = {"/usr/share/fonts/opentype/inter/Inter-",
    "/usr/share/fonts/truetype/inter/Inter-",
    "/usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-",
    "/usr/share/fonts/truetype/dejavu/DejaVu", "/usr/share/fonts/truetype/noto/Noto",
    "/usr/share/fonts/opentype/noto/Noto"};
static const char names[] =
    "Regular Italic Light LightItalic Medium MediumItalic SemiBold SemiBoldItalic Bold "
    "BoldItalic Sans Sans-Bold SansMono SansMono-Bold Serif Serif-Bold SansArabic-Regular "
    "SansArabic-Bold SansHebrew-Regular SansHebrew-Bold SansDevanagari-Regular "
    "SansDevanagari-Bold SansBengali-Regular SansTamil-Regular SansTelugu-Regular "
    "SansGujarati-Regular SansGurmukhi-Regular SansKannada-Regular SansMalayalam-Regular "
    "SansThai-Regular SansThai-Bold SansLao-Regular SansKhmer-Regular SansMyanmar-Regular "
    "SansGeorgian-Regular SansArmenian-Regular SansEthiopic-Regular SansSymbols2-Regular "
    "SansMath-Regular SansCJK-Regular SansCJK-Bold SansSinhala-Regular SansOriya-Regular "
    "SansThaana-Regular SansSyriac-Regular SansNKo-Regular SansCherokee-Regular "
    "SansCanadianAboriginal-Regular SansMongolian-Regular SansJavanese-Regular "
    "SansTifinagh-Regular SansYi-Regular SansAdlam-Regular SansBalinese-Regular "
    "SansBamum-Regular SansBatak-Regular SansBuginese-Regular SansChakma-Regular "
    "SansCham-Regular SansCoptic-Regular SansHanifiRohingya-Regular SansKayahLi-Regular "
    "SansLepcha-Regular SansLimbu-Regular SansLisu-Regular SansMeeteiMayek-Regular "
    "SansMiao-Regular SansNewTaiLue-Regular SansOlChiki-Regular SansOsage-Regular "
    "SansSaurashtra-Regular SansSundanese-Regular SansSylotiNagri-Regular SansTaiLe-Regular "
    "SansTaiTham-Regular SansTaiViet-Regular SansVai-Regular SansWancho-Regular "
    "SansSymbols-Regular SerifTibetan-Regular ColorEmoji";
static const char *const endings[] = {"otf", "ttf", "ttc"};

/* Two of fontconfig's usual rules: letters that are pictures stand in the colored font, and that
 * font, which has one size only, is scaled to the size of the text. */
static const char rules[] =
    "<fontconfig><match target='pattern'><test name='family'><string>emoji</string></test><edit "
    "name='family' mode='prepend' binding='strong'><string>Noto Color Emoji</string></edit></match>"
    "<match target='font'><test name='outline'><bool>false</bool></test><edit name='matrix' "
    "mode='assign'><times><name>matrix</name><matrix><divide><name target='pattern'>pixelsize"
    "</name><name target='font'>pixelsize</name></divide><double>0</double><double>0</double>"
    "<divide><name target='pattern'>pixelsize</name><name target='font'>pixelsize</name></divide>"
    "</matrix></times></edit></match></fontconfig>";

static bool draw_fonts_map_font(struct font_file *file)
{
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    void *p = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;

    if (fd >= 0)
        close(fd);
    file->p = p;
    file->n = (size_t)size;
    return p != MAP_FAILED;
}

static void draw_fonts_take_file(const char *place, wharf_str name, const char *ending)
{
    struct font_file *file = &fonts.all[fonts.n];

    if (fonts.n == FILES_MAX)
        return;
    snprintf(file->path, sizeof(file->path), "%s%.*s.%s", place, STR_ARG(name), ending);
    if (!draw_fonts_map_font(file))
        return;
    fonts.n++; /* before fontconfig reads it, through the functions above */
    if (!FcConfigAppFontAddFile(fonts.config, (const FcChar8 *)file->path))
        fonts.n--;
}

bool fonts_prepare(void)
{
    fonts.config = FcConfigCreate();
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const char *at = names;

        while (*at) {
            wharf_str name = {at, strcspn(at, " ")};

            for (size_t k = 0; k < 3; k++)
                draw_fonts_take_file(places[i], name, endings[k]);
            at += name.n + strspn(at + name.n, " ");
        }
    }
    if (!FcConfigParseAndLoadFromMemory(fonts.config, (const FcChar8 *)rules, FcTrue))
        return false;
    FcConfigSetCurrent(fonts.config);
    FcConfigDestroy(fonts.config); /* it is fontconfig's, until FcFini() */
    fonts.map = pango_cairo_font_map_get_default();
    return fonts.n > 0;
}

/* ---- of a call ---- */

static int draw_fonts_weight_of(const struct wharf_json *font)
{
    static const char *const words[] = {"light", "medium", "semibold", "bold", NULL};
    static const int weights[] = {
        FC_WEIGHT_LIGHT, FC_WEIGHT_MEDIUM, FC_WEIGHT_DEMIBOLD, FC_WEIGHT_BOLD};
    wharf_str said = json_text_or(font, "weight", "regular");

    for (int i = 0; words[i]; i++) {
        if (str_eqz(said, words[i]))
            return weights[i];
    }
    return FC_WEIGHT_REGULAR;
}

/* Makes fontconfig know the font under a family of its own, which no other font can have. */
static bool add_pattern(
    const struct font_file *file, const struct own_font *own, const struct wharf_json *font)
{
    bool italic = str_eqz(json_text_or(font, "style", ""), "italic");
    FcPattern *pattern;
    FT_Library library;
    FT_Face face;
    int n;

    if (FT_Init_FreeType(&library))
        return false;
    if (FT_New_Face(library, file->path, 0, &face)) {
        FT_Done_FreeType(library);
        return false;
    }
    pattern = FcFreeTypeQueryFace(face, (const FcChar8 *)file->path, 0, NULL);
    FT_Done_Face(face);
    FT_Done_FreeType(library);
    if (!pattern)
        return false;
    for (n = 0; n < 16 && FcPatternRemove(pattern, FC_FAMILY, 0); n++)
        ;
    FcPatternAddString(pattern, FC_FAMILY, (const FcChar8 *)own->family);
    FcPatternDel(pattern, FC_WEIGHT);
    FcPatternAddInteger(pattern, FC_WEIGHT, draw_fonts_weight_of(font));
    FcPatternDel(pattern, FC_SLANT);
    FcPatternAddInteger(pattern, FC_SLANT, italic ? FC_SLANT_ITALIC : FC_SLANT_ROMAN);
    return FcFontSetAdd(FcConfigGetFonts(fonts.config, FcSetApplication), pattern) == FcTrue;
}

static bool take_own(struct drawing *d, const struct wharf_json *font, size_t i)
{
    int64_t blob = json_int_or(font, "blob", -1);
    struct font_file *file = &fonts.all[fonts.n];
    struct own_font *own = &d->own_fonts[i];

    own->name = json_text_or(font, "family", "");
    if (blob < 0 || (size_t)blob >= d->n_blobs)
        return report_problem(d, arena_printf(d->arena, "fonts.%zu", i), "it has no bytes");
    snprintf(own->family, sizeof(own->family), "wharf-own-%zu", i);
    for (size_t k = 0; k < i; k++) { /* the same family in another weight */
        if (str_eq(d->own_fonts[k].name, own->name))
            memcpy(own->family, d->own_fonts[k].family, sizeof(own->family));
    }
    snprintf(file->path, sizeof(file->path), "/own/%zu", i);
    file->p = d->blobs[blob].p;
    file->n = d->blobs[blob].n;
    fonts.n++;
    d->n_own_fonts = (unsigned)i + 1;
    return add_pattern(file, own, font) ||
           report_problem(d, arena_printf(d->arena, "fonts.%zu", i), "it is no font, or damaged");
}

bool fonts_take(struct drawing *d)
{
    const struct wharf_json *list = json_get(d->request, "fonts"), *info;
    size_t i = 0;

    d->pango = pango_font_map_create_context(fonts.map);
    info = json_get(d->body, "info");
    pango_context_set_language(
        d->pango, pango_language_from_string(json_text_or(info, "lang", "en").p));
    if (!json_is(list, JSON_ARRAY) || !list->count)
        return true;
    if (list->count > FONTS_MAX)
        return report_problem(d, str_z("fonts"), "fonts has at most %d", FONTS_MAX);
    d->own_fonts = ARENA_ARRAY(d->arena, struct own_font, FONTS_MAX);
    for (const struct wharf_json *f = list->child; f; f = f->next, i++)
        take_own(d, f, i);
    pango_fc_font_map_config_changed(PANGO_FC_FONT_MAP(fonts.map));
    return !d->report.n_problems;
}

void fonts_leave(struct drawing *d)
{
    if (d->pango)
        g_object_unref(d->pango);
    d->pango = NULL;
}

const char *fonts_family(struct drawing *d, wharf_str name)
{
    static const char *const known[][2] = {{"inter", "Inter"}, {"mono", "JetBrains Mono"},
        {"sans", "DejaVu Sans"}, {"serif", "DejaVu Serif"}};

    for (unsigned i = 0; i < d->n_own_fonts; i++) {
        if (str_eq(d->own_fonts[i].name, name))
            return d->own_fonts[i].family;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (str_eqz(name, known[i][0]))
            return known[i][1];
    }
    return NULL;
}
