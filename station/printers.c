/* printers.c - the printers of this computer: queues of CUPS, printers by URI, and what they say
 * they can (spec 04 section 10.2). */
#include <cups/cups.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "station.h"

#define NEAR_MM100 152 /* 0.06 in, in hundredths of a millimetre */
#define MM100      2540.0

struct printers printers;
pthread_mutex_t printers_lock = PTHREAD_MUTEX_INITIALIZER;

enum { ASK_MS = 5000 }; /* a printer may take to answer */

/* ---- asking ---- */

static bool read_uri(struct printer *p)
{
    char scheme[32], user[256];

    if (httpSeparateURI(HTTP_URI_CODING_ALL, p->uri, scheme, sizeof(scheme), user, sizeof(user),
            p->host, sizeof(p->host), &p->port, p->resource,
            sizeof(p->resource)) < HTTP_URI_STATUS_OK)
        return false;
    p->route = !strcmp(scheme, "socket") ? ROUTE_SOCKET : ROUTE_IPP;
    p->tls = !strcmp(scheme, "ipps");
    return p->route == ROUTE_SOCKET || !strcmp(scheme, "ipp") || p->tls;
}

ipp_t *ipp_ask_printer(const struct printer *p)
{
    static const char *const wanted[] = {"all", "media-col-database"};
    http_t *h = httpConnect2(p->host, p->port, NULL, AF_UNSPEC,
        p->tls ? HTTP_ENCRYPTION_ALWAYS : HTTP_ENCRYPTION_IF_REQUESTED, 1, ASK_MS, NULL);
    ipp_t *ask, *answer;

    if (!h)
        return NULL;
    ask = ippNewRequest(IPP_OP_GET_PRINTER_ATTRIBUTES);
    ippAddString(ask, IPP_TAG_OPERATION, IPP_TAG_URI, "printer-uri", NULL, p->uri);
    ippAddStrings(ask, IPP_TAG_OPERATION, IPP_CONST_TAG(IPP_TAG_KEYWORD), "requested-attributes", 2,
        NULL, wanted);
    answer = cupsDoRequest(h, ask, p->resource);
    httpClose(h);
    if (answer && ippGetStatusCode(answer) > IPP_STATUS_OK_EVENTS_COMPLETE) {
        ippDelete(answer);
        answer = NULL;
    }
    return answer;
}

/* ---- what it can ---- */

static bool near_size(int width, int height, const struct medium *m)
{
    return abs(width - (int)lround(m->width * MM100)) <= NEAR_MM100 &&
           abs(height - (int)lround(m->height * MM100)) <= NEAR_MM100;
}

static bool printers_inside(int lower, int upper, double inches)
{
    int v = (int)lround(inches * MM100);

    return v >= lower - NEAR_MM100 && v <= upper + NEAR_MM100;
}

/* Adds one collection of media-size-supported: two numbers, or two ranges (rolls). */
static void printers_add_size(struct printer *p, ipp_t *size)
{
    ipp_attribute_t *x = ippFindAttribute(size, "x-dimension", IPP_TAG_ZERO),
                    *y = ippFindAttribute(size, "y-dimension", IPP_TAG_ZERO);
    int xl, xu, yl, yu;

    if (!x || !y)
        return;
    xl = xu = ippGetInteger(x, 0);
    yl = yu = ippGetInteger(y, 0);
    if (ippGetValueTag(x) == IPP_TAG_RANGE)
        xl = ippGetRange(x, 0, &xu);
    if (ippGetValueTag(y) == IPP_TAG_RANGE)
        yl = ippGetRange(y, 0, &yu);
    for (size_t i = 0; i < n_media; i++)
        p->sizes[i] = p->sizes[i] || (printers_inside(xl, xu, media[i].width) &&
                                         printers_inside(yl, yu, media[i].height));
}

static void add_keyword(struct printer *p, const char *keyword)
{
    pwg_media_t *m = keyword ? pwgMediaForPWG(keyword) : NULL;

    for (size_t i = 0; m && i < n_media; i++)
        p->sizes[i] = p->sizes[i] || near_size(m->width, m->length, &media[i]);
}

static void read_sizes(struct printer *p, ipp_t *a)
{
    ipp_attribute_t *sizes = ippFindAttribute(a, "media-size-supported", IPP_TAG_BEGIN_COLLECTION),
                    *names = ippFindAttribute(a, "media-supported", IPP_TAG_ZERO);

    for (int i = 0; sizes && i < ippGetCount(sizes); i++)
        printers_add_size(p, ippGetCollection(sizes, i));
    for (int i = 0; names && i < ippGetCount(names); i++)
        add_keyword(p, ippGetString(names, i, NULL));
}

