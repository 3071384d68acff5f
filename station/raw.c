/* raw.c - printers without IPP: bytes to a socket, as they are (spec 04 section 10.3). Nobody
 * there says what became of them; printers of ZPL say at least how they are (zebra.c). */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "station.h"

enum { SEND_S = 30 }; /* a document may take */

static int raw_connect_to(const struct printer *p)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list, *a;
    struct timeval limit = {SEND_S, 0};
    char port[16];
    int fd = -1;

    snprintf(port, sizeof(port), "%d", p->port > 0 ? p->port : 9100);
    if (getaddrinfo(p->host, port, &hints, &list) != 0)
        return -1;
    for (a = list; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
            continue;
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        if (connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    return fd;
}

static bool raw_send_file(int fd, const char *file)
{
    char block[16384];
    FILE *f = fopen(file, "re");
    bool good = f != NULL;
    size_t n;

    while (good && (n = fread(block, 1, sizeof(block), f)) > 0) {
        for (size_t at = 0; good && at < n;) {
            ssize_t sent = send(fd, block + at, n - at, MSG_NOSIGNAL);

            good = sent > 0;
            at += good ? (size_t)sent : 0;
        }
    }
    if (f)
        fclose(f);
    return good;
}

static bool speaks_zpl(const struct job *j)
{
    const char *type = member_text(member(j->claim, "document"), "content_type", "");

    for (size_t i = 0; str_ends(str_z(type), "zpl") && i < j->printer->n_languages; i++) {
        if (!strcmp(j->printer->languages[i], "zpl"))
            return true;
    }
    return false;
}

/* Settles how a job ended, all bytes being sent. */
static void raw_settle(const struct job *j, enum zebra_end end, struct outcome *ret)
{
    if (end == ZEBRA_GONE)
        outcome_set(
            ret, "unreported", "unknown", "sent in full; then the printer did not answer any more");
    else if (end == ZEBRA_LEFT)
        outcome_set(ret, "unreported", "unknown",
            "sent in full; the agent ended while the printer was blocked");
    else if (!j->printer->config || !j->printer->config->assume_completed)
        outcome_set(
            ret, "unreported", NULL, "sent in full; the printer does not say what became of it");
    else
        outcome_set(ret, "completed", NULL, "%s", "");
    ret->confidence = "assumed";
}

static void raw_send_all(struct job *j, int fd, bool zpl, struct outcome *ret)
{
    int copies = member_int(member(j->claim, "configuration"), "copies", 1);
    enum zebra_end end = ZEBRA_SILENT;
    bool good = true;
    char rest[256];

    fault_point("submitting");
    for (int i = 0; i < copies && good; i++)
        good = raw_send_file(fd, j->file);
    if (good && zpl)
        end = zebra_watch(j, fd);
    shutdown(fd, SHUT_WR);
    while (good && end == ZEBRA_SILENT &&
           read(fd, rest, sizeof(rest)) > 0) /* until the printer has taken all */
        ;
    job_submitted(j, 0);
    if (good)
        raw_settle(j, end, ret);
    else
        outcome_set(
            ret, "unreported", "unknown", "the connection broke while the document was sent");
}

void socket_print(struct job *j, struct outcome *ret)
{
    bool zpl = speaks_zpl(j);
    int fd;

    if (!member_bool(j->claim, "raw", false)) {
        outcome_set(ret, "failed", "conversion", "the printer at %.100s takes raw documents only",
            j->printer->uri);
        return;
    }
    fd = raw_connect_to(j->printer);
    if (fd < 0) {
        printer_away(j->printer);
        outcome_set(ret, NULL, NULL, "the printer does not answer at %s", j->printer->uri);
        return;
    }
    if ((zpl && !zebra_ready(j, fd, &zpl)) || !job_may_submit(j))
        ret->status = NULL;
    else
        raw_send_all(j, fd, zpl, ret);
    close(fd);
}

bool socket_answers(const struct printer *p)
{
    int fd = raw_connect_to(p);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}
