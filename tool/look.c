/* look.c - see look.h. */
#include "tool/look.h"

#include <string.h>

#include "blob/blob_sample.h"
#include "db/master_key.h"
#include "db/restore.h"
#include "net/client.h"
#include "tool/cli/cli.h"
#include "util/buf.h"

bool look_at_rights(PGconn *conn, const struct engine *e)
{
    char text[RIGHTS_TEXT];
    struct buf names;
    bool good;

    buf_init(&names, 16384);
    for (size_t i = 0; i < e->n_plugins; i++)
        buf_addf(&names, "%s%s", i ? "," : "", e->plugins[i].name);
    good = rights_missing(conn, names.n ? names.p : "", text) && !text[0];
    if (!good)
        cli_fail("the database is not ready: %s", text[0] ? text : PQerrorMessage(conn));
    buf_done(&names);
    return good;
}

bool look_at_key(PGconn *conn, const struct config *config, struct arena *a)
{
    char id[SECRET_KEY_ID + 1];
    const char *wrong = master_key_wrong(master_key_compare(conn, id));

    if (wrong)
        cli_fail("%s; put the key %s into %s", wrong, id, secret_file(config, a));
    return !wrong;
}

static void tell_lost(const struct config *config, const struct blob_sampled *s)
{
    bool s3 = strcmp(config->blob_driver, "s3") == 0;

    cli_fail(
        "%u of %u stored objects that were looked for are not in the store, %s among them; see "
        "that %s is the one of this database, `wharf files verify` names all",
        s->lost, s->looked, s->first, s3 ? "blob.s3.bucket" : "blob.dir");
}

bool look_at_mark(
    PGconn *conn, const struct config *config, enum blob_mark_how how, struct arena *a)
{
    wharf_str why = {"", 0};
    struct blob_store *store = NULL;
    bool good = strcmp(config->blob_driver, "dir") != 0;

    if (!good) {
        store = blob_open(config, NULL, a, &why);
        good = store && blob_mark(conn, store, how, a, &why);
    }
    if (!good)
        cli_fail("%s", why.p);
    blob_close(store);
    return good;
}

bool look_at_objects(PGconn *conn, const struct config *config, bool note, struct arena *a)
{
    wharf_str why = {"", 0};
    struct net_client *net = net_start(config, a, &why);
    struct blob_store *store = net ? blob_open(config, net, a, &why) : NULL;
    struct blob_sampled sampled = {0, 0, ""};

    if (!store)
        cli_fail("%s", why.p);
    else if (!blob_sample(conn, store, note, &sampled))
        cli_fail("objects of files could not be looked for; see that the store can be reached");
    if (sampled.lost)
        tell_lost(config, &sampled);
    blob_close(store);
    net_stop(net);
    return store && !sampled.lost;
}