static bool printers_says(ipp_t *a, const char *name, const char *value)
{
    ipp_attribute_t *at = ippFindAttribute(a, name, IPP_TAG_ZERO);

    return at && ippContainsString(at, value);
}

static bool printers_truth(ipp_t *a, const char *name)
{
    ipp_attribute_t *at = ippFindAttribute(a, name, IPP_TAG_BOOLEAN);

    return at && ippGetBoolean(at, 0);
}

static void read_formats(struct printer *p, ipp_t *a)
{
    static const struct {
        const char *format, *language;
    } raw[] = {{"application/vnd.zebra-zpl", "zpl"}, {"application/vnd.eltron-epl", "epl"},
        {"application/vnd.tsc-tspl", "tspl"}, {"application/vnd.hp-pcl", "pcl"},
        {"application/postscript", "postscript"}, {"application/pdf", "pdf"}};

    p->takes_pdf = printers_says(a, "document-format-supported", "application/pdf");
    p->takes_pwg = printers_says(a, "document-format-supported", "image/pwg-raster");
    p->takes_urf = printers_says(a, "document-format-supported", "image/urf");
    for (size_t i = 0; i < sizeof(raw) / sizeof(raw[0]); i++) {
        if (printers_says(a, "document-format-supported", raw[i].format))
            snprintf(
                p->languages[p->n_languages++], sizeof(p->languages[0]), "%s", raw[i].language);
    }
}

static bool offers(ipp_t *a, const char *name, int value)
{
    ipp_attribute_t *list = ippFindAttribute(a, name, IPP_TAG_ENUM);

    return list && ippContainsInteger(list, value);
}

static bool has_resolution(ipp_t *a, int x, int y)
{
    ipp_attribute_t *list = ippFindAttribute(a, "printer-resolution-supported", IPP_TAG_RESOLUTION);
    ipp_res_t units;
    int own_y;

    for (int i = 0; list && i < ippGetCount(list); i++) {
        if (ippGetResolution(list, i, &own_y, &units) == x && own_y == y &&
            units == IPP_RES_PER_INCH)
            return true;
    }
    return false;
}

static void read_raster(struct printer *p, ipp_t *a)
{
    static const char *const grey[] = {"black_1", "sgray_8", "srgb_8"}, *const colour[] = {"srgb_8",
                                                                            "sgray_8", "black_1"};
    ipp_attribute_t *r = ippFindAttribute(
        a, "pwg-raster-document-resolution-supported", IPP_TAG_RESOLUTION);
    ipp_res_t units;

    if (!r)
        r = ippFindAttribute(a, "printer-resolution-default", IPP_TAG_RESOLUTION);
    if (r) {
        p->dpi_x = ippGetResolution(r, 0, &p->dpi_y, &units);
        if (units == IPP_RES_PER_CM) {
            p->dpi_x = (int)lround(p->dpi_x * 2.54);
            p->dpi_y = (int)lround(p->dpi_y * 2.54);
        }
    }
    p->takes_resolution = has_resolution(a, p->dpi_x, p->dpi_y);
    for (size_t i = 0; i < 3 && !p->raster_type[0]; i++) {
        const char *type = p->color ? colour[i] : grey[(i + 1) % 3];

        if (printers_says(a, "pwg-raster-document-type-supported", type))
            snprintf(p->raster_type, sizeof(p->raster_type), "%s", type);
    }
    if (!p->raster_type[0])
        snprintf(p->raster_type, sizeof(p->raster_type), "sgray_8");
}

static void printers_read_status(struct printer *p, ipp_t *a)
{
    ipp_attribute_t *state = ippFindAttribute(a, "printer-state", IPP_TAG_ENUM),
                    *reasons = ippFindAttribute(a, "printer-state-reasons", IPP_TAG_KEYWORD);
    int s = state ? ippGetInteger(state, 0) : 0;

    snprintf(p->status, sizeof(p->status), "%s",
        s == IPP_PSTATE_PROCESSING ? "busy"
        : s == IPP_PSTATE_STOPPED  ? "error"
                                   : "online");
    p->n_reasons = 0;
    for (int i = 0; reasons && i < ippGetCount(reasons) && p->n_reasons < 16; i++) {
        const char *r = ippGetString(reasons, i, NULL);

        if (r && strcmp(r, "none") != 0)
            snprintf(p->reasons[p->n_reasons++], sizeof(p->reasons[0]), "%s", r);
    }
}

