/* ipp_job.c - one job at an IPP printer: submitted once, watched to its end, found again after a
 * crash (spec 04 section 10.3). */
#include <cups/cups.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "station.h"

enum {
    CONNECT_MS = 5000, /* until the connection stands */
    GONE_S = 120, /* a printer may be away after a job was submitted */
    CREATE_S = 30,
    POLL_FIRST_MS = 100, /* between two looks at a job; doubled */
    POLL_MAX_MS = 5000, /* longest pause */
    REASON_MIN = 3
};

static http_t *ipp_job_connect_to(const struct printer *p)
{
    return httpConnect2(p->host, p->port, NULL, AF_UNSPEC,
        p->tls ? HTTP_ENCRYPTION_ALWAYS : HTTP_ENCRYPTION_IF_REQUESTED, 1, CONNECT_MS, NULL);
}

static ipp_t *new_request(const struct printer *p, ipp_op_t op)
{
    ipp_t *r = ippNewRequest(op);

    ippAddString(r, IPP_TAG_OPERATION, IPP_TAG_URI, "printer-uri", NULL, p->uri);
    ippAddString(r, IPP_TAG_OPERATION, IPP_TAG_NAME, "requesting-user-name", NULL, "wharf-station");
    return r;
}

/* ---- submitting ---- */

static const cJSON *wish(const struct job *j)
{
    return member(j->claim, "configuration");
}

static void job_name(const struct job *j, char *to, size_t size)
{
    snprintf(to, size, "wharf:%s %.100s", j->record.id, member_text(j->claim, "name", ""));
}

static void ipp_job_add_size(ipp_t *r, const struct job *j)
{
    const struct medium *m = medium_named(member_text(wish(j), "paper_size", ""));
    const char *source = member_text(wish(j), "media_source", "");
    ipp_t *col, *size;

    if (!m) /* page_size_custom: what is in the printer */
        return;
    col = ippNew();
    size = ippNew();
    ippAddInteger(size, IPP_TAG_ZERO, IPP_TAG_INTEGER, "x-dimension", (int)lround(m->width * 2540));
    ippAddInteger(
        size, IPP_TAG_ZERO, IPP_TAG_INTEGER, "y-dimension", (int)lround(m->height * 2540));
    ippAddCollection(col, IPP_TAG_ZERO, "media-size", size);
    if (source[0])
        ippAddString(col, IPP_TAG_ZERO, IPP_TAG_KEYWORD, "media-source", NULL, source);
    ippAddCollection(r, IPP_TAG_JOB, "media-col", col);
    ippDelete(size);
    ippDelete(col);
}

static void add_job_attributes(ipp_t *r, const struct job *j)
{
    const char *edge = member_text(wish(j), "duplex_edge", "long");
    bool both = member_bool(wish(j), "double_sided", false);
    int copies = member_int(wish(j), "copies", 1);

    if (copies > 1 && copies <= j->printer->copies)
        ippAddInteger(r, IPP_TAG_JOB, IPP_TAG_INTEGER, "copies", copies);
    if (copies > 1 && j->printer->takes_uncollated)
        ippAddString(r, IPP_TAG_JOB, IPP_CONST_TAG(IPP_TAG_KEYWORD), "multiple-document-handling",
            NULL,
            member_bool(wish(j), "collate", true) ? "separate-documents-collated-copies"
                                                  : "separate-documents-uncollated-copies");
    if (j->printer->takes_resolution)
        ippAddResolution(r, IPP_TAG_JOB, "printer-resolution", IPP_RES_PER_INCH, j->printer->dpi_x,
            j->printer->dpi_y);
    /* the prepared page lies as the medium does; nobody shall turn it */
    if (j->printer->takes_orientation)
        ippAddInteger(r, IPP_TAG_JOB, IPP_TAG_ENUM, "orientation-requested", IPP_ORIENT_PORTRAIT);
    if (j->printer->double_sided)
        ippAddString(r, IPP_TAG_JOB, IPP_CONST_TAG(IPP_TAG_KEYWORD), "sides", NULL,
            !both                    ? "one-sided"
            : !strcmp(edge, "short") ? "two-sided-short-edge"
                                     : "two-sided-long-edge");
    if (j->printer->color)
        ippAddString(r, IPP_TAG_JOB, IPP_CONST_TAG(IPP_TAG_KEYWORD), "print-color-mode", NULL,
            member_bool(wish(j), "color_print", false) ? "color" : "monochrome");
    ippAddString(r, IPP_TAG_JOB, IPP_CONST_TAG(IPP_TAG_KEYWORD), "print-scaling", NULL, "none");
    ipp_job_add_size(r, j);
}

