/* main.c - `wharf`: finds the sub-command and runs it. */
#include <stdio.h>
#include <string.h>

#include "parts.h"
#include "tool/cli/cli.h"
#include "worker/kernel_part.h"
#include "wharf_version.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
};

/* The parts of this server, the lowest first. */
static const struct part *const parts[] = {&kernel_part, &net_part, &push_part, &blob_part,
    &mail_part, &import_part, &render_part, &image_part, &batch_part, &operator_part, &lua_part,
    &docs_part};

static const struct command commands[] = {
    {"dev", command_dev},
    {"serve", command_serve},
    {"check", command_check},
    {"config", command_config},
    {"migrate", command_migrate},
    {"ps", command_ps},
    {"reload", command_reload},
    {"stop", command_stop},
    {"org", command_org},
    {"key", command_key},
    {"user", command_user},
    {"plugin", command_plugin},
    {"job", command_job},
    {"secret", command_secret},
    {"files", command_files},
    {"verify", command_verify},
    {"backup", command_backup},
    {"restore", command_restore},
    {"template", command_template},
    {"webhook", command_webhook},
    {"lua", command_lua},
    {"help", command_help},
    {"--help", command_help},
    {"-h", command_help},
    {"version", command_version},
    {"--version", command_version},
    {"_worker", command_worker},
    {"_migrate", command_setup},
    {"_welcome", command_welcome},
};