static void read_model(struct printer *p, ipp_t *a)
{
    ipp_attribute_t *m = ippFindAttribute(a, "printer-make-and-model", IPP_TAG_TEXT);

    if (!p->model[0])
        snprintf(
            p->model, sizeof(p->model), "%.190s", m ? ippGetString(m, 0, NULL) : "IPP printer");
}

/* Tells whether the queue asks the device. A queue of a local CUPS says "completed" when the bytes
 * have left this computer, unless its backend asks the printer. */
static bool asks_device(ipp_t *a)
{
    ipp_attribute_t *uri = ippFindAttribute(a, "device-uri", IPP_TAG_URI);
    const char *text = uri ? ippGetString(uri, 0, NULL) : NULL;

    return !text || !strncmp(text, "ipp", 3) || !strncmp(text, "dnssd", 5);
}

static void printers_learn(struct printer *p, ipp_t *a)
{
    ipp_attribute_t *copies = ippFindAttribute(a, "copies-supported", IPP_TAG_RANGE),
                    *ops = ippFindAttribute(a, "operations-supported", IPP_TAG_ENUM);
    int upper = 1;

    p->found = true;
    p->n_languages = 0;
    p->color = printers_truth(a, "color-supported") ||
               printers_says(a, "print-color-mode-supported", "color");
    p->double_sided = printers_says(a, "sides-supported", "two-sided-long-edge");
    p->backend_is_ipp = asks_device(a);
    if (copies)
        ippGetRange(copies, 0, &upper);
    p->copies = upper;
    p->takes_orientation = offers(a, "orientation-requested-supported", IPP_ORIENT_PORTRAIT);
    p->takes_uncollated = printers_says(
        a, "multiple-document-handling-supported", "separate-documents-uncollated-copies");
    p->create_job = ops && ippContainsInteger(ops, IPP_OP_CREATE_JOB) &&
                    ippContainsInteger(ops, IPP_OP_SEND_DOCUMENT);
    p->keeps_history = ops && ippContainsInteger(ops, IPP_OP_GET_JOBS);
    read_sizes(p, a);
    read_formats(p, a);
    read_raster(p, a);
    printers_read_status(p, a);
    read_model(p, a);
}

/* ---- what the configuration adds ---- */

static void add_configured(struct printer *p)
{
    const cJSON *sizes = p->config ? p->config->sizes : NULL,
                *languages = p->config ? p->config->languages : NULL, *e;

    cJSON_ArrayForEach(e, sizes) {
        const struct medium *m = cJSON_IsString(e) ? medium_named(e->valuestring) : NULL;

        if (m)
            p->sizes[m - media] = true;
    }
    cJSON_ArrayForEach(e, languages) {
        if (cJSON_IsString(e) && p->n_languages < 7)
            snprintf(p->languages[p->n_languages++], sizeof(p->languages[0]), "%s", e->valuestring);
    }
}

static void printers_add_printer(const char *name, const char *uri, const struct printer_config *c)
{
    struct printer *p;
    ipp_t *a;

    if (printers.n == PRINTERS_MAX)
        return;
    p = &printers.list[printers.n];
    *p = (struct printer){.config = c, .dpi_x = 203, .dpi_y = 203, .copies = 1};
    snprintf(p->name, sizeof(p->name), "%s", name);
    snprintf(p->uri, sizeof(p->uri), "%s", uri);
    snprintf(p->model, sizeof(p->model), "%s", c ? c->model : "");
    snprintf(p->status, sizeof(p->status), "offline");
    if (!read_uri(p)) {
        say(name, "its URI %s is none of ipp, ipps and socket; it is left out", uri);
        return;
    }
    printers.n++;
    if (p->route == ROUTE_SOCKET) {
        snprintf(p->status, sizeof(p->status), "online");
        if (!p->model[0])
            snprintf(p->model, sizeof(p->model), "raw printer");
        p->found = true;
    } else if ((a = ipp_ask_printer(p))) {
        printers_learn(p, a);
        ippDelete(a);
    }
    add_configured(p);
}

static void add_queues(void)
{
    cups_dest_t *list;
    int n = cupsGetDests2(CUPS_HTTP_DEFAULT, &list);

    for (int i = 0; i < n; i++) {
        const char *uri = cupsGetOption(
            "printer-uri-supported", list[i].num_options, list[i].options);

        if (uri && !list[i].instance)
            printers_add_printer(list[i].name, uri, NULL);
    }
    cupsFreeDests(n, list);
}