static const char *raw_format(const struct job *j)
{
    static const char *const known[] = {"application/vnd.zebra-zpl", "application/postscript",
        "application/pdf", "application/vnd.hp-pcl"};
    const char *type = member_text(member(j->claim, "document"), "content_type", "");

    if (j->printer->config &&
        j->printer->config->languages) /* said by a person; the printer may not know the name */
        return "application/octet-stream";
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (!strcmp(type, known[i]))
            return known[i];
    }
    return "application/octet-stream";
}

/* Repeats the document when more copies are wanted than the printer makes of one job. */
static bool repeat_copies(const struct job *j, char *file, bool pdf, struct outcome *ret)
{
    int copies = member_int(wish(j), "copies", 1);
    char to[PATH_TEXT + 8];

    if (copies <= 1 || copies <= j->printer->copies)
        return true;
    snprintf(to, sizeof(to), "%.500s.all", j->file);
    if (!document_repeat(file, pdf, copies, to, ret->reason)) {
        ret->status = "failed";
        ret->code = "conversion";
        return false;
    }
    snprintf(file, PATH_TEXT, "%.599s", to);
    return true;
}

/* Chooses what is sent, and as what. Returns false when the printer takes nothing that we have. */
static bool choose_format(
    const struct job *j, char *file, const char **ret_format, struct outcome *ret)
{
    char raster[PATH_TEXT + 8];
    bool good;

    snprintf(file, PATH_TEXT, "%s", j->file);
    *ret_format = "application/pdf";
    if (member_bool(j->claim, "raw", false)) {
        *ret_format = raw_format(j);
        return repeat_copies(j, file, false, ret);
    }
    if ((j->printer->takes_pdf || j->printer->takes_pwg) && !repeat_copies(j, file, true, ret))
        return false;
    if (j->printer->takes_pdf)
        return true;
    if (!j->printer->takes_pwg) {
        outcome_set(ret, "failed", "conversion", "the printer takes neither PDF nor PWG raster");
        return false;
    }
    snprintf(raster, sizeof(raster), "%.500s.pwg", j->file);
    *ret_format = "image/pwg-raster";
    good = raster_make(j, file, raster, ret->reason);
    if (strcmp(file, j->file) != 0)
        unlink(file); /* the copies in one */
    if (!good) {
        ret->status = "failed";
        ret->code = "conversion";
        return false;
    }
    snprintf(file, PATH_TEXT, "%.599s", raster);
    return true;
}

static bool sent_well(ipp_t *answer)
{
    return answer && ippGetStatusCode(answer) <= IPP_STATUS_OK_EVENTS_COMPLETE;
}

static int job_number(ipp_t *answer)
{
    ipp_attribute_t *id = answer ? ippFindAttribute(answer, "job-id", IPP_TAG_INTEGER) : NULL;

    return id ? ippGetInteger(id, 0) : 0;
}

/* Sets the outcome when the printer refused the request as a whole: nothing was printed. */
static void ipp_job_refused(struct outcome *ret)
{
    outcome_set(
        ret, "failed", "submit", "the printer refuses the job: %.180s", cupsLastErrorString());
}

static void cancel_at(http_t *h, const struct printer *p, int device_job)
{
    ipp_t *r = new_request(p, IPP_OP_CANCEL_JOB);

    ippAddInteger(r, IPP_TAG_OPERATION, IPP_TAG_INTEGER, "job-id", device_job);
    ippDelete(cupsDoRequest(h, r, p->resource));
}

/* Makes a new job without a document and returns its number; 0: the printer refused, or did not
 * answer for a while. As long as no document was sent it may be asked again: a job that is there
 * already prints nothing. */
