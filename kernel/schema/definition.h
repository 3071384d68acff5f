/* definition.h - a resource's definition, compiled: everything the engine needs to know about a
 * resource.
 *
 * The dialect is described in docs/reference/definitions.md. Compiled once per process at start by
 * definition_compile() (all problems collected), read-only afterwards, [any] thread. Leaves to
 * others: running it (resource/), lists (query/), documents (http/openapi). */
#ifndef WHARF_SCHEMA_DEFINITION_H
#define WHARF_SCHEMA_DEFINITION_H

#include "schema/schema.h"

enum store {
    STORE_NONE, /* no column: computed, embed, children */
    STORE_TEXT,
    STORE_INT, /* bigint */
    STORE_DEC, /* numeric(precision, scale) */
    STORE_BOOL,
    STORE_TIME, /* timestamptz(3) */
    STORE_JSON, /* jsonb: any JSON value checked by the field's schema */
    STORE_ARRAY, /* jsonb array of unique strings (or refs) */
    STORE_METADATA, /* jsonb object with the rules of 01 section 4.2 */
    STORE_SECRET, /* text, sealed (secret/secret.h); never shown, filtered or sorted */
};

enum field_kind {
    FIELD_COLUMN, /* a column of the table */
    /* filled by the compute hook, a page at a time; or an input: a value for hooks that is
     * nowhere kept */
    FIELD_COMPUTED,
    FIELD_EMBED, /* another row's fields, by a ref field of this row */
    FIELD_CHILDREN, /* rows of a child table owned by this row */
};

enum filter_type {
    FILTER_NONE,
    FILTER_DATE,
    FILTER_NUMBER,
    FILTER_ENUM,
    FILTER_ID,
    FILTER_TEXT,
    FILTER_BOOL,
    FILTER_MANY_BOOL,
    FILTER_ARRAY,
    FILTER_METADATA,
    FILTER_FLAGS,
    FILTER_TREE, /* a ref to a row of a tree: that row or any below it */
    FILTER_NAMES /* a type or a word with .* at its end */
};

enum live_rule { LIVE_NOT, LIVE_READ, LIVE_WRITE }; /* LIVE_READ: a test key changes none of them */
enum op_bit { OP_CREATE = 1, OP_UPDATE = 2, OP_DELETE = 4, OP_LIST = 8, OP_RETRIEVE = 16 };
enum in_bit {
    IN_LIST = 1,
    IN_RETRIEVE = 2,
    IN_CREATED = 4,
    IN_SEARCH = 8,
    IN_WRITTEN = 16
}; /* in the answer of create; in what a search rule adds to its hits */
enum blank_rule { BLANK_CLEAR, BLANK_IGNORE, BLANK_REJECT, BLANK_KEEP }; /* for null and for "" */

enum retain_rule {
    RETAIN_ALL,
    RETAIN_LOGS,
    RETAIN_REQUESTS,
    RETAIN_EVENTS
}; /* how long rows are seen: settings.logs of the organization; until their expires_at */

struct field;
struct definition;

struct child_set { /* of FIELD_CHILDREN */
    const char *table; /* as SQL has it, quoted: "stations"."printer" */
    const char *table_name; /* stations.printer */
    const char *parent_column; /* as SQL has it, quoted: "station_id" */
    const char *parent_column_name; /* station_id */
    const char *id_prefix; /* "" with uuid */
    bool uuid;
    bool soft_delete;
    /* columns of the child, in the order of output; index counts within the child */
    const struct field *fields;
    size_t n_fields;
    /* sent items find live rows by the first of these they carry: id, then name */
    const struct field *match[4];
    size_t n_match;
    const struct field *unique; /* unique among live rows of the parent (byte order), or NULL */
};

struct definition_ids;

struct query_param { /* a query parameter that rules of the resource read */
    const char *name;
    const char *description; /* of the parameter, or NULL */
    const struct wharf_json *schema; /* what the description of the API says of it, or NULL */
    uint32_t ops; /* the verbs that read it */
    const char *const *words; /* what it may be; NULL: anything */
    size_t n_words;
    bool restricts; /* the owner's restrict_rows reads it */
    const char *const *refs; /* its value is an id of one of these resources; none: anything */
    size_t n_refs;
    const struct definition_ids **ids; /* of these resources; NULL: the module is not there */
};

/* Begins what the expression of a computed field asks about the caller and its request, up to the
 * next brace: "{caller.all_locations}", "{caller.locations}", "{caller.reads:shipment}",
 * "{caller.asks:at}", "{caller.lists}". */
