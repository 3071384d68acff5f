/* lua_cmd.c - `wharf lua`: finds the command; what several of them need. */
#include <string.h>

#include "tool/lua/author.h"
#include "host/registry.h"

const struct engine *lua_engine(struct cli *c)
{
    struct config *config = cli_config(c);
    wharf_str problems;
    struct registry *r = config ? registry_load(config, "", REGISTRY_PLAIN, c->a, &problems) : NULL;

    if (config && !r)
        cli_fail("the plugins have problems:\n%s", problems.p);
    return r ? registry_engine(r) : NULL;
}

int command_lua(int argc, char **argv)
{
    const char *name, *note = NULL;
    bool force = false;
    struct lua_test_options t = {.update = false};
    struct lua_run_options r = {.live = false};
    struct lua_replay_options p = {.dir = NULL};
    struct lua_server server = {.url = NULL};
    const struct cli_option opts[] = {{"--filter", &t.filter, NULL}, {"--seed", &t.seed, NULL},
        {"--format", &t.format, NULL}, {"--coverage", &t.coverage, NULL}, {"--jobs", &t.jobs, NULL},
        {"--timeout", &t.timeout, NULL}, {"--update", NULL, &t.update},
        {"--trigger", &r.trigger, NULL}, {"--input", &r.input, NULL}, {"--stubs", &r.stubs, NULL},
        {"--live", NULL, &r.live}, {"--server", &server.url, NULL}, {"--note", &note, NULL},
        {"--force", NULL, &force}, {"--dir", &p.dir, NULL}, {"--secrets", &p.secrets, NULL}};
    struct cli c;

    if (!cli_parse(&c, argc, argv, opts, sizeof(opts) / sizeof(opts[0])))
        return LUA_USAGE;
    name = c.n_words ? c.words[0] : "";
    if (!strcmp(name, "test"))
        return lua_test_command(&c, &t);
    if (!strcmp(name, "check"))
        return lua_check_command(&c);
    if (!strcmp(name, "doc"))
        return lua_doc_command(&c);
    if (!strcmp(name, "run"))
        return lua_run_command(&c, &r, &server);
    if (!strcmp(name, "replay"))
        return lua_replay_command(&c, &p, &server);
    if (!strcmp(name, "pull"))
        return lua_pull_command(&c, &server, force);
    if (!strcmp(name, "push"))
        return lua_push_command(&c, &server, force);
    if (!strcmp(name, "publish"))
        return lua_publish_command(&c, &server, note);
    return lua_usage(
        "wharf lua check|test|run|replay|pull|push|publish|doc …; `wharf help` tells more");
}
