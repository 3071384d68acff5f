/* inference_images.c - images of a request: collected, judged, fetched or decoded
 * (docs/spec/06-inference.md sections 2 and 10). Nothing is fetched before all values are judged.
 * Leaves to others: addresses and redirects (wharf.fetch), reading them. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "image_place.h"
#include "inference.h"

#include "inference.gen.h"

enum { PIECE = 64 * 1024, SCHEME_MAX = 40 };

/* ---- collecting ---- */

static wharf_fetch_request image_request(wharf_str url)
{
    return (wharf_fetch_request){.head = WHARF_HEAD(wharf_fetch_request),
        .url = url,
        .family = "inference",
        .flags = WHARF_FETCH_TO_FILE,
        .redirects = 3,
        .max_bytes = IMAGE_MAX};
}

/* Tells whether a value is a URL of another kind than data: base64 has no colon. */
static bool image_is_url(wharf_str v)
{
    if (v.n > 5 && !strncasecmp(v.p, "data:", 5))
        return false;
    return memchr(v.p, ':', v.n < SCHEME_MAX ? v.n : SCHEME_MAX) != NULL;
}

static wharf_status image_add(
    wharf_req *req, const wharf_json *v, const char *path, struct picture *list, size_t *n)
{
    wharf_str text;

    if (!W->json->text(v, &text) || !text.n)
        return W->err->fail(req, ERR_VALIDATION_FAILED, path,
            "%s must be a data URI, base64 or a URL that begins with https://", path);
    if (*n < IMAGES_MAX)
        list[*n] = (struct picture){.path = path,
            .value = text,
            .is_url = image_is_url(text),
            .file = WHARF_S(""),
            .fd = -1,
            .reason = WHARF_S("")};
    ++*n;
    return WHARF_OK;
}

static wharf_status image_add_all(
    wharf_req *req, const wharf_json *body, const char *key, struct picture *list, size_t *n)
{
    const wharf_json *v = W->json->get(body, key);
    wharf_status s = WHARF_OK;
    size_t i = 0;

    if (json_is_null(v))
        return WHARF_OK;
    if (W->json->type(v) != WHARF_J_ARRAY)
        return image_add(req, v, key, list, n);
    for (const wharf_json *m = W->json->at(v, 0); m && s == WHARF_OK; m = W->json->next(m), i++)
        s = image_add(req, m, W->mem->format(req, "%s.%zu", key, i).p, list, n);
    return s;
}

wharf_status images_collect(
    wharf_req *req, const wharf_json *body, size_t most, struct picture *list, size_t *ret_n)
{
    wharf_status s;

    *ret_n = 0;
    s = image_add_all(req, body, "image", list, ret_n);
    if (s == WHARF_OK)
        s = image_add_all(req, body, "image_url", list, ret_n);
    if (s != WHARF_OK)
        return s;
    if (*ret_n > most)
        return W->err->fail(req, ERR_INFERENCE_TOO_MANY_IMAGES, NULL,
            most == 1 ? "There may be one image; send image or image_url" : NULL);
    if (!*ret_n)
        return W->err->fail(req, ERR_INFERENCE_IMAGE_REQUIRED, NULL, NULL);
    for (size_t i = 0; i < *ret_n && s == WHARF_OK; i++) {
        const wharf_fetch_request r = image_request(list[i].value);

        if (list[i].is_url)
            s = inference_fetch->check(req, &r, list[i].path);
    }
    return s;
}

/* ---- what the client read of them ---- */

