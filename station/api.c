/* api.c - calls to the server: one curl handle per thread, kept for its connection. */
#include <curl/curl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "station.h"

enum {
    ANSWER_MAX = 16 << 20,
    DOWNLOAD_MAX = 64 << 20, /* bytes of a document */
    TRIES = 3, /* to fetch a document */
    CONNECT_S = 10 /* until the connection stands */
};

static _Thread_local CURL *handle;
static pthread_key_t handle_key; /* closes the handle of a thread that ends */

static void close_handle(void *h)
{
    curl_easy_cleanup(h);
}

void api_start(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    pthread_key_create(&handle_key, close_handle);
}

size_t api_collect(char *p, size_t size, size_t n, void *buf)
{
    buf_add(buf, p, size * n);
    return ((struct buf *)buf)->failed ? 0 : size * n;
}

void *api_handle(const char *path, struct curl_slist **ret_headers)
{
    char url[2 * URI_TEXT], key[260];
    bool whole = !strncmp(path, "http", 4);

    if (!handle) {
        handle = curl_easy_init();
        pthread_setspecific(handle_key, handle);
    }
    curl_easy_reset(handle);
    snprintf(url, sizeof(url), "%s%s", whole ? "" : settings.server, path);
    snprintf(key, sizeof(key), "SVC-API-KEY: %s", settings.key);
    /* whole URLs are signed links: they need no key, and may lead to another host */
    *ret_headers = whole ? NULL : curl_slist_append(NULL, key);
    curl_easy_setopt(handle, CURLOPT_URL, url);
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, *ret_headers);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_USERAGENT, "wharf-station/" AGENT_VERSION);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    if (settings.ca_file[0])
        curl_easy_setopt(handle, CURLOPT_CAINFO, settings.ca_file);
    return handle;
}

static void api_read_answer(const struct buf *body, struct answer *ret)
{
    cJSON *root = cJSON_ParseWithOpts(buf_str(body).p, NULL, true);

    ret->data = cJSON_DetachItemFromObjectCaseSensitive(root, "data");
    snprintf(ret->code, sizeof(ret->code), "%s", member_text(root, "code", ""));
    snprintf(ret->message, sizeof(ret->message), "%s", member_text(root, "message", ""));
    cJSON_Delete(root);
}

void api_call(const char *method, const char *path, cJSON *body, int timeout_s, struct answer *ret)
{
    char *text = body ? cJSON_PrintUnformatted(body) : NULL;
    struct curl_slist *headers;
    struct buf out;
    CURL *h = api_handle(path, &headers);
    CURLcode e;

    *ret = (struct answer){0};
    buf_init(&out, ANSWER_MAX);
    headers = curl_slist_append(headers, "Content-Type: application/json");
    headers = curl_slist_append(headers, "Expect:");
    curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(h, CURLOPT_CUSTOMREQUEST, method);
    if (text)
        curl_easy_setopt(h, CURLOPT_POSTFIELDS, text);
    curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, api_collect);
    curl_easy_setopt(h, CURLOPT_WRITEDATA, &out);
    curl_easy_setopt(h, CURLOPT_TIMEOUT, (long)timeout_s);
    e = curl_easy_perform(h);
    if (e == CURLE_OK) {
        curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &ret->status);
        api_read_answer(&out, ret);
    } else {
        snprintf(ret->message, sizeof(ret->message), "%s", curl_easy_strerror(e));
    }
    curl_slist_free_all(headers);
    buf_done(&out);
    cJSON_free(text);
    cJSON_Delete(body);
}

void answer_done(struct answer *a)
{
    cJSON_Delete(a->data);
    a->data = NULL;
}

/* ---- documents ---- */

static bool hash_is(const char *file, const char *sha256)
{
    unsigned char block[65536], digest[EVP_MAX_MD_SIZE];
    char hex[2 * EVP_MAX_MD_SIZE + 1] = "";
    FILE *f = fopen(file, "re");
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    unsigned length = 0;
    size_t n;

    if (!f || !c || EVP_DigestInit_ex(c, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(c);
        if (f)
            fclose(f);
        return false;
    }
    while ((n = fread(block, 1, sizeof(block), f)) > 0)
        EVP_DigestUpdate(c, block, n);
    fclose(f);
    EVP_DigestFinal_ex(c, digest, &length);
    EVP_MD_CTX_free(c);
    for (unsigned i = 0; i < length; i++)
        snprintf(hex + (size_t)2 * i, 3, "%02x", digest[i]);
    return !sha256[0] || !strcmp(hex, sha256);
}

static long fetch(const char *url, const char *file, char reason[REASON_TEXT])
{
    struct curl_slist *headers;
    FILE *f = fopen(file, "ae");
    CURL *h = api_handle(url, &headers);
    long status = 0, had;
    CURLcode e;

    if (!f) {
        snprintf(reason, REASON_TEXT, "the spool folder can't be written");
        return -1;
    }
    fseek(f, 0, SEEK_END);
    had = ftell(f);
    curl_easy_setopt(h, CURLOPT_WRITEDATA, f);
    curl_easy_setopt(h, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(h, CURLOPT_MAXFILESIZE, (long)DOWNLOAD_MAX);
    curl_easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1000L);
    curl_easy_setopt(h, CURLOPT_LOW_SPEED_TIME, 20L);
    if (had > 0)
        curl_easy_setopt(h, CURLOPT_RESUME_FROM, had);
    e = curl_easy_perform(h);
    curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &status);
    if (fclose(f) != 0)
        e = CURLE_WRITE_ERROR;
    curl_slist_free_all(headers);
    if (e == CURLE_OK)
        return status;
    snprintf(reason, REASON_TEXT, "the document can't be fetched: %s", curl_easy_strerror(e));
    return 0;
}

bool api_download(const char *url, const char *file, const char *sha256, char reason[REASON_TEXT])
{
    unlink(file);
    for (int i = 0; i < TRIES; i++) {
        if (i)
            nap_ms(500 << i);
        if (fetch(url, file, reason) < 200)
            continue;
        if (hash_is(file, sha256))
            return true;
        unlink(file); /* damaged on its way */
        snprintf(reason, REASON_TEXT, "the document arrives damaged");
    }
    return false;
}