#define CALLER_OPENS "{caller."
#define CALLER_READS "reads:"
#define CALLER_ASKS  "asks:"

struct field {
    uint16_t index; /* in definition.fields: the constant of the generated header */
    enum field_kind kind;
    enum store store;
    const char *name; /* JSON */
    wharf_str quoted; /* its name as a member's key: quoted, with the colon */
    const char *column; /* as SQL has it: "name", quoted unless it is a system column; or NULL */
    const char *column_name; /* the same without quotes, for who looks it up; or NULL */
    /* what is read instead of a column: SQL over the row t, in parentheses; or NULL */
    const char *expression;
    /* FIELD_COMPUTED: SQL over the row t that gives its JSON where rows are shown, in parentheses;
     * NULL: the owner's compute hook does */
    const char *computed;
    /* what is shown of a column that is written as it is: SQL over the row t; or NULL */
    const char *read;
    int16_t select; /* position in definition.storage.columns, or -1 */
    uint16_t precision, scale; /* STORE_DEC */
    uint32_t write; /* OP_CREATE | OP_UPDATE */
    uint32_t in; /* IN_LIST | IN_RETRIEVE */
    /* rows of this resource are named: a text is null for who does not see its row, a list empty
     * for who does not see all; or NULL */
    const char *ids_of;
    /* "include_print_jobs_count": shown when the request says so; or NULL */
    const char *include_flag;
    uint32_t always; /* with include_flag: where it is shown without being asked for */
    bool null_unasked; /* with include_flag: null, and not left out, where it is not asked for */
    bool required, nullable; /* required on create; nullable: the column may be null */
    bool writers; /* shown only to who may write the resource, and to nobody in events */
    bool held; /* holds data of other rows, see holds of struct definition */
    /* merge: objects are merged by key on update instead of replaced */
    bool trim, fold, secret, merge;
    bool unhooked; /* left out of what hooks of organizations are shown of a write */
    bool input; /* FIELD_COMPUTED: sent by requests, read by hooks, never kept or shown */
    bool set_input; /* STORE_ARRAY: accepts {add, remove, set} besides a plain array */
    bool sort, search, log;
    /* made for one answer (signed links): never kept in events, and made anew when an answer is
     * given again */
    bool fresh;
    enum blank_rule on_null, on_empty;
    const char *ref; /* resource its value (or each element) points to, or NULL */
    /* an array with ref is shown as objects of these fields of the rows; NULL: as ids */
    const char *const *show;
    size_t n_show;
    const struct field *embed_from; /* FIELD_EMBED: the ref field */
    const char *const *embed_fields; /* names shown of the other row */
    size_t n_embed_fields;
    const struct child_set *children;
    enum filter_type filter;
    const char *const *members; /* enum members, for filters and OpenAPI */
    size_t n_members;
    /* sorts in the order of its members: SQL of their array; NULL: by its value */
    const char *sort_members;
    const struct schema *schema; /* of one value; null and "" were handled before */
    /* set_input: of a list of ids to add or remove, without the array's own limits */
    const struct schema *element;
    const struct wharf_json *json; /* the property as written */
    const struct wharf_json *default_value; /* or NULL */
};

struct definition_ids {
    const char *param; /* "station_id" */
    const char *prefix;
    const struct pattern *pattern; /* ids given by clients, or NULL */
};
/* Tells whether text has the form of one of these ids: made here, or given by clients. */
bool ids_fit(const struct definition_ids *ids, wharf_str text);

struct filter { /* one named list filter: fields with filter plus the entries of list.filters */
    const char *name;
    enum filter_type type;
    bool nullable;
    const struct field *field; /* of the resource, or of the child when child is set */
    const struct field *child; /* FIELD_CHILDREN the field belongs to, or NULL */
    const char *const *members; /* FILTER_ENUM, FILTER_FLAGS */
    size_t n_members;
    const char *strip; /* accepted and dropped prefix of members: "page_size_", or NULL */
    /* FILTER_ID, FILTER_ARRAY: form of the values; NULL: any text (ids up to 255) */
    const struct definition_ids *ids;
    /* array: rows with one of the values, and rows that have none: these are for all of them */
    bool or_none;
    bool any; /* array: a list without a prefix asks for one of its values, not for all */
    bool plus; /* texts that never have a blank: one is a + that was not escaped */
    bool lenient; /* array: values that are no members ask for nothing instead of being refused */
    bool commas; /* text: the plain form is a list, as with the operator in */
    bool family; /* text: a value that ends with slash and star means all that begin so */
    /* many-bool of a row: the column for "some: false"; NULL: of child rows */
    const struct field *otherwise;
    /* FILTER_TREE: the resource it points to; NULL: its module is not there */
    const struct definition *tree;
    /* ids: columns that may match as well as field; NULL behind the last */
    const struct field *others[3];
    /* whose rows the values name, when these may be hidden; NULL: they are not */
    const struct definition *names;
    /* Rows of another resource of the plugin that name this row: one of them matches. of_name NULL:
     * a filter of the row itself. of, field and type are known when all definitions are there. */
    const char *of_name, *of_field;
    const struct definition *of;
    const char *by; /* its column with this row's id, as SQL has it */
    const char *where; /* SQL over such a row t that it has to fulfil, in parentheses; or NULL */
    const char *unless; /* boolean query parameter that lifts it; or NULL */
    bool of_tree; /* "type": "tree" */
};

