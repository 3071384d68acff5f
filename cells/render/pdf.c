/* pdf.c - documents as libqpdf holds them: opening, sizes, choosing pages, writing. See
 * render.h. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "render.h"
#include "render_forms.h"

bool source_fail(struct source *s, const char *fmt, ...)
{
    va_list ap;

    if (s->error[0])
        return false; /* the first one is the reason */
    va_start(ap, fmt);
    vsnprintf(s->error, sizeof(s->error), fmt, ap);
    va_end(ap);
    return false;
}

bool source_good(struct source *s)
{
    qpdf_error e;

    if (!qpdf_has_error(s->q))
        return !s->error[0];
    e = qpdf_get_error(s->q);
    if (qpdf_get_error_code(s->q, e) == qpdf_e_password)
        return source_fail(s, "invalid: it is encrypted; send it without its password");
    return source_fail(s, "invalid: it is damaged: %.120s", qpdf_get_error_message_detail(s->q, e));
}

static bool new_document(struct source *s)
{
    s->q = qpdf_init();
    if (!s->q)
        cell_out_of_memory();
    qpdf_silence_errors(s->q);
    qpdf_set_suppress_warnings(s->q, QPDF_TRUE);
    if (s->type != RENDER_PDF)
        return !(qpdf_empty_pdf(s->q) & QPDF_ERRORS) || source_good(s);
    if (qpdf_read_memory(s->q, "document", (const char *)s->bytes.p, s->bytes.n, NULL) &
        QPDF_ERRORS)
        return source_good(s) ? source_fail(s, "invalid: it is damaged") : false;
    return source_good(s);
}

/* Tells whether the document leaves it to the viewer to draw what stands in its fields. */
static bool leaves_fields(struct source *s)
{
    qpdf_oh form = qpdf_oh_get_key(s->q, qpdf_get_root(s->q), "/AcroForm");
    bool leaves = qpdf_oh_is_dictionary(s->q, form) &&
                  qpdf_oh_get_bool_value(s->q, qpdf_oh_get_key(s->q, form, "/NeedAppearances"));

    qpdf_oh_release_all(s->q);
    return leaves && source_good(s);
}

/* Draws the fields, and goes on with that document. A form that can't be drawn is as it was. */
static bool draw_fields(struct source *s)
{
    size_t n = 0;

    if (!forms_draw(s->bytes.p, s->bytes.n, &s->filled, &n))
        return true;
    qpdf_cleanup(&s->q);
    s->bytes = (struct bytes){s->filled, n};
    return new_document(s);
}

bool source_open(struct source *s, const struct render_call *call, const void *p, size_t n)
{
    *s = (struct source){
        .type = (enum render_type)call->type, .call = *call, .bytes = {(unsigned char *)p, n}};
    if (!new_document(s) || (s->type == RENDER_PDF && leaves_fields(s) && !draw_fields(s)))
        return false;
    switch (s->type) {
    case RENDER_PDF:
        return pdf_look(s);
    case RENDER_PNG:
    case RENDER_JPEG:
        return image_look(s);
    case RENDER_WEBP:
        return webp_look(s);
    case RENDER_GIF:
        return gif_look(s);
    case RENDER_TIFF:
        return tiff_look(s);
    case RENDER_TEXT:
        return true;
    }
    return source_fail(s, "invalid: documents of this type can't be printed");
}

void source_close(struct source *s)
{
    if (s->q)
        qpdf_cleanup(&s->q);
    free(s->filled);
    s->filled = NULL;
}

bool pdf_look(struct source *s)
{
    int n = qpdf_get_num_pages(s->q);

    if (!source_good(s) || n <= 0)
        return source_fail(s, "invalid: it has no pages");
    if (n > RENDER_PAGES_MAX)
        return source_fail(
            s, "invalid: it has %d pages; %d can be printed at once", n, RENDER_PAGES_MAX);
    qpdf_push_inherited_attributes_to_page(s->q);
    s->reported.pages = (uint32_t)n;
    for (int i = 0; i < n; i++) {
        struct page_box box;
        double width, height;

        if (!page_box(s, qpdf_get_page_n(s->q, (size_t)i), &box))
            return false;
        page_shown(&box, &width, &height);
        if (i == 0) {
            s->reported.width = width;
            s->reported.height = height;
        } else if (fabs(width - s->reported.width) > 4.32 ||
                   fabs(height - s->reported.height) > 4.32) {
            s->reported.mixed = 1; /* beyond the 0.06 in by which paper sizes are told */
        }
        qpdf_oh_release_all(s->q);
    }
    return source_good(s);
}

