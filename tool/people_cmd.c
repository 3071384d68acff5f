/* people_cmd.c - `wharf user create|list|disable`, `wharf key list|revoke`. Leaves `wharf key
 * create` to commands.c. */
#include <stdio.h>
#include <string.h>

#include "tool/cli/cli.h"
#include "tool/people.h"
#include "util/str.h"

enum { OUTPUT_MAX = 64 * 1024 * 1024 };

typedef bool list_fn(PGconn *conn, const char *organization_id, struct buf *out, struct arena *a,
    wharf_str *ret_error);
typedef bool end_fn(PGconn *conn, const char *id, struct arena *a, wharf_str *ret_error);

static int people_run_list(struct cli *c, const char *organization_id, list_fn *fn)
{
    struct config *config = cli_config(c);
    wharf_str error = {"", 0};
    struct cli_db db;
    struct buf out;
    bool good;

    if (!config || !cli_db_open(&db, config, c->a))
        return EXIT_FAILED;
    buf_init(&out, OUTPUT_MAX);
    good = fn(db.conn, organization_id, &out, c->a, &error);
    cli_db_close(&db);
    fwrite(out.n ? out.p : "", 1, out.n, stdout);
    buf_done(&out);
    return good ? EXIT_FINE : cli_fail("%s", error.p);
}

static int people_run_end(struct cli *c, end_fn *fn)
{
    struct config *config = cli_config(c);
    wharf_str error = {"", 0};
    struct cli_db db;
    bool good;

    if (!config || !cli_db_open(&db, config, c->a))
        return EXIT_FAILED;
    good = fn(db.conn, c->words[1], c->a, &error);
    cli_db_close(&db);
    return good ? EXIT_FINE : cli_fail("%s", error.p);
}

static int people_run_create(struct cli *c, const struct people_user *user)
{
    struct config *config = cli_config(c);
    wharf_str error = {"", 0};
    struct cli_db db;
    char id[ID_MAX];
    bool good;

    if (!config || !cli_db_open(&db, config, c->a))
        return EXIT_FAILED;
    good = people_user_create(db.conn, user, id, c->a, &error);
    cli_db_close(&db);
    if (!good)
        return cli_fail("%s", error.p);
    puts(id);
    return EXIT_FINE;
}

int command_user(int argc, char **argv)
{
    struct people_user user = {.role = "user"};
    const struct cli_option opts[] = {{"--org", &user.organization_id, NULL},
        {"--name", &user.name, NULL}, {"--email", &user.email, NULL}, {"--role", &user.role, NULL}};
    const char *verb;
    struct cli c;

    if (!cli_parse(&c, argc, argv, opts, sizeof(opts) / sizeof(opts[0])))
        return EXIT_USAGE;
    verb = c.n_words ? c.words[0] : "";
    if (strcmp(verb, "create") == 0 && c.n_words == 1 && user.organization_id && user.email) {
        user.name = user.name ? user.name : user.email;
        return people_run_create(&c, &user);
    }
    if (strcmp(verb, "list") == 0 && c.n_words == 1 && user.organization_id)
        return people_run_list(&c, user.organization_id, people_user_list);
    if (strcmp(verb, "disable") == 0 && c.n_words == 2)
        return people_run_end(&c, people_user_disable);
    cli_fail("wharf user create --org ID --email EMAIL [--name NAME] [--role ROLE], wharf user "
             "list --org ID, or wharf user disable USER");
    return EXIT_USAGE;
}

int people_key_command(struct cli *c, const char *organization_id)
{
    if (c->n_words == 1 && strcmp(c->words[0], "list") == 0 && organization_id)
        return people_run_list(c, organization_id, people_key_list);
    if (c->n_words == 2 && strcmp(c->words[0], "revoke") == 0)
        return people_run_end(c, people_key_revoke);
    return -1;
}