/* list.assume: taken when the request sends neither this filter nor search; list.assume_always:
 * when it does not send this filter; "all" lifts it. No value: only "all" */
struct assumed {
    const struct filter *filter;
    const char *value;
    bool searched; /* of assume_always */
};

struct unique_rule {
    const char *index; /* name of the database's unique index */
    const char *code; /* error code: "station.exists" */
    const struct field *report[4]; /* field paths told */
    size_t n_report;
};

struct column { /* what a row is read with, in order; the first seven are the system columns */
    const char *name;
    const char *sql; /* how it is selected: "t.name", or the expression */
    enum store store;
    const struct field *field; /* NULL for a system column that is not shown */
    const char *asks; /* or NULL: instead of sql where it is shown, for query_shown() */
};
enum system_column {
    COL_ID,
    COL_CREATED_AT,
    COL_UPDATED_AT,
    COL_CREATED_BY,
    COL_UPDATED_BY,
    COL_VERSION,
    COL_DELETED_AT,
    COL_SYSTEM_COUNT
};

struct hit_place { /* a place in which a search tells its hits */
    const char *name; /* "sender.name" */
    const struct field *field;
    const char *member; /* of an object, or NULL */
};

struct definition_list {
    int32_t limit, max, search_max; /* search_max: of a page with search */
    bool all_word, count_exact, similar;
    bool by_relevance; /* it is searched, and order_by may say so */
    const struct field *order;
    bool descending;
    /* list.errors: ended by NULL, or NULL */
    const char *const *errors_named, *const *errors_unnamed;
    const char *const *former; /* parameters that no longer exist: refused, not ignored */
    size_t n_former;
    const struct field *const *cache; /* columns of the short list (?cache=1), or none */
    size_t n_cache;
    const struct field *const *sorts;
    size_t n_sorts;
    const struct field *const *searches; /* own text columns and text columns of children */
    size_t n_searches;
    /* list.search_words: columns of folded words, which contain a term or not; nothing else of them
     * counts for a search, and their words are told as hits of `name` */
    const struct hit_place *words;
    size_t n_words;
    /* where hits are told of, when the searched columns are not to be named */
    const struct hit_place *reported;
    size_t n_reported;
    const struct filter *filters;
    size_t n_filters;
    const struct assumed *assumed;
    size_t n_assumed;
};

struct field_newest { /* a list of which events carry the last n elements */
    const struct field *field;
    const char *member; /* of the object that the field is; NULL: the field is the list */
    size_t n;
};

/* A field that readers of one row see differently: its lines are kept beside the data of events,
 * each with where it is (identity/seen_parts.h). */
struct event_part {
    const struct field *field;
    const char *of; /* the resource that who sees a line reads; or NULL */
    const char *lines; /* SQL over the row t: columns "at" (a location or null) and "line" (JSON) */
    int64_t newest; /* shows the last lines only; 0: all */
    bool one; /* the field is the one line or null, and no list */
};

struct definition_events {
    const char *created, *updated, *deleted; /* their names; NULL: none */
    bool disable_webhooks; /* bodies may say "disable_webhooks": true */
    const struct field *const *without;
    size_t n_without;
    const struct field_newest *newest;
    size_t n_newest;
    const struct event_part *parts;
    size_t n_parts;
    /* their change alone is not told by the updated event */
    const struct field *const *quiet;
    size_t n_quiet;
    bool log, has_fresh;
};

struct definition_creates {
    int64_t per_minute; /* of one organization; 0: no limit of its own */
    int64_t per_second, burst; /* of one key, instead; 0: none */
    bool large_body; /* 64 MiB */
    uint32_t view; /* IN_LIST or IN_RETRIEVE: which fields the answer shows */
};