static size_t image_chars(wharf_str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

wharf_status images_take_values(
    wharf_req *req, const wharf_json *list, const char *path, struct label_given *ret)
{
    size_t n = W->json->count(list);
    wharf_str *values = W->mem->alloc(req, (n + 1) * sizeof(*values));

    ret->values = values;
    ret->n = 0;
    if (n > GIVEN_MAX)
        return W->err->fail(req, ERR_VALIDATION_FAILED, path,
            "%s may have %d values; send those that matter", path, GIVEN_MAX);
    for (const wharf_json *m = W->json->at(list, 0); m; m = W->json->next(m)) {
        wharf_str text;

        if (!W->json->text(m, &text) || image_chars(text) > GIVEN_CHARS)
            return W->err->fail(req, ERR_VALIDATION_FAILED, path,
                "%s must be texts of at most %d characters", path, GIVEN_CHARS);
        if (strspn(text.p, " \t\r\n") < text.n)
            values[ret->n++] = text;
    }
    return WHARF_OK;
}

/* ---- bringing ---- */

static void image_wrong(struct picture *p, const char *code, wharf_str reason)
{
    p->error = code;
    p->reason = reason;
}

static bool image_load(int fd, char *to, size_t n)
{
    size_t at = 0;

    while (at < n) {
        ssize_t got = pread(fd, to + at, n - at, (off_t)at);

        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    return true;
}

/* Takes out of the bytes where the picture was taken; they are written anew where they say it. */
static wharf_status image_drop_place(wharf_req *req, struct picture *p)
{
    int fd = inference_blob->written(p->bytes);
    off_t end = lseek(fd, 0, SEEK_END);
    size_t n = end > 0 ? (size_t)end : 0;
    char *bytes = malloc(n + 1);
    wharf_blob_writer *clean = NULL;
    wharf_status s = WHARF_OK;

    if (!bytes || !image_load(fd, bytes, n)) {
        s = W->err->fail(req, ERR_INTERNAL, NULL, "an image can't be read");
    } else if (image_place_blank((unsigned char *)bytes, n)) {
        s = inference_blob->begin(req, IMAGE_MAX, &clean);
        if (s == WHARF_OK)
            s = inference_blob->write(req, clean, bytes, n);
        if (s == WHARF_OK) {
            inference_blob->abort(req, p->bytes);
            p->bytes = clean;
        } else if (clean)
            inference_blob->abort(req, clean);
    }
    free(bytes);
    return s;
}

wharf_status images_decode(wharf_req *req, struct picture *p)
{
    const char *fault = NULL;
    wharf_str type;
    wharf_status s = inference_blob->begin(req, IMAGE_MAX, &p->bytes);

    if (s == WHARF_OK)
        s = inference_blob->write_text(req, p->bytes, p->value, &type, &fault);
    if (s == WHARF_OK && lseek(inference_blob->written(p->bytes), 0, SEEK_END) > 0)
        return image_drop_place(req, p);
    if (s == WHARF_UNAVAILABLE)
        return s;
    if (s == WHARF_OK || fault)
        image_wrong(p, ERR_INFERENCE_IMAGE_INVALID,
            fault ? W->mem->format(req, "%s", fault) : WHARF_S("it is empty"));
    else
        image_wrong(p, ERR_FILE_TOO_LARGE, WHARF_S("it has more than 10 MB"));
    W->err->clear(req);
    inference_blob->abort(req, p->bytes);
    p->bytes = NULL;
    return WHARF_OK;
}

static bool image_is_policy(wharf_str code)
{
    static const char *const family[] = {ERR_INFERENCE_URL, ERR_INFERENCE_PROTOCOL,
        ERR_INFERENCE_HOSTNAME, ERR_INFERENCE_UNREACHABLE};

    return word_place(code, family, 4) < 3; /* who can't be reached today is no matter of policy */
}

static wharf_status image_copy(wharf_req *req, struct picture *p)
{
    static const char failed[] = "a fetched image can't be read";
    char *piece = W->mem->alloc(req, PIECE);
    int fd = inference_fetch->file(p->fetch);
    wharf_status s = inference_blob->begin(req, IMAGE_MAX, &p->bytes);
    int64_t at = 0;

    while (s == WHARF_OK) {
        ssize_t n = pread(fd, piece, PIECE, at);

        if (n == 0)
            return image_drop_place(req, p);
        if (n < 0)
            return W->err->fail(req, ERR_INTERNAL, NULL, failed);
        s = inference_blob->write(req, p->bytes, piece, (size_t)n);
        at += n;
    }
    return s;
}

static wharf_status image_take_fetched(wharf_req *req, struct picture *p)
{
    wharf_status s = inference_fetch->wait(req, p->fetch);
    wharf_str code = inference_fetch->code(p->fetch);

    if (s != WHARF_OK)
        return s;
    if (code.n)
        image_wrong(p, W->mem->dup(req, code.p, code.n).p, WHARF_S(""));
    if (image_is_policy(code))
        return inference_fetch->fail(req, p->fetch, p->path);
    if (!code.n)
        s = image_copy(req, p);
    return s;
}

bool picture_is_none(const struct picture *p)
{
    return p->error && strchr(p->error, '.');
}

wharf_status images_fail(wharf_req *req, const struct picture *p)
{
    if (p->fetch && inference_fetch->code(p->fetch).n)
        return inference_fetch->fail(req, p->fetch, p->path);
    return W->err->fail(
        req, p->error, p->path, p->reason.n ? "The image can't be read: %s" : NULL, p->reason.p);
}

wharf_status images_bring(wharf_req *req, struct picture *list, size_t n)
{
    wharf_status s = WHARF_OK;
    size_t failed = 0;

    for (size_t i = 0; i < n && s == WHARF_OK; i++) {
        const wharf_fetch_request r = image_request(list[i].value);

        if (list[i].is_url)
            s = inference_fetch->start(req, &r, &list[i].fetch);
    }
    for (size_t i = 0; i < n && s == WHARF_OK; i++)
        if (list[i].fd < 0 && !list[i].error)
            s = list[i].is_url ? image_take_fetched(req, &list[i]) : images_decode(req, &list[i]);
    for (size_t i = 0; i < n; i++) {
        failed += list[i].error != NULL;
        if (list[i].bytes && !list[i].error)
            list[i].fd = inference_blob->written(list[i].bytes);
    }
    return s == WHARF_OK && failed == n ? images_fail(req, &list[0]) : s;
}
