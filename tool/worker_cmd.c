/* worker_cmd.c - `wharf _worker`: from the arguments the supervisor gives to worker_main(). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/cli/cli.h"
#include "process/board.h"
#include "process/worker.h"
#include "util/log.h"

static int worker_number(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

/* Opens the log. One that can't be opened refuses new settings; a worker that only comes back
 * writes to standard error instead. */
static bool worker_open_log(
    const struct config *config, const struct worker_boot *boot, const char *program)
{
    if (log_open(config->log_file, config->log_level, program))
        return true;
    log_init(STDERR_FILENO, config->log_level, program);
    log_error("log.not_opened", "%s: %s; standard error is used instead", config->log_file,
        strerror(errno));
    if (boot->proves)
        dprintf(boot->control_fd, "failed: the log %s can't be opened\n", config->log_file);
    return !boot->proves;
}

int command_worker(int argc, char **argv)
{
    const char *kind = "", *index = "0", *listen_fd = "-1", *tls_fd = "-1", *control_fd = "-1",
               *board_fd = "-1", *slot = "0", *generation = "1";
    bool proves = false;
    wharf_str error = {"", 0};
    const char *database = "", *quarantined = "";
    const struct cli_option opts[] = {{"--kind", &kind, NULL}, {"--index", &index, NULL},
        {"--listen-fd", &listen_fd, NULL}, {"--tls-fd", &tls_fd, NULL},
        {"--control-fd", &control_fd, NULL}, {"--board-fd", &board_fd, NULL},
        {"--slot", &slot, NULL}, {"--generation", &generation, NULL}, {"--proves", NULL, &proves},
        {"--database", &database, NULL}, {"--quarantined", &quarantined, NULL}};
    struct worker_boot boot;
    struct config *config;
    struct cli c;
    int code;

    if (!cli_parse(&c, argc, argv, opts, sizeof(opts) / sizeof(opts[0])))
        return EXIT_USAGE;
    /* as its generation read them: the file may hold something else by now */
    config = config_load_kept(c.config_fd, c.config_file, c.sets, c.n_sets, c.a, &error);
    boot = (struct worker_boot){.kind = strcmp(kind, "web") == 0 ? WORKER_WEB : WORKER_JOB,
        .index = (unsigned)worker_number(index),
        .generation = (uint64_t)worker_number(generation),
        .listen_fd = worker_number(listen_fd),
        .tls_fd = worker_number(tls_fd),
        .control_fd = worker_number(control_fd),
        .slot = (unsigned)worker_number(slot),
        .proves = proves,
        .quarantined = quarantined};
    if (!config) {
        cli_fail("the settings have problems:\n%s", error.p);
        dprintf(boot.control_fd, "failed: the settings have problems: %s\n", error.p);
        return EXIT_FAILED;
    }
    if (!worker_open_log(config, &boot, arena_printf(c.a, "%s %s", kind, index).p))
        return EXIT_FAILED;
    boot.database = database[0] ? database : config->database;
    boot.board = board_map(worker_number(board_fd));
    if (!boot.board || boot.slot >= BOARD_WORKERS || boot.control_fd < 0)
        return cli_fail("_worker is started by the supervisor only"), EXIT_USAGE;
    code = worker_main(config, &boot);
    config_free(config);
    _exit(code); /* as a worker that has served: no destructors of plugins whose start failed */
}
