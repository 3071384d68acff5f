/* peer.c - the bare loop that deliveries are compared with: libcurl multi, the same signed
 * bodies, nothing else.
 *
 *   peer URL REQUESTS CONCURRENCY BODY_BYTES    prints requests per second */
#include <curl/curl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *url;
static char *body;
static size_t body_bytes;
static unsigned long started;

struct slot {
    CURL *easy;
    struct curl_slist *headers;
};

static size_t ignore(char *p, size_t size, size_t n, void *arg)
{
    (void)p, (void)arg;
    return size * n;
}

static void sign(char out[128], const char *id)
{
    static const unsigned char key[32] = "0123456789abcdef0123456789abcdef";
    unsigned char hash[32], text[64];
    unsigned n = 32;
    char *signed_text = malloc(body_bytes + 128);
    int head = snprintf(signed_text, 128, "%s.%ld.", id, (long)time(NULL));

    memcpy(signed_text + head, body, body_bytes);
    HMAC(EVP_sha256(), key, 32, (unsigned char *)signed_text, (size_t)head + body_bytes, hash, &n);
    free(signed_text);
    EVP_EncodeBlock(text, hash, 32);
    snprintf(out, 128, "webhook-signature: v1,%s", text);
}

static void begin(CURLM *multi, struct slot *s)
{
    char id[64], line[160], signature[128];

    snprintf(id, sizeof(id), "evt_%022lu", ++started);
    sign(signature, id);
    curl_slist_free_all(s->headers);
    s->headers = curl_slist_append(NULL, "content-type: application/json");
    snprintf(line, sizeof(line), "webhook-id: %s", id);
    s->headers = curl_slist_append(s->headers, line);
    snprintf(line, sizeof(line), "webhook-timestamp: %ld", (long)time(NULL));
    s->headers = curl_slist_append(s->headers, line);
    s->headers = curl_slist_append(s->headers, signature);
    curl_easy_setopt(s->easy, CURLOPT_URL, url);
    curl_easy_setopt(s->easy, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(s->easy, CURLOPT_POSTFIELDSIZE, (long)body_bytes);
    curl_easy_setopt(s->easy, CURLOPT_HTTPHEADER, s->headers);
    curl_easy_setopt(s->easy, CURLOPT_WRITEFUNCTION, ignore);
    curl_easy_setopt(s->easy, CURLOPT_PRIVATE, s);
    curl_multi_add_handle(multi, s->easy);
}

int main(int argc, char **argv)
{
    CURLM *multi = curl_multi_init();
    unsigned long done = 0, wanted;
    int concurrency, running, left;
    struct timespec a, b;
    struct slot *slots;

    if (argc < 5)
        return 2;
    url = argv[1];
    wanted = strtoul(argv[2], NULL, 10);
    concurrency = (int)strtol(argv[3], NULL, 10);
    body_bytes = strtoul(argv[4], NULL, 10);
    body = malloc(body_bytes + 1);
    memset(body, 'x', body_bytes);
    slots = calloc((size_t)concurrency, sizeof(*slots));
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)concurrency);
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < concurrency; i++) {
        slots[i].easy = curl_easy_init();
        begin(multi, &slots[i]);
    }
    while (done < wanted) {
        CURLMsg *m;

        curl_multi_perform(multi, &running);
        while ((m = curl_multi_info_read(multi, &left))) {
            struct slot *s;

            curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&s);
            curl_multi_remove_handle(multi, s->easy);
            done++;
            if (started < wanted)
                begin(multi, s);
        }
        curl_multi_poll(multi, NULL, 0, 100, NULL);
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%.0f\n",
        (double)done / ((double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9));
    return 0;
}
