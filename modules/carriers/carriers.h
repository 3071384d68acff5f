/* carriers.h - inside of the module carriers. */
#ifndef CARRIERS_H
#define CARRIERS_H

#define W carriers_host
#include "wharf/plugin.h"
extern const wharf_host *W; /* these are set once, before anything of this module runs */
#include "carrier_checks.h"
#include "carrier_shape.h"
#include "wharf/ext/carriers.h"
#include "wharf/ext/org.h"
#include "wharf/inline.h"
#include "wharf/service/config.h"

extern const wharf_org_directory_api *carriers_org; /* or NULL */
extern const wharf_config_api *carriers_config;
extern const wharf_carriers_detect_api detect_service;

/* ---- the table: providers, formats, names (carrier_table.c) ---- */

enum {
    PARTS_MAX = 12,
    ROUTINGS_MAX = 4,
    LENGTHS_MAX = 8,
    SUPPRESSORS_MAX = 8,
    CUSTOM_PROVIDERS = 50 /* own carriers of an organization */
};
enum confidence { CONFIDENCE_HIGH, CONFIDENCE_MEDIUM, CONFIDENCE_LOW };

struct provider {
    wharf_str id, name, country_code, url; /* url: with {n}; empty: the fallback's */
    wharf_str support_url, support_phone, support_email, logo_url;
    bool marketplace;
};

/* Characters from..to of a number; negative ends count from its end. */
struct slice {
    int from, to;
};

struct names { /* of codes; '?' in a code stands for any character */
    wharf_str id;
    wharf_str *codes, *texts;
    size_t n;
};

struct part {
    wharf_str name;
    struct slice at;
    int look; /* this part is there only if the character at look is (or is not) `is`; -1: always */
    char is;
    bool not_there;
    const struct names *names; /* or NULL */
};

struct routing { /* 420 and so many digits of a ZIP code may stand before the number itself */
    size_t digits;
    size_t lengths[LENGTHS_MAX]; /* of the number itself; none: any */
    size_t n_lengths;
};

struct format {
    wharf_str id, provider; /* provider empty: by country */
    wharf_str pattern;
    struct shape shape;
    enum confidence confidence;
    struct check check;
    struct slice serial;
    int position; /* of the check character */
    /* what stands before the serial, unless it begins with that already */
    wharf_str prepend, unless;
    bool has_number, has_country, has_service;
    struct slice number, country, service;
    const struct names *service_names;
    struct routing routings[ROUTINGS_MAX];
    size_t n_routings;
    struct part parts[PARTS_MAX];
    size_t n_parts;
    wharf_str suppressed_by[SUPPRESSORS_MAX];
    size_t n_suppressed_by;
};

struct country {
    char code[2];
    wharf_str provider;
};

struct table {
    struct provider *providers;
    size_t n_providers;
    struct format *formats;
    size_t n_formats;
    struct country *countries;
    size_t n_countries;
    struct names *names;
    size_t n_names;
    wharf_str fallback_url;
    const struct table *below; /* what this one adds to, or NULL */
};

/* Memory of the request, or for ever. */
struct memory {
    wharf_req *req;
    wharf_plugin *self; /* or NULL: the request's */
};
void *memory_alloc(void *memory, size_t bytes);

/* Reads a table in the form of schemas/carriers.json. below: where names and providers are
 * looked up as well. False: *ret_problem says what is wrong and *ret_path where
 * ("formats.3.pattern"). */
bool table_read(struct memory *m, const wharf_json *json, const struct table *below,
    struct table *ret, const char **ret_path, const char **ret_problem);
/* Reads the same of settings.providers.custom: an array of providers with their formats inside. */
bool table_read_custom(struct memory *m, const wharf_json *custom, const struct table *below,
    struct table *ret, const char **ret_path, const char **ret_problem);
const struct provider *table_provider(const struct table *t, wharf_str id);
const struct country *table_country(const struct table *t, const char code[2]);
wharf_str table_fallback(const struct table *t);

extern struct table carriers_table; /* built in, and the operator's file; read at start */
extern wharf_str carriers_prefix; /* of internal numbers */
/* Returns the table with the organization's own providers on top. */
wharf_status table_of(wharf_req *req, const struct table **ret);

/* ---- detection (carrier_detect.c) ---- */

enum {
    NUMBER_MAX = 64, /* letters of a tracking number */
    CANDIDATES_MAX = 64
};
enum reason {
    REASON_NONE,
    REASON_NO_MATCH,
    REASON_CHECKSUM,
    REASON_INTERNAL,
    REASON_REPEATED,
    REASON_INVALID,
    REASON_TOO_LONG
};

struct candidate {
    const struct format *format;
    const struct provider *provider;
    size_t core, core_n; /* where the number without routing stands in text */
    const struct routing *routing; /* or NULL */
};

struct detected {
    /* as shown; of what is too long nothing but the first part */
    char normalized[NUMBER_MAX * 4 + 1];
    size_t n;
    char text[NUMBER_MAX + 1]; /* what the candidates' places count in */
    size_t text_n;
    bool bare; /* text has no dashes, dots and the like, and the number has */
    struct candidate candidates[CANDIDATES_MAX];
    size_t n_candidates;
    enum reason reason;
};

/* Detects what a number is. allowed: ids of providers that are considered, or NULL. It is pure: no
 * request, no allocation. */
void detect_number(const struct table *t, wharf_str number, const wharf_str *allowed,
    size_t n_allowed, struct detected *ret);
bool detect_is_internal(const char *text, size_t n, wharf_str *ret_code);

/* ---- answers (carrier_answer.c) ---- */

void answer_candidates(wharf_req *req, wharf_out *out, const char *key, const struct table *t,
    const struct detected *d);
wharf_str answer_url(
    wharf_req *req, const struct table *t, const struct provider *p, wharf_str number);
wharf_handler providers_detect; /* POST /v1/utils/providers/detect */
wharf_handler providers_list; /* GET /v1/providers */

#endif