static const char help[] =
    "wharf " WHARF_VERSION " - the back office of a warehouse or mailroom\n"
    "\n"
    "  wharf dev [--data DIR] [--listen HOST:PORT] [--ready FILE] [--no-demo] [--test-clock] "
    "[--modules a,b]\n"
    "                                a server to try and develop with: own database, demonstration "
    "data, a key\n"
    "  wharf serve -c FILE           the server\n"
    "  wharf check -c FILE           settings and plugins, without serving\n"
    "  wharf config show [--json]    the settings in force, and where each was written; secrets "
    "are not shown\n"
    "  wharf migrate [--plan] [--contract]\n"
    "                                bring the database up to date, or tell what would run\n"
    "  wharf ps                      the running server's workers and what they do\n"
    "  wharf reload                  new workers with the settings and plugins of now; old ones "
    "finish\n"
    "  wharf stop                    end the running server\n"
    "  wharf org create NAME [--owner-name NAME] [--owner-email EMAIL]\n"
    "  wharf org list                every organization: mode, state, users, keys, limits of its "
    "own\n"
    "  wharf org limit ORG [--rate N] [--burst N] [--reset]\n"
    "                                requests in a second, in the place of "
    "rate_limit.organization; 0: any\n"
    "  wharf org meters              what is charged by: days that events are kept, of each "
    "organization\n"
    "  wharf key create --org ID --scopes all|a:read,b:write [--name TEXT] [--locations ID,ID] "
    "[--user ID] [--test] [--system]\n"
    "  wharf key list --org ID       every key but its text\n"
    "  wharf key limit KEY [--rate N] [--burst N] [--write N] [--write-burst N] [--concurrency N] "
    "[--reset]\n"
    "                                the same, in the place of rate_limit.key, .write and "
    ".concurrency\n"
    "  wharf key revoke KEY\n"
    "  wharf user create --org ID --email EMAIL [--name NAME] [--role "
    "owner|developer|admin|user|ID]\n"
    "  wharf user list --org ID\n"
    "  wharf user disable USER       and all its keys\n"
    "  wharf plugin inspect FILE     a plugin's manifest; runs none of its code\n"
    "  wharf plugin list             the configured plugins in load order\n"
    "  wharf plugin release NAME     end a plugin's quarantine\n"
    "  wharf files collect           erase expired files and what no file refers to\n"
    "  wharf files verify            the same as wharf verify --module files, with all faults\n"
    "  wharf files rotate-key        a new key for signed links; the old one still counts until "
    "the next time\n"
    "  wharf files adopt             the folder of files of these settings is the database's from "
    "now "
    "on\n"
    "  wharf job list [--queue NAME] [--org ID] [--state STATE] [--past]\n"
    "                                jobs that wait and run; with --past those that are over and "
    "kept\n"
    "  wharf job show|cancel|retry ID\n"
    "  wharf verify [--module NAME] [--check NAME] [--show N] [--json]\n"
    "                                what must hold of all rows and files, looked at while the "
    "server serves; 0: it holds, 1: faults, 2: could not look\n"
    "  wharf verify --list           the checks there are\n"
    "  wharf backup DIR [--encrypt --passphrase-file FILE [--with-key]]\n"
    "                                rows, files and, if wanted, the master key of one moment, "
    "while the server serves\n"
    "  wharf backup --verify DIR [--passphrase-file FILE]\n"
    "                                read all of a backup and compare it with its checksums\n"
    "  wharf restore DIR --data NEWDIR [--database URL] [--passphrase-file FILE]\n"
    "                                a backup into an empty folder and an empty database\n"
    "  wharf secret key              a new master key, printed\n"
    "  wharf secret rotate           a new key at the head of the file of master keys\n"
    "  wharf secret status           how many secrets each key has sealed\n"
    "  wharf secret reseal           seal with the current key what older ones have sealed\n"
    "  wharf template render FILE [--data DATA] [--out FILE] [--format pdf|png|zpl] [--page N] "
    "[--watch]\n"
    "                                a definition of a label or paper, drawn without a server; "
    "--watch: again when a file changes\n"
    "  wharf webhook verify --secret S --id ID --timestamp T --signature V < body\n"
    "                                does the signature of a received webhook fit?\n"
    "  wharf lua init DIR [--template event|http|schedule|manual|before|after|nearest-printer]\n"
    "                                a new folder of a workflow: code, a test, what an editor "
    "reads of the functions\n"
    "  wharf lua check PATH...       look at a workflow's folder, or one of hooks: names, "
    "triggers, what is never used\n"
    "  wharf lua test [PATH...] [--filter TEXT] [--seed N] [--format tap|junit|json] [--coverage "
    "FILE] [--jobs N] [--timeout S] [--update]\n"
    "                                run its *_test.lua\n"
    "  wharf lua run DIR --trigger event|http|schedule|manual|before|after [--input FILE] [--event "
    "ID] "
    "[--stubs FILE] [--live]\n"
    "                                one run, against stubs; with --live the API is the server's\n"
    "  wharf lua replay RUN|FILE [--dir DIR] [--secrets FILE]\n"
    "                                a recorded run once more, without a server\n"
    "  wharf lua pull ID [DIR] [--version N] [--force]\n"
    "                                a workflow's draft into a folder; --force: also over changes "
    "that were not pushed\n"
    "  wharf lua push [DIR] [--force], publish [ID|DIR] [--note TEXT]\n"
    "                                the other way; --force: also over a draft that was changed "
    "meanwhile\n"
    "  wharf lua diff [DIR] [--version N], diff [ID|DIR] --version N --against M\n"
    "                                how the folder differs from the server's draft or a version; "
    "how one version from another\n"
    "  wharf lua versions [ID|DIR], roll-back N [ID|DIR] [--note TEXT]\n"
    "                                its versions; an old one again\n"
    "  wharf lua runs [ID|DIR|--all] [--status S] [--limit N], logs RUN\n"
    "                                its runs, or those of all workflows; what one said and why it "
    "failed\n"
    "  wharf lua retry RUN...|[ID|DIR] --failed|--all\n"
    "                                runs once more; all that failed, of one workflow or of all\n"
    "  wharf lua secret KEY [ID|DIR] [--delete] < value, enable|disable [ID|DIR]\n"
    "                                a secret of it; whether it runs\n"
    "                                --target NAME: what workflow.NAME.json of the folder says in "
    "the place of workflow.json;\n"
    "                                the server: --server URL or WHARF_SERVER; the key: "
    "WHARF_KEY;\n"
    "                                its certificate's authorities: WHARF_CA_FILE\n"
    "  wharf lua doc [NAME|--annotations]\n"
    "                                the functions there are; as editors read them (LuaLS)\n"
    "  wharf help settings [--json]  all settings: type and bounds, default, what for\n"
    "  wharf version\n"
    "\n"
    "Every command takes -c FILE (default /etc/wharf/wharf.lua when it is there), --set key=value, "
    "--data DIR, --safe-mode.\n";

int command_help(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "settings") == 0)
        return help_settings(argc - 1, argv + 1);
    fputs(help, stdout);
    return EXIT_FINE;
}

int command_version(int argc, char **argv)
{
    puts("wharf " WHARF_VERSION);
    return EXIT_FINE;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "help";

    parts_set(parts, sizeof(parts) / sizeof(*parts));
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(commands[i].name, name) == 0)
            return commands[i].run(argc > 2 ? argc - 2 : 0, argv + 2);
    cli_fail("there is no command \"%s\"; `wharf help` lists them", name);
    return EXIT_USAGE;
}
