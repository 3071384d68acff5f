/* inference_wishes.c - options of a request: what was sent, else the settings of the location, else
 * those of the organization, else the default (docs/spec/06-inference.md section 2). They are kept
 * with the row, so that a later update decides as the first request did. Leaves to others: types
 * and ranges of what is sent, which the schema of the route judges. */
#include "inference.h"

enum { SCALE = 4 };

const char *const party_names[PARTIES] = {"recipient", "sender"};

struct settling {
    wharf_req *req;
    const wharf_json *options, *match;
    const wharf_json *settings[2]; /* of the location, of the organization; each may be NULL */
    wharf_out *out;
};

/* Returns a setting, or NULL. */
static const wharf_json *wish_setting(const struct settling *s, const char *name)
{
    for (size_t i = 0; i < 2; i++) {
        const wharf_json *v = s->settings[i] ? W->json->get(s->settings[i], name) : NULL;

        if (!json_is_null(v))
            return v;
    }
    return NULL;
}

/* Returns what was sent, else the setting, else NULL. setting: its name, or NULL. */
static const wharf_json *wish_of(
    const struct settling *s, const wharf_json *object, const char *key, const char *setting)
{
    const wharf_json *v = object ? W->json->get(object, key) : NULL;

    if (json_is_null(v) && setting)
        v = wish_setting(s, setting);
    return json_is_null(v) ? NULL : v;
}

/* Returns the same of a member of options.match, which may stand in options too. */
static const wharf_json *wish_match(const struct settling *s, const char *key, const char *setting)
{
    const wharf_json *v = wish_of(s, s->match, key, NULL);

    return v ? v : wish_of(s, s->options, key, setting);
}

static bool wish_truth(const wharf_json *v, bool fallback)
{
    return v ? json_truth(v) : fallback;
}

static int64_t wish_decimal(const wharf_json *v, int64_t fallback)
{
    int64_t n;

    return v && W->json->decimal(v, SCALE, &n) ? n : fallback;
}

static wharf_str wishes_text(const wharf_json *v, const char *fallback)
{
    wharf_str text;

    return v && W->json->text(v, &text) ? text : z(fallback);
}

static void put_images(struct settling *s)
{
    const wharf_json *images = W->json->get(s->options, "images");
    static const char *const modes[] = {
        "from_extraction_only", "classifier_feeds_extraction", "classifier_informs_selection"};

    W->json->put(s->out, "mode",
        val_int((int64_t)(word_place(wishes_text(wish_of(s, images, "classification", NULL), ""),
                              modes, 3) %
                          3)));
    W->json->put(s->out, "strict",
        val_bool(is(wishes_text(wish_of(s, images, "on_ambiguity", NULL), ""), "error")));
    W->json->put(s->out, "barcodes_from_all",
        val_bool(wish_truth(wish_of(s, images, "barcodes_from_all", NULL), false)));
    W->json->put(
        s->out, "store_images", val_bool(wish_truth(wish_of(s, NULL, "", "store_images"), true)));
    W->json->put(
        s->out, "learn", val_bool(wish_truth(wish_of(s, NULL, "", "learn_from_review"), true)));
}

static void put_tracker(struct settling *s)
{
    const wharf_json *tracker = W->json->get(s->options, "tracker");
    bool sync = wish_truth(wish_of(s, tracker, "create_synchronously", NULL), false);

    W->json->put(s->out, "synchronously", val_bool(sync));
    W->json->put(s->out, "tracker",
        val_bool(sync || wish_truth(wish_of(s, tracker, "create_automatically",
                                        "create_tracker_automatically"),
                             false)));
    W->json->put(s->out, "tracker_type",
        val_text(wishes_text(wish_of(s, tracker, "type", NULL), "inbound")));
    W->json->put(
        s->out, "reroute", val_bool(wish_truth(wish_setting(s, "reroute_inbound"), false)));
}

