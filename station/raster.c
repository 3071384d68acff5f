/* raster.c - PDF to PWG raster for printers that take no PDF: pdftoppm in a process of its own,
 * with limits; its crash fails the job only. */
#include <cups/cups.h>
#include <cups/raster.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "station.h"

enum {
    MEMORY_MIB = 512,
    CPU_S = 60, /* of pdftoppm */
    SIDE_MAX = 60000
};

struct page { /* one of the stream that pdftoppm writes: binary PGM or PPM */
    int width, height, channels;
    unsigned char *line, *out;
};

static bool raster_fail(char reason[REASON_TEXT], const char *what)
{
    snprintf(reason, REASON_TEXT, "the document can't be converted: %s", what);
    return false;
}

static const char *const environment[] = {"LC_ALL=C", "PATH=/usr/bin:/bin", NULL};

/* Limits, in the child, what poppler may use up. */
static void raster_limit(void)
{
    const struct rlimit memory = {(rlim_t)MEMORY_MIB << 20, (rlim_t)MEMORY_MIB << 20},
                        cpu = {CPU_S, CPU_S}, files = {0, 0};

    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &files);
}

static _Noreturn void run_converter(const char *pdf, const struct printer *p, bool color, int to)
{
    char x[16], y[16];
    const char *const args[] = {settings.pdftoppm, "-rx", x, "-ry", y, color ? "-aa" : "-gray",
        color ? "yes" : pdf, color ? pdf : NULL, NULL};

    raster_limit();
    snprintf(x, sizeof(x), "%d", p->dpi_x);
    snprintf(y, sizeof(y), "%d", p->dpi_y);
    dup2(to, STDOUT_FILENO);
    execve(settings.pdftoppm, (char *const *)args, (char *const *)environment);
    _exit(127);
}

/* Reads "P5 width height 255\n". */
static bool read_head(FILE *f, struct page *p)
{
    char kind;
    int most;

    if (fscanf(f, "P%c %d %d %d", &kind, &p->width, &p->height, &most) != 4 || fgetc(f) == EOF)
        return false;
    p->channels = kind == '6' ? 3 : 1;
    return (kind == '5' || kind == '6') && most == 255 && p->width > 0 && p->height > 0 &&
           p->width <= SIDE_MAX && p->height <= SIDE_MAX;
}

/* Converts a line to the printer's type: grey, colours, or one bit per dot, black is 1. */
static void convert_line(const struct page *p, const cups_page_header2_t *h)
{
    for (unsigned x = 0; x < h->cupsWidth; x++) {
        const unsigned char *from = p->line + x * (unsigned)p->channels;
        bool inside = (int)x < p->width;
        unsigned grey = !inside ? 255
                        : p->channels == 1
                            ? from[0]
                            : (from[0] * 299U + from[1] * 587U + from[2] * 114U) / 1000;

        if (h->cupsBitsPerPixel == 24) {
            for (unsigned k = 0; k < 3; k++)
                p->out[3 * x + k] = inside ? from[p->channels == 3 ? k : 0] : 255;
        } else if (h->cupsBitsPerPixel == 8) {
            p->out[x] = (unsigned char)grey;
        } else if (grey < 128) {
            p->out[x / 8] |= (unsigned char)(0x80 >> (x % 8));
        }
    }
}

static bool write_page(FILE *f, struct page *p, cups_raster_t *to, cups_page_header2_t *h)
{
    bool good = true;

    p->line = malloc((size_t)p->width * (size_t)p->channels);
    p->out = malloc(h->cupsBytesPerLine);
    good = p->line && p->out && cupsRasterWriteHeader2(to, h);
    for (unsigned y = 0; good && y < h->cupsHeight; y++) {
        memset(p->out, h->cupsBitsPerPixel == 1 ? 0 : 255, h->cupsBytesPerLine);
        if ((int)y < p->height) {
            good = fread(p->line, (size_t)p->channels, (size_t)p->width, f) == (size_t)p->width;
            convert_line(p, h);
        }
        good = good &&
               cupsRasterWritePixels(to, p->out, h->cupsBytesPerLine) == h->cupsBytesPerLine;
    }
    for (int y = (int)h->cupsHeight; good && y < p->height; y++)
        good = fread(p->line, (size_t)p->channels, (size_t)p->width, f) == (size_t)p->width;
    free(p->line);
    free(p->out);
    return good;
}