struct definition_place { /* where its rows are: at a location, below other rows */
    /* or NULL: policy none. Of STORE_JSON: a set of which all must be reached; NULL stands for
     * every location */
    const struct field *location;
    bool is_location; /* "location": "self": each row is a location; location is NULL */
    const struct field *parent; /* ref field filled from the path, or NULL */
    const char *parent_param; /* ":location" */
    const char *all_path; /* another path of its list: the rows of all parents; or NULL */
    /* a ref field, and another path of its list: rows with the id of that path; or NULL */
    const struct field *below;
    const char *below_path;
    /* a tree: the parent's id, the names from the root down; or NULL */
    const struct field *tree_parent, *tree_names;
};

struct definition_storage {
    const char *table; /* as SQL has it, quoted: "stations"."print_station" */
    const char *table_name; /* stations.print_station */
    bool soft_delete;
    /* "archive": a delete sets this moment, and the row is still read and updated; or NULL */
    const struct field *archive;
    bool partitioned; /* by created_at, which is the time of the id: a look-up by id says it too */
    enum retain_rule retain;
    /* rows are of the live organization, for test keys too (docs/decisions 10) */
    enum live_rule live;
    const struct column *columns;
    size_t n_columns;
    const struct unique_rule *uniques;
    size_t n_uniques;
};

struct definition_audience { /* NULL members: no audience */
    const struct field *all, *users, *device;
    const struct field *through; /* id of the row whose audience counts, instead */
    const char *of_name; /* whose row that is */
    bool whole; /* its locations count, too */
    const struct definition *of; /* its definition, set when all are there */
};

/* Records that tell of other resources' rows (identity/seen.h). audience NULL: they are none. */
struct definition_recorded {
    /* as in struct seen_by; locations NULL: reach says it */
    const struct field *locations, *audience;
    const struct field *resource; /* the name of the row's resource; or NULL */
    /* columns with data, and with those parts of it that not all see (identity/seen_parts.h) */
    const struct field *data, *parts;
    const struct field *areas; /* of requests: the areas that were needed; or NULL */
    /* of requests: the locations of their key, all of which a reader has to reach; NULL: all that
     * there are */
    const struct field *reach;
};

/* Rows that hold data of rows of other resources, in the fields with held: null for who may not see
 * what they hold. */
struct definition_holds {
    /* whose data they are; the key that brought them. NULL: it holds none */
    const struct field *resource, *key;
};

struct definition {
    const char *name; /* "print_station": value of "object" */
    const char *title, *title_plural; /* "Print station", "print stations": for messages */
    const char *plugin;
    uint64_t hash;
    /* "/v1/cloud-printing/stations"; with ":param" of the parent when nested */
    const char *collection;
    /* other spellings of the collection's path, taken in requests for all that is below it */
    const char *const *spellings;
    size_t n_spellings;
    /* "org", "/v1/org": other names of the organization's own row; or NULL */
    const char *own_word, *own_path;
    struct definition_ids ids;
    uint32_t ops; /* OP_* */
    struct definition_creates creates;
    const char *scope; /* area */
    struct definition_place place;
    const struct field *fields; /* in the order of output */
    size_t n_fields;
    struct definition_storage storage;
    struct definition_list list;
    struct definition_events events;
    struct definition_audience audience;
    struct definition_recorded recorded;
    struct definition_holds holds;
    /* names of links: "documents" says that rows of the module documents may name rows of this
     * resource */
    const char *const *links;
    size_t n_links;
    const struct query_param *params;
    size_t n_params;
    bool restricts_by_params; /* the owner's restrict_rows is asked for some of them only */
    const struct wharf_json *json; /* the whole text, parsed */
    struct arena *arena;
};

/* Compiles text. NULL when there are problems; each is told through fn (path = place in the
 * definition). */
const struct definition *definition_compile(
    struct arena *a, const char *plugin, wharf_str text, schema_problem_fn *fn, void *arg);
/* Returns FNV-1a 64 over the compact form of the text: the same in wharf-gen and in the server. */
uint64_t definition_hash(wharf_str text);
const struct field *definition_field(const struct definition *d, const char *name); /* or NULL */
const struct filter *definition_filter(
    const struct definition_list *list, wharf_str name); /* or NULL */
/* Completes a filter of rows of another resource, of, which may be NULL; all: the first filter of
 * its list. Returns NULL, or what is wrong with it. */
const char *filter_link(struct filter *f, const struct definition *of, const struct filter *all);
/* Returns the parameter of that name that rules read, or NULL. */
const struct query_param *definition_param(const struct definition *d, wharf_str name);
/* Returns what it may be, "a, b or c"; "" for anything. Text in a. */
const char *param_words(struct arena *a, const struct query_param *p);

#endif