void printers_find(void)
{
    printers.n = 0;
    for (size_t i = 0; i < settings.n_printers; i++)
        printers_add_printer(
            settings.printers[i].name, settings.printers[i].uri, &settings.printers[i]);
    if (!settings.n_printers)
        add_queues();
}

bool printers_refresh(void)
{
    bool changed = false;

    for (size_t i = 0; i < printers.n; i++) {
        struct printer *p = &printers.list[i], before;
        ipp_t *a = p->route == ROUTE_IPP ? ipp_ask_printer(p) : NULL;
        bool reached = p->route == ROUTE_SOCKET && socket_answers(p);

        pthread_mutex_lock(&printers_lock);
        before = *p;
        if (a && !p->found) { /* it was away when the agent started */
            printers_learn(p, a);
            add_configured(p);
        } else if (a) {
            printers_read_status(p, a);
        } else if (!a && !reached) {
            snprintf(p->status, sizeof(p->status), "offline");
            p->n_reasons = 0;
        } else {
            snprintf(p->status, sizeof(p->status), "%s", p->n_reasons ? "error" : "online");
        }
        changed = changed || strcmp(before.status, p->status) != 0 ||
                  before.n_reasons != p->n_reasons ||
                  memcmp(before.reasons, p->reasons, sizeof(p->reasons)) != 0;
        pthread_mutex_unlock(&printers_lock);
        ippDelete(a);
    }
    return changed;
}

void printer_away(const struct printer *p)
{
    pthread_mutex_lock(&printers_lock);
    snprintf(printers.list[p - printers.list].status, sizeof(p->status), "offline");
    pthread_mutex_unlock(&printers_lock);
}

void printer_trouble(const struct printer *p, const char *const *reasons, size_t n)
{
    struct printer *own = &printers.list[p - printers.list];

    pthread_mutex_lock(&printers_lock);
    memset(own->reasons, 0, sizeof(own->reasons));
    for (own->n_reasons = 0; own->n_reasons < n; own->n_reasons++)
        snprintf(
            own->reasons[own->n_reasons], sizeof(own->reasons[0]), "%s", reasons[own->n_reasons]);
    snprintf(own->status, sizeof(own->status), "%s", n ? "error" : "online");
    own->telling = true;
    pthread_mutex_unlock(&printers_lock);
    session_poke();
}

bool printers_reported(void)
{
    bool reported = false;

    pthread_mutex_lock(&printers_lock);
    for (size_t i = 0; i < printers.n; i++) {
        reported = reported || printers.list[i].telling;
        printers.list[i].telling = false;
    }
    pthread_mutex_unlock(&printers_lock);
    return reported;
}

const struct printer *printer_named(const char *name)
{
    for (size_t i = 0; i < printers.n; i++) {
        if (!strcmp(printers.list[i].name, name))
            return &printers.list[i];
    }
    return NULL;
}

/* ---- as JSON ---- */

static void add_configuration(cJSON *to, const struct printer *p)
{
    cJSON *o = cJSON_AddObjectToObject(to, "configuration"), *list;
    char dpi[24];

    snprintf(dpi, sizeof(dpi), p->dpi_x == p->dpi_y ? "%d" : "%dx%d", p->dpi_x, p->dpi_y);
    cJSON_AddStringToObject(o, "dpi", dpi);
    cJSON_AddBoolToObject(o, "color_print", p->color);
    cJSON_AddBoolToObject(o, "double_sided", p->double_sided);
    o = cJSON_AddObjectToObject(to, "page_size");
    for (size_t i = 0; i < n_media; i++) {
        if (p->sizes[i])
            cJSON_AddTrueToObject(o, media[i].name);
    }
    list = cJSON_AddArrayToObject(to, "languages");
    for (size_t i = 0; i < p->n_languages; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(p->languages[i]));
}

cJSON *printer_json(const struct printer *p, bool whole)
{
    cJSON *o = cJSON_CreateObject(), *reasons;

    cJSON_AddStringToObject(o, "name", p->name);
    cJSON_AddStringToObject(o, "status", p->status);
    if (whole) {
        cJSON_AddStringToObject(o, "model", p->model);
        add_configuration(o, p);
    } else {
        reasons = cJSON_AddArrayToObject(o, "state_reasons");
        for (size_t i = 0; i < p->n_reasons; i++)
            cJSON_AddItemToArray(reasons, cJSON_CreateString(p->reasons[i]));
        cJSON_AddStringToObject(o, "uri", p->uri);
    }
    return o;
}
