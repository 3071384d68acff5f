/* envelope.c - the JSON around every answer. See envelope.h. */
#include "resource/envelope.h"

#include "util/str.h"
#include "wharf/errors.h"

enum { ENDPOINT_MAX = 512 }; /* letters of the path that answers show */

static const char *const title_of_status[] = {"Bad request", "Unauthorized", "", "Forbidden",
    "Not found", "Method not allowed", "Not acceptable", "", "Request timeout", "Conflict"};

/* Tells whether an earlier problem has the same path. A request keeps at most PROBLEMS_MAX
 * problems, so this is bounded. */
static bool is_repeated_path(const struct req_problems *problems, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (problems->list[k].path.p && problems->list[k].hash == problems->list[i].hash)
            return true;
    return false;
}

/* Writes the errors. A request is refused for one reason, with everything that belongs to it: only
 * the first problem's code counts. Of a success it is what a plugin remarked. */
void envelope_errors(struct jw *w, const struct wharf_req *req)
{
    jw_open(w, "errors", '[');
    for (size_t i = 0; !req->problems.n && i < req->reply.n_remarks; i++)
        jw_str(w, NULL, req->reply.remarks[i]);
    for (size_t i = 0; i < req->problems.n; i++) {
        const struct problem *p = &req->problems.list[i];

        if (p->path.p && !strcmp(p->code, req->problems.list[0].code) &&
            !is_repeated_path(&req->problems, i))
            jw_str(w, NULL, p->path);
    }
    jw_close(w, ']');
}

static wharf_str endpoint(const struct req_head *head)
{
    size_t n = head->path.n;

    if (n > ENDPOINT_MAX) {
        n = ENDPOINT_MAX;
        while (n && ((unsigned char)head->path.p[n] & 0xC0) == 0x80)
            n--;
    }
    return (wharf_str){head->path.p, n};
}

static wharf_str first_message(const struct wharf_req *req)
{
    const struct req_problems *problems = &req->problems;

    if (!strcmp(problems->list[0].code, ERR_INTERNAL))
        return arena_printf(req->arena,
            "Something went wrong on our side; the request is known as %s", req->request_id);
    if (problems->more && problems->n == PROBLEMS_MAX)
        return arena_printf(req->arena, "%.*s (%d problems are listed, and %zu more were found)",
            STR_ARG(problems->list[0].text), PROBLEMS_MAX, problems->more);
    return problems->list[0].text;
}

void envelope_write(struct buf *out, const struct wharf_req *req, int status)
{
    const struct req_problems *problems = &req->problems;
    const struct req_reply *reply = &req->reply;
    struct jw w;

    jw_init(&w, out);
    jw_open(&w, NULL, '{');
    if (problems->n || !reply->out.n)
        jw_null(&w, "data");
    else
        jw_raw(&w, "data", buf_str(&reply->out));
    jw_str(&w, "message", problems->n ? first_message(req) : reply->message);
    jw_int(&w, "status", status);
    jw_z(&w, "code", problems->n ? problems->list[0].code : reply->success_code);
    envelope_errors(&w, req);
    if (reply->pagination.n && !problems->n)
        jw_raw(&w, "pagination", reply->pagination);
    else
        jw_null(&w, "pagination");
    jw_str(&w, "endpoint", endpoint(&req->head));
    jw_close(&w, '}');
}

/* Writes where in a program a problem lies, for editors. */
static void write_place(struct jw *w, const struct problem *p)
{
    static const char *const members[] = {"file", "line", "message", "snippet"};

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const struct wharf_json *v = json_get(p->place, members[i]);

        if (v && v->type != JSON_NULL)
            jw_value(w, members[i], v);
    }
}

void problem_details_write(struct buf *out, const struct wharf_req *req, int status)
{
    const struct req_problems *problems = &req->problems;
    struct jw w;

    jw_init(&w, out);
    jw_open(&w, NULL, '{');
    jw_str(&w, "type", arena_printf(req->arena, "urn:problem:%s", problems->list[0].code));
    jw_z(&w, "title",
        status < 410   ? title_of_status[status - 400]
        : status < 500 ? "Not possible"
                       : "Server trouble");
    jw_int(&w, "status", status);
    jw_str(&w, "detail", first_message(req));
    jw_z(&w, "instance", req->request_id);
    jw_z(&w, "code", problems->list[0].code);
    envelope_errors(&w, req);
    jw_open(&w, "violations", '[');
    for (size_t i = 0; i < problems->n; i++) {
        if (!problems->list[i].path.p)
            continue;
        jw_open(&w, NULL, '{');
        jw_str(&w, "path", problems->list[i].path);
        jw_z(&w, "rule", problems->list[i].rule ? problems->list[i].rule : "format");
        if (json_get(problems->list[i].place, "message"))
            write_place(&w, &problems->list[i]);
        else
            jw_str(&w, "message", problems->list[i].text);
        jw_close(&w, '}');
    }
    jw_close(&w, ']');
    jw_close(&w, '}');
}
