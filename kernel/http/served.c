/* served.c - see served.h. */
#include "http/served.h"

#include "util/time.h"

static void served_add(struct MHD_Response *r, const char *name, const char *value)
{
    MHD_add_response_header(r, name, value);
}

static void add_modified(struct MHD_Response *r, int64_t us)
{
    char text[HTTP_DATE_LEN + 1];

    time_format_http(us, text);
    served_add(r, "Last-Modified", text);
}

static struct MHD_Response *with_body(struct exchange *x, struct served *s)
{
    struct MHD_Response *r;

    if (s->fd < 0 || !s->length)
        return MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
    r = MHD_create_response_from_fd_at_offset64(s->length, s->fd, s->at);
    s->fd = -1; /* closed with the response */
    x->answer_bytes = s->length;
    x->sends_file = true;
    x->server->files_sent++;
    return r;
}

struct MHD_Response *served_response(struct exchange *x, int *ret_status)
{
    struct served *s = x->req.reply.served;
    struct MHD_Response *r = with_body(x, s);
    char text[80];

    *ret_status = x->answer_status = s->status;
    served_add(r, "ETag", s->etag.p);
    served_add(r, "Accept-Ranges", "bytes");
    add_modified(r, s->modified_us);
    if (s->status == 200 && !x->head_only && s->digest.n)
        served_add(r, "Content-Digest", s->digest.p);
    if (s->status == 206) {
        snprintf(text, sizeof(text), "bytes %llu-%llu/%llu", (unsigned long long)s->first,
            (unsigned long long)(s->first + s->length - 1), (unsigned long long)s->size);
        served_add(r, "Content-Range", text);
    } else if (s->status == 416) {
        snprintf(text, sizeof(text), "bytes */%llu", (unsigned long long)s->size);
        served_add(r, "Content-Range", text);
    }
    if (s->status < 300) {
        served_add(r, "Content-Type", s->type.p);
        served_add(r, "Content-Disposition", s->disposition.p);
    }
    if (s->sandbox)
        served_add(r, "Content-Security-Policy", "sandbox");
    return r;
}
