/* templates.h - inside of the module templates (docs/spec/05-documents-and-templates.md parts B
 * and C). */
#ifndef TEMPLATES_H
#define TEMPLATES_H

#define W templates_host
#include "wharf/plugin.h"
extern const wharf_host *W; /* these are set once, before anything of this module runs */
#include "wharf/errors.h"
#include "wharf/ext/documents.h"
#include "wharf/ext/templates.h"
#include "wharf/inline.h"
#include "wharf/service/blob.h"
#include "wharf/service/config.h"
#include "wharf/service/crypto.h"
#include "wharf/service/draw.h"
#include "wharf/service/fetch.h"
#include "wharf/service/http.h"
#include "wharf/service/text.h"
#include "wharf/service/token.h"

extern const wharf_blob_api *templates_blob;
extern const wharf_config_api *templates_config;
extern const wharf_crypto_api *templates_crypto;
extern const wharf_documents_files_api *templates_documents; /* NULL: the module is not there */
extern const wharf_draw_api *templates_draw;
extern const wharf_fetch_api *templates_fetch;
extern const wharf_http_api *templates_http;
extern const wharf_text_api *templates_text;
extern const wharf_token_api *templates_token;
extern wharf_plugin *templates_self;
extern const wharf_str templates_manifest_text;

enum {
    POINTS = 72,
    IMAGES_MAX = 50, /* images of one drawing from the web */
    IMAGE_BYTES_MAX = 10000000 /* bytes of one */
};
enum {
    FONTS_MAX = 8, /* fonts of one drawing */
    FONT_BYTES_MAX = 10 << 20 /* bytes of one */
};
#define SECOND_US 1000000LL
#define DAY_US    (86400 * SECOND_US)

/* ---- template_place.c: where in a body something stands ---- */

struct place { /* a member by its name, or an element by its number */
    const struct place *up; /* NULL: the body itself, or what has the path `key` */
    const char *key; /* NULL: index counts */
    size_t index;
};
/* Returns the path: "raw.3.width". The whole body: "". */
wharf_str place_text(wharf_req *req, const struct place *at);
/* Adds validation.failed: the path, and what must hold of it. */
void place_wrong(wharf_req *req, const struct place *at, const char *fmt, ...) WHARF_PRINTF(3, 4);
double json_number(wharf_req *req, const wharf_json *v, double fallback);

/* ---- template_shape.c: the shapes of plugin.json, compiled ---- */
struct shape;
/* Compiles what plugin.json says of bodies. */
wharf_status shapes_start(wharf_req *req);
const struct shape *shape_named(const char *name);
/* Judges a value; each problem is told. */
void shape_judge(
    wharf_req *req, const struct shape *s, const wharf_json *v, const struct place *at);

/* ---- template_walk.c: the elements of a body ---- */
struct element {
    const wharf_json *json;
    const struct place *at;
    wharf_str type;
    bool inside; /* of another element, not by itself on the page */
};
typedef void element_fn(wharf_req *req, const struct element *e, void *arg);
/* Calls fn for each element, at every depth; what is no element is left out. */
void elements_each(
    wharf_req *req, const wharf_json *body, const struct place *at, element_fn *fn, void *arg);

/* ---- template_paper.c: what the build embeds of schemas/ ---- */
struct paper {
    const char *name;
    double width, height; /* points */
};
/* Copies a text into memory that lives as long as the module. */
wharf_str keep_text(wharf_str s);
/* Reads what is embedded, by the names of the files. */
wharf_status embedded_read(wharf_req *req, const wharf_json **ret);
wharf_status papers_start(wharf_req *req);
/* Finds a size by its name, in any case of letters. NULL: there is none. */
const struct paper *paper_named(wharf_str name);
const struct paper *paper_at(size_t i); /* the i-th; NULL: there are no more */

/* ---- template_body.c: a definition as it is sent ---- */
struct page {
    double width, height;
};
/* Finds the page of a definition, as it is turned. */
void body_page(wharf_req *req, const wharf_json *body, struct page *ret_page);
/* Returns the paper of the sheet of a definition; NULL: it has none, or there is no such paper. */
const struct paper *sheet_paper(const wharf_json *body);
/* Judges which paper the sheet says that a body has. root: the path that leads to the body. */
void sheet_judge(wharf_req *req, const wharf_json *body, const struct place *root);
/* Judges a definition: shape is its shape, NULL when that was judged before, root the path that
 * leads to it. Each problem is told. ret_page: its page. */
wharf_status body_judge(wharf_req *req, const wharf_json *body, const char *shape,
    const struct place *root, struct page *ret_page);

/* ---- template_sources.c: images and fonts ---- */
struct sources {
    wharf_str *blobs; /* bytes */
    size_t n;
    const wharf_json *images, *image_errors, *fonts; /* members of the cell's request */
};

