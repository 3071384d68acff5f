/* webhook_cmd.c - `wharf webhook verify`: does a signature fit the body on standard input? For
 * people who write receivers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tool/cli/cli.h"
#include "secret/signature.h"
#include "util/buf.h"
#include "util/str.h"

enum { BODY_MAX = 64 * 1024 * 1024 };

static bool webhook_read_body(struct buf *b)
{
    size_t n;

    do {
        char *room = buf_room(b, 65536);

        n = room ? fread(room, 1, 65536, stdin) : 0;
        b->n += n;
    } while (n);
    return !b->failed && !ferror(stdin);
}

static int webhook_report(enum signature_verdict v)
{
    switch (v) {
    case SIGNATURE_GOOD:
        puts("the signature is good");
        return EXIT_FINE;
    case SIGNATURE_LATE:
        return cli_fail("the signature fits, but its timestamp is more than the tolerance away "
                        "from now (--tolerance SECONDS; 0: any)");
    case SIGNATURE_MALFORMED:
        return cli_fail("the secret is \"whsec_\" and base64 of 24 to 64 bytes, the timestamp "
                        "seconds since 1970");
    case SIGNATURE_WRONG:
        break;
    }
    return cli_fail(
        "the signature does not fit: other secret, id, timestamp or body (every byte counts)");
}

int command_webhook(int argc, char **argv)
{
    const char *secret = NULL, *id = NULL, *timestamp = NULL, *signature = NULL, *tolerance = "300";
    const struct cli_option opts[] = {{"--secret", &secret, NULL}, {"--id", &id, NULL},
        {"--timestamp", &timestamp, NULL}, {"--signature", &signature, NULL},
        {"--tolerance", &tolerance, NULL}};
    struct cli c;
    struct buf body;
    int code;

    if (!cli_parse(&c, argc, argv, opts, sizeof(opts) / sizeof(opts[0])))
        return EXIT_USAGE;
    if (c.n_words != 1 || strcmp(c.words[0], "verify") != 0 || !secret || !id || !timestamp ||
        !signature) {
        cli_fail("wharf webhook verify --secret whsec_... --id ID --timestamp SECONDS --signature "
                 "v1,... < body");
        return EXIT_USAGE;
    }
    buf_init(&body, BODY_MAX);
    code = webhook_read_body(&body)
               ? webhook_report(signature_check(str_z(secret), str_z(id), str_z(timestamp),
                     str_z(signature), buf_str(&body), time(NULL), strtoll(tolerance, NULL, 10)))
               : cli_fail("the body can't be read, or has more than 64 MiB");
    buf_done(&body);
    return code;
}
