/* tls.c - see tls.h. */
#include "http/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util/buf.h"
#include "util/time.h"

enum { FILE_LIMIT = 1 << 20 };

const char tls_priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE";

/* ---- the files ---- */

static bool tls_read_file(
    const char *setting, const char *path, struct buf *to, struct arena *a, wharf_str *ret_error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : 1;

    while (n > 0) {
        char *room = buf_room(to, 16384);

        n = room ? read(fd, room, 16384) : 0;
        if (n > 0)
            to->n += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    if (n < 0)
        *ret_error = arena_printf(a, "%s: %s can't be read: %s", setting, path, strerror(errno));
    else if (to->failed)
        *ret_error = arena_printf(
            a, "%s: %s has more than %d bytes; name a PEM file", setting, path, (int)FILE_LIMIT);
    return n == 0 && !to->failed;
}

/* Checks that the certificate is valid now. Only the certificate itself: those above it are the
 * issuers' business, and clients have their own idea of them. */
static bool valid_now(const struct config *c, const gnutls_datum_t *pem, time_t now,
    struct arena *a, wharf_str *ret_error)
{
    gnutls_x509_crt_t *chain = NULL;
    unsigned n = 0;
    char iso[ISO_MS_LEN + 1];
    time_t from, to;
    int r = gnutls_x509_crt_list_import2(&chain, &n, pem, GNUTLS_X509_FMT_PEM, 0);

    if (r < 0 || !n) {
        *ret_error = arena_printf(a, "tls.certificate: %s holds no certificate in PEM form (%s)",
            c->tls_certificate, gnutls_strerror(r));
        return false;
    }
    from = gnutls_x509_crt_get_activation_time(chain[0]);
    to = gnutls_x509_crt_get_expiration_time(chain[0]);
    for (unsigned i = 0; i < n; i++)
        gnutls_x509_crt_deinit(chain[i]);
    gnutls_free(chain);
    if (now >= from && now < to)
        return true;
    time_format_iso((now < from ? from : to) * INT64_C(1000000), iso);
    *ret_error = arena_printf(a,
        "tls.certificate: %s %s %s; put a certificate there that is valid now", c->tls_certificate,
        now < from ? "is valid only from" : "expired at", iso);
    return false;
}

static bool belong_together(const struct config *c, const gnutls_datum_t *certificate,
    const gnutls_datum_t *key, struct arena *a, wharf_str *ret_error)
{
    gnutls_certificate_credentials_t both;
    int r = gnutls_certificate_allocate_credentials(&both);

    if (r >= 0) {
        r = gnutls_certificate_set_x509_key_mem(both, certificate, key, GNUTLS_X509_FMT_PEM);
        gnutls_certificate_free_credentials(both);
    }
    if (r == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
        *ret_error = arena_printf(a, "tls.key: %s is not the key of the certificate in %s",
            c->tls_key, c->tls_certificate);
    else if (r < 0)
        *ret_error = arena_printf(
            a, "tls.key: %s with %s: %s", c->tls_key, c->tls_certificate, gnutls_strerror(r));
    return r >= 0;
}

/* Writes certificate, 0, key, 0 into a memfd, which it returns. */
static int tls_hand_over(const struct buf *certificate, const struct buf *key)
{
    int fd = memfd_create("wharf-tls", MFD_CLOEXEC);
    bool good = fd >= 0 &&
                write(fd, certificate->p, certificate->n + 1) == (ssize_t)certificate->n + 1 &&
                write(fd, key->p, key->n + 1) == (ssize_t)key->n + 1;

    if (!good && fd >= 0)
        close(fd);
    return good ? fd : -1;
}

bool tls_open(const struct config *c, int *ret_fd, struct arena *a, wharf_str *ret_error)
{
    struct buf certificate, key;
    struct timespec now;
    bool good;

    *ret_fd = -1;
    if (!c->tls_certificate[0] && !c->tls_key[0])
        return true;
    if (!c->tls_certificate[0] || !c->tls_key[0]) {
        *ret_error = arena_printf(a, "%s is set without %s; TLS needs both",
            c->tls_key[0] ? "tls.key" : "tls.certificate",
            c->tls_key[0] ? "tls.certificate" : "tls.key");
        return false;
    }
    buf_init(&certificate, FILE_LIMIT);
    buf_init(&key, FILE_LIMIT);
    clock_gettime(CLOCK_REALTIME, &now);
    good = tls_read_file("tls.certificate", c->tls_certificate, &certificate, a, ret_error) &&
           tls_read_file("tls.key", c->tls_key, &key, a, ret_error);
    buf_addc(&certificate, 0);
    buf_addc(&key, 0);
    if (good && !certificate.failed && !key.failed) {
        gnutls_datum_t pem = {(unsigned char *)certificate.p, (unsigned)--certificate.n};
        gnutls_datum_t secret = {(unsigned char *)key.p, (unsigned)--key.n};

        good = valid_now(c, &pem, now.tv_sec, a, ret_error) &&
               belong_together(c, &pem, &secret, a, ret_error);
    }
    if (good && (*ret_fd = tls_hand_over(&certificate, &key)) < 0) {
        *ret_error = arena_printf(
            a, "tls.key: no memory to hand it to workers: %s", strerror(errno));
        good = false;
    }
    if (key.p)
        explicit_bzero(key.p, key.n);
    buf_done(&key);
    buf_done(&certificate);
    return good;
}

bool tls_receive(int fd, struct tls_pair *ret)
{
    struct stat st;
    char *text;
    size_t first;

    *ret = (struct tls_pair){NULL, NULL};
    if (fd < 0)
        return true;
    if (fstat(fd, &st) != 0 || st.st_size < 2 || st.st_size > 2 * (FILE_LIMIT + 1))
        return false;
    text = calloc(1, (size_t)st.st_size + 1);
    if (!text)
        abort();
    if (pread(fd, text, (size_t)st.st_size, 0) != st.st_size ||
        (first = strlen(text) + 1) >= (size_t)st.st_size) {
        free(text);
        return false;
    }
    *ret = (struct tls_pair){text, text + first};
    return true;
}

int64_t tls_until(const struct tls_pair *p)
{
    gnutls_datum_t pem = {(unsigned char *)p->certificate, (unsigned)strlen(p->certificate)};
    gnutls_x509_crt_t *chain = NULL;
    unsigned n = 0;
    int64_t end = 0;

    if (gnutls_x509_crt_list_import2(&chain, &n, &pem, GNUTLS_X509_FMT_PEM, 0) < 0)
        return 0;
    for (unsigned i = 0; i < n; i++) {
        int64_t one = gnutls_x509_crt_get_expiration_time(chain[i]);

        end = !end || one < end ? one : end;
        gnutls_x509_crt_deinit(chain[i]);
    }
    gnutls_free(chain);
    return end;
}

void tls_forget(struct tls_pair *p)
{
    if (p->key)
        explicit_bzero(p->key, strlen(p->key));
    free(p->certificate);
    *p = (struct tls_pair){NULL, NULL};
}

/* ---- past libmicrohttpd ---- */

bool tls_send(void *tls, int fd, const char *p, size_t n)
{
    size_t sent = 0;

    while (sent < n) {
        /* a record has 16 KiB at most; one that the socket did not take whole is finished by the
         * next call */
        ssize_t r = tls ? gnutls_record_send(tls, p + sent, n - sent)
                        : send(fd, p + sent, n - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (r <= 0)
            break;
        sent += (size_t)r;
    }
    return sent > 0;
}

void tls_end(void *tls, int fd)
{
    if (tls)
        gnutls_bye(tls, GNUTLS_SHUT_WR);
    shutdown(fd, SHUT_WR);
}
