/* stream.c - the station's stream of signals (Server-Sent Events), held open by a thread. A
 * signal only says: look. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

#include "station.h"

enum {
    LINE_TEXT = 4096,
    SILENT_S = 45, /* without a sign of life the stream is opened again */
    BACK_MS = 1000, /* first wait after a failure; doubled */
    BACK_MAX_MS = 60000 /* longest wait */
};

struct frames { /* what has come of the present frame */
    char line[LINE_TEXT], event[64], data[LINE_TEXT], last_id[24];
    size_t n;
    bool any;
};

static void stream_take_frame(struct frames *f)
{
    if (!strcmp(f->event, "superseded")) {
        session_superseded();
    } else if (!strcmp(f->event, "print_job.cancel")) {
        cJSON *o = cJSON_Parse(f->data);

        job_cancel(member_text(o, "job_id", ""));
        cJSON_Delete(o);
    }
    if (f->event[0])
        session_poke();
    f->event[0] = f->data[0] = 0;
}

static void stream_take_line(struct frames *f)
{
    if (!f->line[0])
        stream_take_frame(f);
    else if (!strncmp(f->line, "event: ", 7))
        snprintf(f->event, sizeof(f->event), "%.60s", f->line + 7);
    else if (!strncmp(f->line, "data: ", 6))
        snprintf(f->data, sizeof(f->data), "%s", f->line + 6);
    else if (!strncmp(f->line, "id: ", 4))
        snprintf(f->last_id, sizeof(f->last_id), "%.20s", f->line + 4);
}

static size_t stream_receive(char *p, size_t size, size_t n, void *arg)
{
    struct frames *f = arg;

    f->any = true;
    for (size_t i = 0; i < size * n; i++) {
        if (p[i] == '\n') {
            f->line[f->n] = 0;
            f->n = 0;
            stream_take_line(f);
        } else if (p[i] != '\r' && f->n + 1 < sizeof(f->line)) {
            f->line[f->n++] = p[i];
        }
    }
    return size * n;
}

static int stream_give_up(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    char now[ID_TEXT];

    session_copy(now);
    return session_ending() || strcmp(now, arg) != 0;
}

static void stream_follow(struct frames *f, const char *session)
{
    char path[300], last[60];
    struct curl_slist *headers;
    CURL *h;

    snprintf(path, sizeof(path), "/v1/cloud-printing/stations/%s/stream?session_id=%s",
        settings.station_id, session);
    h = api_handle(path, &headers);
    headers = curl_slist_append(headers, "Accept: text/event-stream");
    snprintf(last, sizeof(last), "Last-Event-ID: %s", f->last_id);
    if (f->last_id[0])
        headers = curl_slist_append(headers, last);
    curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, stream_receive);
    curl_easy_setopt(h, CURLOPT_WRITEDATA, f);
    curl_easy_setopt(h, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1L); /* the server says something each 15 s */
    curl_easy_setopt(h, CURLOPT_LOW_SPEED_TIME, (long)SILENT_S);
    curl_easy_setopt(h, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(h, CURLOPT_XFERINFOFUNCTION, stream_give_up);
    curl_easy_setopt(h, CURLOPT_XFERINFODATA, session);
    f->any = false;
    f->n = 0;
    curl_easy_perform(h);
    curl_slist_free_all(headers);
}

static void *stream_main(void *arg)
{
    static struct frames f;
    int back = BACK_MS;

    (void)arg;
    while (!session_ending()) {
        char session[ID_TEXT];

        session_copy(session);
        if (session[0])
            stream_follow(&f, session);
        back = f.any ? BACK_MS : back * 2 > BACK_MAX_MS ? BACK_MAX_MS : back * 2;
        session_poke(); /* what was missed while nobody listened is found by looking */
        for (int waited = 0, pause = between(back / 2, back); waited < pause && !session_ending();
             waited += 50)
            nap_ms(50);
    }
    return NULL;
}

void stream_start(void)
{
    pthread_t t;

    if (pthread_create(&t, NULL, stream_main, NULL) != 0)
        abort();
    pthread_detach(t);
}