static bool pdf_wanted(const struct render_range *ranges, size_t n, uint32_t page)
{
    for (size_t i = 0; i < n; i++) {
        if (page >= ranges[i].from && page <= ranges[i].to)
            return true;
    }
    return n == 0;
}

bool pdf_keep(struct source *s, const struct render_range *ranges, size_t n)
{
    for (int i = qpdf_get_num_pages(s->q); i > 0; i--) {
        if (!pdf_wanted(ranges, n, (uint32_t)i))
            qpdf_remove_page(s->q, qpdf_get_page_n(s->q, (size_t)i - 1));
        qpdf_oh_release_all(s->q);
    }
    if (!source_good(s))
        return false;
    return qpdf_get_num_pages(s->q) > 0 ||
           source_fail(s, "pages: page_ranges leaves no page of the document");
}

bool pdf_show(struct source *s, const unsigned char **ret_p, size_t *ret_n)
{
    const struct render_range range = {s->call.page, s->call.page};

    return pdf_keep(s, &range, 1) && pdf_write(s, ret_p, ret_n);
}

bool page_add(struct source *s, double width, double height, const char *content, size_t n,
    const char *resources, qpdf_oh xobjects)
{
    char text[600];
    qpdf_oh page, stream = qpdf_oh_new_stream(s->q), null = qpdf_oh_new_null(s->q);

    snprintf(text, sizeof(text), "<< /Type /Page /MediaBox [0 0 %.4f %.4f] /Resources %s >>", width,
        height, resources);
    page = qpdf_make_indirect_object(s->q, qpdf_oh_parse(s->q, text));
    qpdf_oh_replace_stream_data(s->q, stream, (const unsigned char *)content, n, null, null);
    qpdf_oh_replace_key(s->q, page, "/Contents", stream);
    if (xobjects)
        qpdf_oh_replace_key(s->q, qpdf_oh_get_key(s->q, page, "/Resources"), "/XObject", xobjects);
    qpdf_add_page(s->q, s->q, page, QPDF_FALSE);
    return source_good(s);
}

bool pdf_write(struct source *s, const unsigned char **ret_p, size_t *ret_n)
{
    static const char *const gone[] = {"/AcroForm", "/OpenAction", "/AA", "/Names", "/Outlines",
        "/Dests", "/StructTreeRoot", "/MarkInfo", "/Metadata", "/PageLabels", "/Threads", "/URI",
        "/PieceInfo", "/Perms", "/Legal", "/Collection", "/AF", "/ViewerPreferences"};
    qpdf_oh root = qpdf_get_root(s->q);

    for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
        qpdf_oh_remove_key(s->q, root, gone[i]);
    if (!source_good(s) || qpdf_init_write_memory(s->q) & QPDF_ERRORS)
        return source_good(s) ? source_fail(s, "invalid: it can't be written anew") : false;
    qpdf_set_preserve_encryption(s->q, QPDF_FALSE);
    qpdf_set_deterministic_ID(s->q, QPDF_TRUE);
    qpdf_set_object_stream_mode(s->q, qpdf_o_disable); /* readers in printers know no newer files */
    qpdf_set_decode_level(s->q, qpdf_dl_none); /* images travel as they are */
    qpdf_set_compress_streams(s->q, QPDF_TRUE);
    if (qpdf_write(s->q) & QPDF_ERRORS)
        return source_good(s) ? source_fail(s, "invalid: it can't be written anew") : false;
    *ret_n = qpdf_get_buffer_length(s->q);
    *ret_p = qpdf_get_buffer(s->q);
    if (*ret_n > RENDER_BYTES_MAX)
        return source_fail(
            s, "invalid: it becomes %zu bytes; %d can be printed", *ret_n, RENDER_BYTES_MAX);
    return source_good(s);
}