static bool page_header(
    const struct job *j, const struct page *p, const char *type, cups_page_header2_t *h)
{
    const cJSON *wish = member(j->claim, "configuration");
    const char *edge = member_text(wish, "duplex_edge", "long");
    bool both = member_bool(wish, "double_sided", false);
    /* the prepared page has the medium's size: what it is in dots is what it is in hundredths of
     * a millimetre */
    pwg_media_t m = {.pwg = "custom",
        .width = (int)lround(p->width * 2540.0 / j->printer->dpi_x),
        .length = (int)lround(p->height * 2540.0 / j->printer->dpi_y)};

    return cupsRasterInitPWGHeader(h, &m, type, j->printer->dpi_x, j->printer->dpi_y,
               !both                    ? "one-sided"
               : !strcmp(edge, "short") ? "two-sided-short-edge"
                                        : "two-sided-long-edge",
               "normal") != 0;
}

static bool raster_convert(
    const struct job *j, FILE *from, int to_fd, bool color, char reason[REASON_TEXT])
{
    const char *type = color ? "srgb_8" : j->printer->raster_type;
    cups_raster_t *to = cupsRasterOpen(to_fd, CUPS_RASTER_WRITE_PWG);
    cups_page_header2_t h;
    struct page p;
    unsigned pages = 0;
    bool good = to != NULL;
    int next;

    while (good && (next = fgetc(from)) != EOF) {
        ungetc(next, from);
        memset(&h, 0, sizeof(h));
        good = read_head(from, &p) && page_header(j, &p, type, &h) && write_page(from, &p, to, &h);
        pages += good;
    }
    if (to)
        cupsRasterClose(to);
    return (good && pages) || raster_fail(reason, "the pages that pdftoppm made are cut off");
}

bool raster_make(const struct job *j, const char *pdf, const char *to, char reason[REASON_TEXT])
{
    bool color = j->printer->color &&
                 member_bool(member(j->claim, "configuration"), "color_print", false),
         good;
    int fds[2], to_fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), status = -1;
    FILE *from;
    pid_t pid;

    if (to_fd < 0 || pipe2(fds, O_CLOEXEC) != 0)
        return raster_fail(reason, "the spool folder can't be written");
    pid = fork();
    if (pid == 0)
        run_converter(pdf, j->printer, color, fds[1]);
    close(fds[1]);
    from = fdopen(fds[0], "r");
    good = pid > 0 && from && raster_convert(j, from, to_fd, color, reason);
    if (from)
        fclose(from);
    if (pid > 0)
        waitpid(pid, &status, 0);
    close(to_fd);
    if (good && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
        return raster_fail(reason, "pdftoppm gives up on it");
    return good;
}

/* ---- copies in one file ---- */

/* Runs pdfunite, which stands beside pdftoppm. */
static _Noreturn void run_unite(const char *pdf, int times, const char *to)
{
    const char **args = calloc((size_t)times + 3, sizeof(*args)),
               *slash = strrchr(settings.pdftoppm, '/');
    char program[PATH_TEXT + 16];

    if (!args)
        _exit(127);
    snprintf(program, sizeof(program), "%.*spdfunite",
        slash ? (int)(slash + 1 - settings.pdftoppm) : 0, settings.pdftoppm);
    args[0] = program;
    for (int i = 0; i < times; i++)
        args[1 + i] = pdf;
    args[1 + times] = to;
    raster_limit();
    execve(program, (char *const *)args, (char *const *)environment);
    _exit(127);
}

static bool raster_append(const char *file, int fd)
{
    char block[16384];
    FILE *from = fopen(file, "re");
    bool good = from != NULL;
    size_t n;

    while (good && (n = fread(block, 1, sizeof(block), from)) > 0)
        good = write(fd, block, n) == (ssize_t)n;
    if (from)
        fclose(from);
    return good;
}

bool document_repeat(
    const char *file, bool pdf, int times, const char *to, char reason[REASON_TEXT])
{
    int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), status = -1;
    bool good = fd >= 0;
    pid_t pid;

    for (int i = 0; good && !pdf && i < times; i++)
        good = raster_append(file, fd);
    if (fd >= 0)
        close(fd);
    if (!good)
        return raster_fail(reason, "the spool folder can't be written");
    if (!pdf)
        return true;
    pid = fork();
    if (pid == 0)
        run_unite(file, times, to);
    if (pid > 0)
        waitpid(pid, &status, 0);
    return (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
           raster_fail(reason, "pdfunite gives up on the copies");
}
