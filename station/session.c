/* session.c - the loop: a session at the server, claims when something may be there, heartbeats,
 * a clean end (spec 04 sections 9.3 and 10.1). */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "station.h"

enum {
    CALL_S = 30, /* one request */
    LOOK_S = 20, /* between two claims when the server tells of no job */
    REFRESH_S = 10, /* between two rounds that ask the known printers how they are */
    END_S = 20, /* the end may take */
    BACK_MS = 1000, /* first wait after a failure; doubled by each */
    BACK_MAX_MS = 60000,
    CLAIM_MAX = 16 /* jobs of one claim */
};

char session_id[ID_TEXT];
pthread_mutex_t session_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t poked = PTHREAD_COND_INITIALIZER;
static bool look = true, superseded;
static volatile sig_atomic_t ending;

void session_copy(char to[ID_TEXT])
{
    pthread_mutex_lock(&session_lock);
    memcpy(to, session_id, ID_TEXT);
    pthread_mutex_unlock(&session_lock);
}

void session_poke(void)
{
    pthread_mutex_lock(&session_lock);
    look = true;
    pthread_cond_signal(&poked);
    pthread_mutex_unlock(&session_lock);
}

void session_superseded(void)
{
    pthread_mutex_lock(&session_lock);
    superseded = true;
    look = true;
    pthread_cond_signal(&poked);
    pthread_mutex_unlock(&session_lock);
}

bool session_ending(void)
{
    return ending != 0;
}

static void session_on_signal(int sig)
{
    (void)sig;
    ending = 1;
}

static void session_add_printers(cJSON *body)
{
    cJSON *list = cJSON_AddArrayToObject(body, "printers");

    pthread_mutex_lock(&printers_lock);
    for (size_t i = 0; i < printers.n; i++)
        cJSON_AddItemToArray(list, printer_json(&printers.list[i], false));
    pthread_mutex_unlock(&printers_lock);
}

static void station_path(char *to, size_t size, const char *what)
{
    snprintf(to, size, "/v1/cloud-printing/stations/%s/%s", settings.station_id, what);
}

/* ---- opening ---- */

static cJSON *open_body(void)
{
    cJSON *body = cJSON_CreateObject(), *agent = cJSON_AddObjectToObject(body, "agent");
    struct utsname u;

    uname(&u);
    cJSON_AddStringToObject(agent, "name", "wharf-station");
    cJSON_AddStringToObject(agent, "version", AGENT_VERSION);
    cJSON_AddStringToObject(agent, "os", u.sysname);
    cJSON_AddStringToObject(agent, "hostname", u.nodename);
    session_add_printers(body);
    return body;
}

static void learn_ids(const cJSON *list)
{
    const cJSON *e;

    pthread_mutex_lock(&printers_lock);
    cJSON_ArrayForEach(e, list) {
        for (size_t i = 0; i < printers.n; i++) {
            if (!strcmp(member_text(e, "name", ""), printers.list[i].name))
                snprintf(printers.list[i].id, sizeof(printers.list[i].id), "%s",
                    member_text(e, "id", ""));
        }
    }
    pthread_mutex_unlock(&printers_lock);
}

/* Opens a session. Returns 1: open; 0: later; -1: never, and told. */
static int open_session(int *ret_heartbeat_s)
{
    char path[200];
    struct answer a;
    int result;

    station_path(path, sizeof(path), "sessions");
    api_call("POST", path, open_body(), CALL_S, &a);
    if (a.status == 201)
        learn_ids(member(member(a.data, "station"), "printers"));
    result = a.status == 201 ? 1 : a.status == 0 || a.status >= 500 || a.status == 429 ? 0 : -1;
    if (result > 0) {
        pthread_mutex_lock(&session_lock);
        snprintf(session_id, sizeof(session_id), "%s", member_text(a.data, "session_id", ""));
        superseded = false;
        look = true;
        pthread_mutex_unlock(&session_lock);
        *ret_heartbeat_s = member_int(a.data, "heartbeat_interval", 30);
        say(NULL, "connected to %s as %s", settings.server, settings.station_id);
    } else {
        say(NULL, "%s: %s",
            result ? "the server refuses the session" : "the server does not answer", a.message);
    }
    answer_done(&a);
    return result;
}

/* ---- claims ---- */

/* Makes the body of a claim for the printers that answer. Returns NULL when none does. */
static cJSON *claim_body(size_t room)
{
    cJSON *body = cJSON_CreateObject(), *list;
    char session[ID_TEXT];

    session_copy(session);
    cJSON_AddStringToObject(body, "session_id", session);
    cJSON_AddNumberToObject(body, "max", room < CLAIM_MAX ? (int)room : CLAIM_MAX);
    list = cJSON_AddArrayToObject(body, "printer_ids");
    pthread_mutex_lock(&printers_lock);
    for (size_t i = 0; i < printers.n; i++) {
        if (strcmp(printers.list[i].status, "offline") != 0 && printers.list[i].id[0])
            cJSON_AddItemToArray(list, cJSON_CreateString(printers.list[i].id));
    }
    pthread_mutex_unlock(&printers_lock);
    if (cJSON_GetArraySize(list) > 0)
        return body;
    cJSON_Delete(body);
    return NULL;
}

/* Claims jobs. Returns how many were taken; -1: the session is over. */
static int session_claim(void)
{
    size_t room = JOBS_MAX - jobs_running();
    cJSON *body = room ? claim_body(room) : NULL, *list, *job;
    struct answer a;
    char path[200];
    int n = 0;

    if (!body)
        return 0;
    station_path(path, sizeof(path), "claim");
    api_call("POST", path, body, CALL_S, &a);
    list = a.status == 200 ? cJSON_GetObjectItemCaseSensitive(a.data, "jobs") : NULL;
    while ((job = cJSON_DetachItemFromArray(list, 0)))
        n += job_begin(job);
    if (a.status == 409)
        n = -1;
    answer_done(&a);
    return n;
}

