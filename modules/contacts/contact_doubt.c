/* contact_doubt.c - see contact_doubt.h. A name that is not quite the same is a misreading, or
 * another person. It is another person's when the address is another one, or when the word that
 * differs is a name that contacts of the book have (docs/spec/06-inference.md section 9.6). */
#include "contact_doubt.h"

#include "contacts.gen.h"

/* Tells whether the name is one of the contact's, whatever the order of its words. */
static bool doubt_name_is_same(const struct channels *c)
{
    return c->marked[NAME_EXACT] || c->marked[ALTERNATE_NAME_EXACT] || c->marked[NAME_SWAPPED];
}

/* Tells whether something that no two people share by chance speaks for the contact. */
static bool doubt_is_overruled(const struct channels *c)
{
    return c->score[BY_EMAIL] > 0 || c->score[BY_PHONE] > 0 || c->score[BY_HISTORY] > 0 ||
           c->marked[BUSINESS_EXACT] || c->marked[BUSINESS_FUZZY];
}

/* Finds a word of the label that the contact has in another form, while other contacts have it as
 * it stands. Empty in *ret: there is none. */
static wharf_status doubt_word(wharf_req *req, const struct label *label, wharf_str contact_id,
    const struct channels *c, wharf_str *ret)
{
    static const char sql[] = QUERY_DOUBT_WORD;
    const struct name *name = &label->name.name;
    struct ids words = {W->mem->alloc(req, (name->n + 1) * sizeof(*words.p)), 0};
    wharf_val args[3] = {wharf_text(W->req->organization(req)), wharf_null(),
        wharf_text(contact_id)},
              v;
    const wharf_rows *rows;
    wharf_status s;

    for (size_t i = 0; i < name->n; i++) {
        if (c->matched[i] < 1 && name->tokens[i].n_points > 1)
            words.p[words.n++] = name->tokens[i].text;
    }
    if (!words.n)
        return WHARF_OK;
    args[1] = ids_array(req, &words);
    s = W->db->query(req, sql, args, 3, &rows);
    if (s == WHARF_OK && W->db->count(rows) && W->db->value(rows, 0, 0, WHARF_V_TEXT, &v))
        *ret = v.u.s;
    return s;
}

wharf_status doubt_of(wharf_req *req, const struct label *label, wharf_str contact_id,
    const struct channels *c, wharf_str *ret)
{
    wharf_str word = {"", 0};
    wharf_status s;

    *ret = WHARF_S("");
    if (!label->name.name.n || doubt_name_is_same(c) || doubt_is_overruled(c))
        return WHARF_OK;
    if (channel_disagrees(c, BY_ADDRESS)) {
        *ret = WHARF_S("but it has another address and not quite that name");
        return WHARF_OK;
    }
    if (c->reported[BY_ADDRESS] || c->marked[UNIT_EXACT])
        return WHARF_OK;
    s = doubt_word(req, label, contact_id, c, &word);
    if (s == WHARF_OK && word.n)
        *ret = W->mem->format(
            req, "but \"%.*s\" is a name that other contacts have", (int)word.n, word.p);
    return s;
}