static int create_job(struct job *j, http_t **h)
{
    int64_t until = now_us() + CREATE_S * SECOND_US;
    char name[192];

    job_name(j, name, sizeof(name));
    while (now_us() < until) {
        ipp_t *r = new_request(j->printer, IPP_OP_CREATE_JOB), *answer;
        int device_job;

        ippAddString(r, IPP_TAG_OPERATION, IPP_TAG_NAME, "job-name", NULL, name);
        add_job_attributes(r, j);
        answer = *h ? cupsDoRequest(*h, r, j->printer->resource) : NULL;
        if (!*h)
            ippDelete(r);
        device_job = sent_well(answer) ? job_number(answer) : 0;
        if (device_job || (answer && ippGetStatusCode(answer) != IPP_STATUS_ERROR_BUSY)) {
            ippDelete(answer);
            return device_job;
        }
        ippDelete(answer);
        httpClose(*h);
        nap_ms(500);
        *h = ipp_job_connect_to(j->printer);
    }
    return 0;
}

/* Submits in two steps: Create-Job makes the number before any byte of the document goes out; from
 * then on the job is found by it. */
static bool submit_in_two(
    struct job *j, http_t **h, const char *file, const char *format, struct outcome *ret)
{
    const struct printer *p = j->printer;
    int device_job = create_job(j, h);
    ipp_t *r, *answer;
    bool good;

    if (!device_job) {
        ipp_job_refused(ret);
        return false;
    }
    job_submitted(j, device_job);
    fault_point("created");
    r = new_request(p, IPP_OP_SEND_DOCUMENT);
    ippAddInteger(r, IPP_TAG_OPERATION, IPP_TAG_INTEGER, "job-id", device_job);
    ippAddString(r, IPP_TAG_OPERATION, IPP_TAG_MIMETYPE, "document-format", NULL, format);
    ippAddBoolean(r, IPP_TAG_OPERATION, "last-document", 1);
    answer = cupsDoFileRequest(*h, r, p->resource, file);
    good = sent_well(answer);
    if (!good && answer &&
        /* it said no: nothing is printed */
        ippGetStatusCode(answer) >= IPP_STATUS_ERROR_BAD_REQUEST) {
        ipp_job_refused(ret);
        cancel_at(*h, p, device_job);
    } else {
        good = true; /* sent, or it can't be told: the watch finds out */
    }
    ippDelete(answer);
    fault_point("sent");
    return good;
}

static bool submit_in_one(
    struct job *j, http_t *h, const char *file, const char *format, struct outcome *ret)
{
    const struct printer *p = j->printer;
    char name[192];
    ipp_t *r = new_request(p, IPP_OP_PRINT_JOB), *answer;
    int device_job;

    job_name(j, name, sizeof(name));
    ippAddString(r, IPP_TAG_OPERATION, IPP_TAG_NAME, "job-name", NULL, name);
    ippAddString(r, IPP_TAG_OPERATION, IPP_TAG_MIMETYPE, "document-format", NULL, format);
    add_job_attributes(r, j);
    answer = cupsDoFileRequest(h, r, p->resource, file);
    device_job = sent_well(answer) ? job_number(answer) : 0;
    if (!device_job && answer && ippGetStatusCode(answer) >= IPP_STATUS_ERROR_BAD_REQUEST)
        ipp_job_refused(ret);
    else if (!device_job)
        outcome_set(ret, "unreported", "submit", "the connection broke while the job was sent");
    ippDelete(answer);
    if (device_job)
        job_submitted(j, device_job);
    return device_job != 0;
}

bool ipp_submit(struct job *j, struct outcome *ret)
{
    const char *format;
    char file[PATH_TEXT];
    http_t *h;
    bool good;

    if (!choose_format(j, file, &format, ret))
        return false;
    h = ipp_job_connect_to(j->printer);
    if (!h) {
        printer_away(j->printer);
        outcome_set(ret, NULL, NULL, "the printer does not answer at %s", j->printer->uri);
        return false;
    }
    if (!job_may_submit(j)) {
        httpClose(h);
        ret->status = NULL;
        return false;
    }
    fault_point("submitting");
    good = j->printer->create_job ? submit_in_two(j, &h, file, format, ret)
                                  : submit_in_one(j, h, file, format, ret);
    httpClose(h);
    if (strcmp(file, j->file) != 0)
        unlink(file);
    return good;
}

