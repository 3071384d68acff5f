/* cli.h - what the sub-commands of `wharf` share: arguments, settings, a database connection.
 * Private to tool/. */
#ifndef WHARF_TOOL_CLI_CLI_H
#define WHARF_TOOL_CLI_CLI_H

#include <libpq-fe.h>

#include "config/config.h"
#include "db/cluster.h"

enum { SETS_MAX = 128, WORDS_MAX = 16 };
enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* One option of a command. Exactly one target: with text it takes a value, with flag it does
 * not. */
struct cli_option {
    const char *name; /* "--ready" */
    const char **text;
    bool *flag;
    bool secret; /* the value is blanked in the arguments, which everybody can read */
};

struct cli {
    struct arena *a;
    const char *config_file; /* -c FILE, or /etc/wharf/wharf.lua when it is there, or NULL */
    bool config_given;
    /* what the server that started this process kept of the file (config_keep()), or -1 */
    int config_fd;
    struct config_override sets[SETS_MAX]; /* --set and the options that mean one, in order */
    size_t n_sets;
    const char *words[WORDS_MAX]; /* arguments that are no options */
    size_t n_words;
};

/* Reads the arguments behind the command's name. Every command knows -c FILE, --set k=v, --data
 * DIR, --safe-mode; opts are its own. False: a message was printed. */
bool cli_parse(struct cli *c, int argc, char **argv, const struct cli_option *opts, size_t n_opts);
void cli_set(struct cli *c, const char *key, const char *value);
bool cli_is_set(const struct cli *c, const char *key); /* by --set, an option, or the environment */
/* Returns the settings, or NULL after printing what is wrong with them. */
struct config *cli_config(struct cli *c);
/* Prints "wharf: <message>" on standard error, and logs it when the log is a file. Returns
 * EXIT_FAILED. */
int cli_fail(const char *fmt, ...) WHARF_PRINTF(1, 2);

/* A connection for a command: to the running embedded database, to one started for the command,
 * or to the configured one. */
struct cli_db {
    PGconn *conn;
    struct cluster *cluster;
    int lock;
};
bool cli_db_open(struct cli_db *db, const struct config *config, struct arena *a);
/* Connects to a connection string; NULL after printing why not. Notices are not printed. */
PGconn *cli_connect(const char *conninfo, struct arena *a);
void cli_db_close(struct cli_db *db);

/* Runs `wharf key list|revoke` (people_cmd.c). Returns the exit code, or -1 when the words say
 * something else. */
int people_key_command(struct cli *c, const char *organization_id);

/* Runs `wharf org limit` or `wharf key limit` with the arguments behind the first word
 * (limit_cmd.c). Returns the exit code. */
int limit_command(int argc, char **argv, bool organization);

/* Runs the checks of an area, as `wharf verify --module AREA` (verify_cmd.c). Returns the exit
 * code. */
int verify_area(struct cli *c, const char *area);

/* Runs `wharf help settings` with the arguments behind it (settings_cmd.c). */
int help_settings(int argc, char **argv);

/* Runs a command with the arguments behind its name. Returns the exit code. */
int command_dev(int argc, char **argv);
int command_serve(int argc, char **argv);
int command_check(int argc, char **argv);
int command_config(int argc, char **argv);
int command_migrate(int argc, char **argv);
int command_ps(int argc, char **argv);
int command_reload(int argc, char **argv);
int command_stop(int argc, char **argv);
int command_org(int argc, char **argv);
int command_key(int argc, char **argv);
int command_user(int argc, char **argv);
int command_plugin(int argc, char **argv);
int command_job(int argc, char **argv);
int command_secret(int argc, char **argv);
int command_files(int argc, char **argv);
int command_backup(int argc, char **argv);
int command_restore(int argc, char **argv);
int command_verify(int argc, char **argv);
int command_template(int argc, char **argv);
int command_webhook(int argc, char **argv);
int command_lua(int argc, char **argv);
int command_help(int argc, char **argv);
int command_version(int argc, char **argv);
int command_worker(int argc, char **argv); /* _worker */
int command_setup(int argc, char **argv); /* _migrate */
int command_welcome(int argc, char **argv); /* _welcome */

#endif
