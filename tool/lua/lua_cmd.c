/* lua_cmd.c - `wharf lua`: finds the command, and which options it takes; what several of them
 * need. */
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

struct all_options {
    const char *note, *template_name;
    bool force, annotations;
    struct lua_test_options test;
    struct lua_run_options run;
    struct lua_replay_options replay;
    struct lua_flow_options flow;
    struct lua_server server;
};

#define THERE "--server --target "

/* The options of each command: what another one takes would be ignored. */
static const struct {
    const char *command, *options;
} takes[] = {{"init", "--template"}, {"check", ""}, {"doc", "--annotations"},
    {"test", "--filter --seed --format --coverage --jobs --timeout --update"},
    {"run", "--trigger --input --stubs --event --live --server"},
    {"replay", "--dir --secrets --server"}, {"pull", THERE "--version --force"},
    {"push", THERE "--force"}, {"publish", THERE "--note"},
    {"runs", THERE "--all --status --limit"}, {"logs", THERE}, {"retry", THERE "--failed --all"},
    {"versions", THERE}, {"roll-back", THERE "--note"}, {"secret", THERE "--delete"},
    {"enable", THERE}, {"disable", THERE}, {"diff", THERE "--version --against"}};

static bool lua_has_word(const char *words, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = strstr(words, word); p; p = strstr(p + 1, word)) {
        if ((p == words || p[-1] == ' ') && (!p[n] || p[n] == ' '))
            return true;
    }
    return false;
}

/* Tells whether the command takes all options that were said. Returns false after a message. */
static bool options_fit(const char *command, const struct cli_option *opts, size_t n)
{
    size_t k = 0;

    while (k < sizeof(takes) / sizeof(takes[0]) && strcmp(takes[k].command, command) != 0)
        k++;
    if (k == sizeof(takes) / sizeof(takes[0]))
        return true; /* there is no such command, which is told */
    for (size_t i = 0; i < n; i++) {
        bool said = (opts[i].text && *opts[i].text) || (opts[i].flag && *opts[i].flag);

        if (said && !lua_has_word(takes[k].options, opts[i].name)) {
            cli_fail("wharf lua %s takes no %s%s%s", command, opts[i].name,
                *takes[k].options ? "; it takes " : "", takes[k].options);
            return false;
        }
    }
    return true;
}

/* Runs what needs no server. Returns -1 when the name is none of these. */
static int run_here(struct cli *c, const char *name, struct all_options *o)
{
    if (!strcmp(name, "init"))
        return lua_init_command(c, o->template_name);
    if (!strcmp(name, "test"))
        return lua_test_command(c, &o->test);
    if (!strcmp(name, "check"))
        return lua_check_command(c);
    if (!strcmp(name, "doc"))
        return lua_doc_command(c, o->annotations);
    if (!strcmp(name, "run"))
        return lua_run_command(c, &o->run, &o->server);
    if (!strcmp(name, "replay"))
        return lua_replay_command(c, &o->replay, &o->server);
    return -1;
}

static int run_there(struct cli *c, const char *name, struct all_options *o)
{
    if (!strcmp(name, "pull"))
        return lua_pull_command(c, &o->server, o->force, &o->flow);
    if (!strcmp(name, "push"))
        return lua_push_command(c, &o->server, o->force);
    if (!strcmp(name, "publish"))
        return lua_publish_command(c, &o->server, o->note);
    if (!strcmp(name, "runs"))
        return lua_runs_command(c, &o->server, &o->flow);
    if (!strcmp(name, "logs"))
        return lua_logs_command(c, &o->server);
    if (!strcmp(name, "retry"))
        return lua_retry_command(c, &o->server, &o->flow);
    if (!strcmp(name, "versions"))
        return lua_versions_command(c, &o->server);
    if (!strcmp(name, "roll-back"))
        return lua_roll_back_command(c, &o->server, o->note);
    if (!strcmp(name, "secret"))
        return lua_secret_command(c, &o->server, &o->flow);
    if (!strcmp(name, "enable") || !strcmp(name, "disable"))
        return lua_enable_command(c, &o->server, name[0] == 'e');
    if (!strcmp(name, "diff"))
        return lua_diff_command(c, &o->server, &o->flow);
    return -1;
}

int command_lua(int argc, char **argv)
{
    struct all_options o = {.note = NULL};
    const struct cli_option opts[] = {{"--filter", &o.test.filter, NULL},
        {"--seed", &o.test.seed, NULL}, {"--format", &o.test.format, NULL},
        {"--coverage", &o.test.coverage, NULL}, {"--jobs", &o.test.jobs, NULL},
        {"--timeout", &o.test.timeout, NULL}, {"--update", NULL, &o.test.update},
        {"--trigger", &o.run.trigger, NULL}, {"--input", &o.run.input, NULL},
        {"--stubs", &o.run.stubs, NULL}, {"--event", &o.run.event, NULL},
        {"--live", NULL, &o.run.live}, {"--server", &o.server.url, NULL},
        {"--target", &o.server.target, NULL}, {"--note", &o.note, NULL},
        {"--force", NULL, &o.force}, {"--dir", &o.replay.dir, NULL},
        {"--secrets", &o.replay.secrets, NULL}, {"--status", &o.flow.status, NULL},
        {"--limit", &o.flow.limit, NULL}, {"--version", &o.flow.version, NULL},
        {"--against", &o.flow.other, NULL}, {"--failed", NULL, &o.flow.failed},
        {"--all", NULL, &o.flow.all}, {"--delete", NULL, &o.flow.erase},
        {"--template", &o.template_name, NULL}, {"--annotations", NULL, &o.annotations}};
    const char *name;
    struct cli c;
    int code;

    if (!cli_parse(&c, argc, argv, opts, sizeof(opts) / sizeof(opts[0])))
        return LUA_USAGE;
    name = c.n_words ? c.words[0] : "";
    if (!options_fit(name, opts, sizeof(opts) / sizeof(opts[0])))
        return LUA_USAGE;
    code = run_here(&c, name, &o);
    if (code < 0)
        code = run_there(&c, name, &o);
    return code >= 0 ? code
                     : lua_usage("wharf lua init|check|test|run|replay|pull|push|publish|diff|runs|"
                                 "logs|retry|versions|roll-back|secret|enable|disable|doc …; "
                                 "`wharf help` tells more");
}