/* ---- finding again ---- */

/* Finds, in the groups of an answer to Get-Jobs, the number of the job with that beginning of its
 * name; 0 when there is none. */
static int ipp_job_number_of(ipp_t *answer, const char *tag)
{
    bool matches = false;
    int id = 0;

    for (ipp_attribute_t *a = ippFirstAttribute(answer); a; a = ippNextAttribute(answer)) {
        const char *name = ippGetName(a);

        if (!name) { /* between two groups */
            matches = false;
            id = 0;
        } else if (!strcmp(name, "job-id")) {
            id = ippGetInteger(a, 0);
        } else if (!strcmp(name, "job-name")) {
            const char *text = ippGetString(a, 0, NULL);

            matches = text && !strncmp(text, tag, strlen(tag));
        }
        if (matches && id)
            return id;
    }
    return 0;
}

int ipp_search(struct job *j, int *ret_device_job)
{
    static const char *const wanted[] = {"job-id", "job-name"}, *const which[] = {
                                                                    "not-completed", "completed"};
    char tag[ID_TEXT + 16];
    http_t *h = ipp_job_connect_to(j->printer);
    int found = h && j->printer->keeps_history ? 0 : -1;

    snprintf(tag, sizeof(tag), "wharf:%s ", j->record.id);
    for (size_t i = 0; h && found == 0 && i < 2; i++) {
        ipp_t *r = new_request(j->printer, IPP_OP_GET_JOBS), *answer;

        ippAddString(
            r, IPP_TAG_OPERATION, IPP_CONST_TAG(IPP_TAG_KEYWORD), "which-jobs", NULL, which[i]);
        ippAddStrings(r, IPP_TAG_OPERATION, IPP_CONST_TAG(IPP_TAG_KEYWORD), "requested-attributes",
            2, NULL, wanted);
        answer = cupsDoRequest(h, r, j->printer->resource);
        if (!sent_well(answer) &&
            !(answer && ippGetStatusCode(answer) == IPP_STATUS_ERROR_NOT_FOUND))
            found = -1;
        else if ((*ret_device_job = ipp_job_number_of(answer, tag)))
            found = 1;
        ippDelete(answer);
    }
    if (h)
        httpClose(h);
    return found;
}

/* ---- watching ---- */

enum { HELD_S = 10 }; /* a job may be held before it counts as blocked */

struct seen { /* of one look */
    int state, pages;
    bool errors, gone, unknown, waits; /* waits: for its document */
    char message[160], reason[64];
};

static void ipp_job_look_at(struct job *j, http_t *h, struct seen *ret)
{
    static const char *const wanted[] = {
        "job-state", "job-state-reasons", "job-state-message", "job-impressions-completed"};
    ipp_t *r = new_request(j->printer, IPP_OP_GET_JOB_ATTRIBUTES), *answer;
    ipp_attribute_t *a;

    ippAddInteger(r, IPP_TAG_OPERATION, IPP_TAG_INTEGER, "job-id", j->record.device_job);
    ippAddStrings(r, IPP_TAG_OPERATION, IPP_CONST_TAG(IPP_TAG_KEYWORD), "requested-attributes", 4,
        NULL, wanted);
    answer = cupsDoRequest(h, r, j->printer->resource);
    *ret = (struct seen){.gone = !answer,
        .unknown = answer && ippGetStatusCode(answer) == IPP_STATUS_ERROR_NOT_FOUND};
    if (answer && !ret->unknown && !sent_well(answer))
        ret->gone = true;
    if ((a = ippFindAttribute(answer, "job-state", IPP_TAG_ENUM)))
        ret->state = ippGetInteger(a, 0);
    if ((a = ippFindAttribute(answer, "job-impressions-completed", IPP_TAG_INTEGER)))
        ret->pages = ippGetInteger(a, 0);
    if ((a = ippFindAttribute(answer, "job-state-message", IPP_TAG_TEXT))) {
        snprintf(ret->message, sizeof(ret->message), "%s", ippGetString(a, 0, NULL));
        text_tidy(ret->message);
    }
    if ((a = ippFindAttribute(answer, "job-state-reasons", IPP_TAG_KEYWORD))) {
        ret->errors = ippContainsString(a, "job-completed-with-errors");
        ret->waits = ippContainsString(a, "job-incoming") ||
                     ippContainsString(a, "job-data-insufficient");
        snprintf(ret->reason, sizeof(ret->reason), "%s", ippGetString(a, 0, NULL));
    }
    ippDelete(answer);
}