/* ---- heartbeats ---- */

static cJSON *heartbeat_body(void)
{
    cJSON *body = cJSON_CreateObject(), *list;
    char session[ID_TEXT];

    session_copy(session);
    cJSON_AddStringToObject(body, "session_id", session);
    session_add_printers(body);
    list = cJSON_AddArrayToObject(body, "jobs");
    pthread_mutex_lock(&jobs_lock);
    for (size_t i = 0; i < JOBS_MAX; i++) {
        if (jobs[i].used && jobs[i].record.step < STEP_FINAL)
            job_refer(list, &jobs[i].record);
    }
    pthread_mutex_unlock(&jobs_lock);
    return body;
}

/* Sends a heartbeat. Returns false when the session is over. */
static bool heartbeat(void)
{
    char path[200];
    const cJSON *list, *e;
    struct answer a;
    bool good;

    station_path(path, sizeof(path), "heartbeat");
    api_call("POST", path, heartbeat_body(), CALL_S, &a);
    good = a.status != 409;
    list = a.status == 200 ? member(a.data, "cancel") : NULL;
    cJSON_ArrayForEach(e, list) {
        if (cJSON_IsString(e))
            job_cancel(e->valuestring);
    }
    answer_done(&a);
    return good;
}

/* ---- the end ---- */

static void close_session(void)
{
    int64_t until = now_us() + END_S * SECOND_US * 3 / 4;
    char path[200], what[80], session[ID_TEXT];
    struct answer a;

    while (jobs_running() && now_us() < until)
        nap_ms(50);
    if (jobs_running())
        say(NULL, "%zu jobs are at their printers; they are watched on at the next start",
            jobs_running());
    session_copy(session);
    if (!session[0])
        return;
    snprintf(what, sizeof(what), "sessions/%s", session);
    station_path(path, sizeof(path), what);
    api_call("DELETE", path, NULL, 5, &a);
    answer_done(&a);
    say(NULL, "disconnected");
}

static void session_take_up(void)
{
    struct record *list;
    size_t n = journal_left(&list);

    for (size_t i = 0; i < n; i++) {
        if (list[i].step == STEP_CLAIMED) { /* the session that is open now gave it back */
            list[i].step = STEP_REPORTED;
            journal_write(&list[i]);
        } else {
            job_resume(&list[i]);
        }
    }
}

/* Waits until something may be there, or the next heartbeat. */
static bool wait_for_news(int64_t until_us)
{
    int64_t left = until_us - now_us();
    struct timespec t;
    bool news;

    clock_gettime(CLOCK_REALTIME, &t);
    left = left < 0 ? 0 : left > SECOND_US / 4 ? SECOND_US / 4 : left; /* signals are looked at */
    t.tv_nsec += (long)left * 1000;
    t.tv_sec += t.tv_nsec / 1000000000L;
    t.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&session_lock);
    if (!look && !ending)
        pthread_cond_timedwait(&poked, &session_lock, &t);
    news = look;
    look = false;
    pthread_mutex_unlock(&session_lock);
    return news;
}

static bool is_superseded(void)
{
    bool s;

    pthread_mutex_lock(&session_lock);
    s = superseded;
    pthread_mutex_unlock(&session_lock);
    return s;
}

/* Runs a session from when it is open to its end. */
static void run_session(int heartbeat_s, bool once)
{
    int64_t beat_us = now_us() + heartbeat_s * SECOND_US, look_us = 0,
            refresh_us = now_us() + REFRESH_S * SECOND_US;

    while (!ending) {
        int64_t next = beat_us < refresh_us ? beat_us : refresh_us;
        bool news = wait_for_news(next) || now_us() >= look_us;
        int n = 0;

        if (is_superseded()) {
            say(NULL, "another agent took this station over; ending");
            while (jobs_running() && !ending)
                nap_ms(100);
            session_id[0] = 0;
            return;
        }
        if (news) {
            look_us = now_us() + LOOK_S * SECOND_US;
            n = session_claim();
        }
        if (n < 0) {
            session_superseded();
            continue;
        }
        if (n > 0)
            session_poke(); /* maybe there are more */
        if (now_us() >= refresh_us) {
            refresh_us = now_us() + REFRESH_S * SECOND_US;
            if (printers_refresh()) {
                beat_us = 0;
                session_poke(); /* maybe one is back */
            }
        }
        if (printers_reported())
            beat_us = 0;
        if (now_us() >= beat_us) {
            beat_us = now_us() + heartbeat_s * SECOND_US;
            if (!heartbeat())
                session_superseded();
        }
        if (once && news && !n && !jobs_running())
            return;
    }
}

int session_run(bool once)
{
    struct sigaction sa = {.sa_handler = session_on_signal};
    int back = BACK_MS, heartbeat_s = 30, opened = 0;

    sigaction(SIGTERM, &sa, NULL);
    sigaction(SIGINT, &sa, NULL);
    signal(SIGPIPE, SIG_IGN);
    while (opened <= 0 && !ending) {
        opened = open_session(&heartbeat_s);
        if (opened < 0)
            return 1;
        if (!opened) {
            int pause = between(back / 2, back);

            for (int waited = 0; waited < pause && !ending; waited += 50)
                nap_ms(50);
            back = back * 2 > BACK_MAX_MS ? BACK_MAX_MS : back * 2;
            continue;
        }
        session_take_up();
        stream_start();
        run_session(heartbeat_s, once);
    }
    ending = 1;
    close_session();
    return 0;
}