struct drawing { /* what is drawn */
    const wharf_json *body; /* a definition */
    const wharf_json *data, *records; /* of them one, or neither: body's data */
    const wharf_json *location, *organization, *template; /* for variables, or NULL */
    uint32_t format; /* enum wharf_draw_format */
    int64_t page;
    bool strict;
    bool alone; /* there are no rows: no documents can be had */
};
/* Loads what the definition names by URL or id. path: that of the definition. Problems: those of
 * hosts that fail, file.download and file.timeout_error, and of documents. */
wharf_status sources_load(wharf_req *req, const struct drawing *d, struct sources *ret);

/* ---- template_draw.c ---- */
struct drawn {
    wharf_str bytes;
    const wharf_json *report;
    int64_t ms;
};
/* Returns what `errors` says of an element that could not be drawn: "raw.3: ...". */
wharf_str element_remark(wharf_req *req, const wharf_json *e);
/* Writes the request of the cell. */
wharf_str draw_request(wharf_req *req, const struct drawing *d, const struct sources *sources);
/* Refuses what can't be drawn, with the cell's reason: template.too_complex. */
wharf_status draw_too_complex(wharf_req *req, wharf_str reason);
/* Draws. Problems: template.too_complex, .nothing_rendered, .render_failed and others. */
wharf_status draw_make(wharf_req *req, const struct drawing *d, struct drawn *ret);
/* Refuses a drawing from which an element is missing: template.render_failed. */
wharf_status draw_complete(wharf_req *req, const struct drawn *drawn);

/* ---- template_output.c: where it goes, and the answer ---- */
struct output {
    const wharf_json *wish; /* output, document, print */
    wharf_str filename; /* without its ending; empty: the usual one */
    const wharf_json *resource; /* {type, id} that a document is linked to, or NULL */
    const char *category; /* of a document whose request names none, or NULL */
    uint32_t format;
    wharf_str location; /* of a print job whose request names none, or empty */
    wharf_str id; /* of what is made: set by output_send() */
};
/* Judges what the request says of the output. */
void output_judge(wharf_req *req, const wharf_json *wish);
wharf_status output_send(wharf_req *req, struct output *o, const struct drawn *drawn);
wharf_status public_file_get(wharf_req *req, void *arg);

/* ---- template_stock.c ---- */
/* Keeps the text of each stock file: a request reads the one that it needs. */
wharf_status stock_start(wharf_req *req);
size_t stock_count(void);
const char *stock_type(size_t i); /* of the i-th; NULL: there are no more */
/* Finds the stock file of a type; *ret NULL: there is none. */
wharf_status stock_find(wharf_req *req, wharf_str type, const wharf_json **ret);
wharf_str stock_usual_size(const wharf_json *stock);
bool stock_has_size(const wharf_json *stock, wharf_str size);
/* Composes the definition of a size, with the texts of template_data. */
wharf_status stock_compose(wharf_req *req, const wharf_json *stock, const wharf_json *data,
    wharf_str size, const wharf_json **ret);

/* ---- template_placeholders.c ---- */
/* Lists the paths of data that a definition shows. */
wharf_status placeholders_find(wharf_req *req, const wharf_json *body, const wharf_json **ret);

/* ---- template_rules.c ---- */
/* Judges the template_data at `root`; each problem is told. ret_body: its definition, of a stock
 * type composed. */
wharf_status data_judge(wharf_req *req, const wharf_json *data, const struct place *root,
    const wharf_json **ret_stock, const wharf_json **ret_body);
extern const wharf_hooks template_hooks, template_location_hooks;
/* Makes the rows of built-in templates that the organization does not have yet, in a transaction
 * of its own. */
wharf_status templates_builtin(wharf_req *req);
/* Finds the template_data of a version that is kept. */
wharf_status version_find(
    wharf_req *req, wharf_str id, wharf_str version, const wharf_rows **ret_rows);

/* ---- template_resource.c ---- */
/* Loads a row of another module as a retrieve shows it, with the caller's rights. path: of
 * {type, id} in the body. */
wharf_status resource_load(
    wharf_req *req, const wharf_json *named, const struct place *at, const wharf_json **ret);
/* Loads what variables see beside data: the location, or NULL where it is not seen; the
 * organization. */
wharf_status context_load(wharf_req *req, wharf_str location, struct drawing *d);

/* ---- template_render.c ---- */
extern const wharf_templates_render_api templates_render_table;
wharf_status render_post(wharf_req *req, void *arg);

/* ---- template_draft.c ---- */
/* Draws what is no row: draft() of wharf/ext/templates.h. */
wharf_status draft_draw(
    wharf_req *req, const wharf_templates_draft *draft, wharf_templates_drawn *ret_drawn);

/* ---- template_schema.c ---- */
wharf_status schema_get(wharf_req *req, void *arg);

/* ---- template_generate.c ---- */
wharf_status generate_post(wharf_req *req, void *arg);

#endif