/* Settles a job. Returns true when it is over. */
static bool ipp_job_settle(struct job *j, const struct seen *s, struct outcome *ret)
{
    const char *why = s->message[0] ? s->message : s->reason;
    wharf_str text;

    switch (s->state) {
    case IPP_JSTATE_COMPLETED:
        if (s->errors) {
            outcome_set(ret, "failed", "printer_error", "printed with errors: %.180s", why);
        } else {
            outcome_set(ret, "completed", NULL, "%s", "");
            ret->confidence = j->printer->backend_is_ipp ? "device" : "spooler";
        }
        return true;
    case IPP_JSTATE_ABORTED:
        text = utf8_trim(str_z(why));
        if (utf8_length(text.p, text.n) < REASON_MIN) /* the server takes no shorter one */
            text = WHARF_S("the printer gave the job up");
        outcome_set(ret, "failed", "printer_error", "%.*s", STR_ARG(text));
        return true;
    case IPP_JSTATE_CANCELED:
        outcome_set(ret, "canceled", atomic_load(&j->cancel) ? NULL : "canceled_at_printer", "%s",
            atomic_load(&j->cancel) ? "" : "canceled at the printer");
        return true;
    default:
        return false;
    }
}

static const char *stage_of(const struct job *j, const struct seen *s)
{
    bool stopped;

    pthread_mutex_lock(&printers_lock);
    stopped = !strcmp(j->printer->status, "error");
    pthread_mutex_unlock(&printers_lock);
    if (s->state == IPP_JSTATE_STOPPED || stopped)
        return "blocked";
    return s->state == IPP_JSTATE_PROCESSING ? "printing" : "spooled";
}

void ipp_watch(struct job *j, struct outcome *ret)
{
    int64_t gone_since = 0, held_since = 0;
    bool asked_to_cancel = false;
    http_t *h = NULL;

    for (int wait = POLL_FIRST_MS;; wait = wait * 2 > POLL_MAX_MS ? POLL_MAX_MS : wait * 2) {
        struct seen s = {.gone = true};

        if (!h)
            h = ipp_job_connect_to(j->printer);
        if (h)
            ipp_job_look_at(j, h, &s);
        if (s.gone) {
            httpClose(h);
            h = NULL;
            gone_since = gone_since ? gone_since : now_us();
            if (now_us() - gone_since > GONE_S * SECOND_US) {
                outcome_set(ret, "unreported", "unknown", "the printer does not answer any more");
                break;
            }
        } else if (s.unknown) {
            outcome_set(ret, "unreported", "unknown", "the printer does not know the job any more");
            break;
        } else {
            gone_since = 0;
            if (ipp_job_settle(j, &s, ret))
                break;
            held_since = !s.waits ? 0 : held_since ? held_since : now_us();
            if (held_since &&
                /* the agent ended between job and document */
                now_us() - held_since > HELD_S * SECOND_US) {
                cancel_at(h, j->printer, j->record.device_job);
                outcome_set(
                    ret, "failed", "submit", "the agent ended before the document was sent");
                break;
            }
            j->pages_done = s.pages;
            if (strcmp(j->stage, stage_of(j, &s)) != 0)
                job_tell_stage(j, stage_of(j, &s));
        }
        if (h && atomic_load(&j->cancel) && !asked_to_cancel) {
            asked_to_cancel = true;
            cancel_at(h, j->printer, j->record.device_job);
            wait = POLL_FIRST_MS;
        }
        nap_ms(wait);
    }
    if (h)
        httpClose(h);
}