static bool wish_names(const wharf_json *list, const char *word)
{
    for (const wharf_json *m = list ? W->json->at(list, 0) : NULL; m; m = W->json->next(m))
        if (is(wishes_text(m, ""), word))
            return true;
    return false;
}

/* Puts what is done with the words of the label. */
static void put_words(struct settling *s)
{
    static const char *const parses[PARTIES] = {"parse_recipient", "parse_sender"};
    const wharf_json *after = W->json->get(s->options, "postprocess"),
                     *list = wish_of(s, after, "parse_addresses", NULL),
                     *captions = wish_of(s, s->options, "custom_attributes", NULL);

    for (int i = 0; i < PARTIES; i++)
        W->json->put(s->out, parses[i], val_bool(!list || wish_names(list, party_names[i])));
    W->json->put(s->out, "unique",
        val_bool(
            wish_truth(wish_of(s, after, "require_unique_hash", "require_unique_hash"), false)));
    W->json->put(s->out, "captions", val_json(captions));
}

/* Puts the phrases that names are looked for without: those of the settings, then those sent. */
static void put_ignored(struct settling *s)
{
    const wharf_json *lists[2] = {
        wish_setting(s, "name_ignore_terms"), wish_match(s, "name_ignore_terms", NULL)};

    W->json->open(s->out, "ignore", '[');
    for (size_t i = 0; i < 2; i++) {
        const wharf_json *m = json_is_null(lists[i]) ? NULL : W->json->at(lists[i], 0);

        for (; m; m = W->json->next(m))
            W->json->put(s->out, NULL, val_json(m));
    }
    W->json->close(s->out);
}

static void put_searched(struct settling *s)
{
    const wharf_json *list = wish_match(s, "search", "match_search");
    static const char *const throws[PARTIES] = {
        "throw_recipient_match_error", "throw_sender_match_error"};

    for (int i = 0; i < PARTIES; i++) {
        bool wanted = list ? wish_names(list, party_names[i]) : i == RECIPIENT;

        W->json->put(
            s->out, i == RECIPIENT ? "search_recipient" : "search_sender", val_bool(wanted));
        W->json->put(s->out, throws[i],
            val_bool(wish_truth(wish_match(s, throws[i], throws[i]), i == RECIPIENT)));
    }
}

static void wishes_put_match(struct settling *s)
{
    static const char *const orders[] = {"_precedence", "_relevance", "_rank"};
    const wharf_json *fuzziness = wish_match(s, "search_fuzziness", NULL);
    size_t order = word_place(wishes_text(wish_match(s, "order_by", NULL), ""), orders, 3);
    int64_t limit = WHARF_MATCH_LIMIT, exact = 1;

    if (wish_match(s, "limit", NULL))
        W->json->integer(wish_match(s, "limit", NULL), &limit);
    put_searched(s);
    W->json->put(s->out, "at_location",
        val_bool(wish_truth(wish_match(s, "location", "match_location"), false)));
    W->json->put(s->out, "threshold",
        val_int(wish_decimal(wish_match(s, "search_score_threshold", "search_score_threshold"),
            WHARF_MATCH_THRESHOLD)));
    W->json->put(s->out, "tolerance",
        val_int(
            wish_decimal(wish_match(s, "tie_tolerance", "tie_tolerance"), WHARF_MATCH_TOLERANCE)));
    W->json->put(s->out, "exact",
        val_bool(fuzziness && (is(wishes_text(fuzziness, ""), "0") ||
                                  (W->json->integer(fuzziness, &exact) && exact == 0))));
    W->json->put(s->out, "order", val_int(order < 3 ? (int64_t)order : 0));
    W->json->put(s->out, "limit", val_int(limit));
    W->json->put(s->out, "legacy",
        val_bool(wish_truth(wish_of(s, s->match, "legacy_scoring", NULL), false)));
    put_ignored(s);
}

static void put_languages(struct settling *s)
{
    const wharf_json *list = wish_of(
        s, W->json->get(s->options, "extraction"), "languages", "languages");
    wharf_str all = WHARF_S("");

    for (const wharf_json *m = list ? W->json->at(list, 0) : NULL; m; m = W->json->next(m))
        all = W->mem->format(s->req, "%s%s%s", all.p, all.n ? "+" : "", wishes_text(m, "").p);
    W->json->put(s->out, "languages", val_text(all.n ? all : WHARF_S("eng")));
}

static wharf_status wishes_make(
    wharf_req *req, const wharf_json *options, wharf_str location, const wharf_json **ret)
{
    struct settling s = {.req = req, .options = options, .out = W->json->builder(req)};
    struct place place;
    wharf_status status = inference_org->setting_json(req, "inferences", &s.settings[1]);

    if (status == WHARF_OK)
        status = place_read(req, location, &place);
    if (status == WHARF_OK && !place.country.n)
        status = inference_org->country(req, &place.country);
    if (status != WHARF_OK)
        return status;
    s.settings[0] = place.settings;
    s.match = W->json->get(options, "match");
    W->json->open(s.out, NULL, '{');
    put_images(&s);
    put_tracker(&s);
    wishes_put_match(&s);
    put_languages(&s);
    put_words(&s);
    W->json->put(s.out, "country", val_text(place.country));
    W->json->close(s.out);
    return W->json->result(req, s.out, ret);
}

wharf_status wishes_settle(
    wharf_req *req, const wharf_json *options, wharf_str location, const wharf_json **ret)
{
    wharf_status status = wishes_make(req, options, location, ret);

    if (status == WHARF_OK && json_truth(W->json->get(*ret, "at_location")) && !location.n)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "options.match.location",
            "Contacts of a location can only be looked for with location_id; send it");
    return status;
}

static uint32_t read_number(const wharf_json *settled, const char *key)
{
    int64_t n = 0;

    W->json->integer(W->json->get(settled, key), &n);
    return (uint32_t)n;
}

static bool read_truth(const wharf_json *settled, const char *key)
{
    return json_truth(W->json->get(settled, key));
}

void wishes_read(const wharf_json *settled, struct wishes *ret)
{
    *ret = (struct wishes){.mode = read_number(settled, "mode"),
        .strict = read_truth(settled, "strict"),
        .barcodes_from_all = read_truth(settled, "barcodes_from_all"),
        .tracker = read_truth(settled, "tracker"),
        .synchronously = read_truth(settled, "synchronously"),
        .tracker_type = json_text(settled, "tracker_type"),
        .search = {read_truth(settled, "search_recipient"), read_truth(settled, "search_sender")},
        .thrown = {read_truth(settled, "throw_recipient_match_error"),
            read_truth(settled, "throw_sender_match_error")},
        .at_location = read_truth(settled, "at_location"),
        .exact = read_truth(settled, "exact"),
        .unique = read_truth(settled, "unique"),
        .store_images = read_truth(settled, "store_images"),
        .learn = read_truth(settled, "learn"),
        .threshold = read_number(settled, "threshold"),
        .tolerance = read_number(settled, "tolerance"),
        .order = read_number(settled, "order"),
        .limit = read_number(settled, "limit"),
        .ignore = W->json->get(settled, "ignore"),
        .languages = json_text(settled, "languages"),
        .country = json_text(settled, "country"),
        .parse = {read_truth(settled, "parse_recipient"), read_truth(settled, "parse_sender")},
        .legacy = read_truth(settled, "legacy"),
        .reroute = read_truth(settled, "reroute"),
        .captions = W->json->get(settled, "captions")};
}

wharf_status wishes_of_settings(wharf_req *req, wharf_str location, struct wishes *ret)
{
    const wharf_json *settled;
    wharf_status s = wishes_make(req, NULL, location, &settled);

    if (s == WHARF_OK)
        wishes_read(settled, ret);
    return s;
}
