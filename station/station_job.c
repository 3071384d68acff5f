/* station_job.c - one job from claim to report, on a thread of its own (spec 04 sections 10.3
 * and 10.4). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "station.h"

enum {
    CALL_S = 30, /* one request */
    BACK_MS = 500, /* first wait after a failure; doubled */
    BACK_MAX_MS = 60000, /* longest wait */
    SUBMIT_TRIES_S = 60 /* the server is told that a job goes to the printer */
};

pthread_mutex_t jobs_lock = PTHREAD_MUTEX_INITIALIZER;
struct job jobs[JOBS_MAX];

void text_tidy(char *text)
{
    size_t n = strlen(text), to = 0, step;
    uint32_t c;

    for (size_t i = 0; i < n; i += step) {
        size_t good = utf8_step(text + i, n - i, &c);

        step = good ? good : 1;
        if (!good || c < ' ' || (c >= 0x7f && c < 0xa0)) {
            text[to++] = good ? ' ' : '?';
            continue;
        }
        memmove(text + to, text + i, step);
        to += step;
    }
    text[to] = 0;
}

void outcome_set(struct outcome *o, const char *status, const char *code, const char *fmt, ...)
{
    va_list ap;

    o->status = status;
    o->code = code;
    o->confidence = NULL;
    va_start(ap, fmt);
    vsnprintf(o->reason, sizeof(o->reason), fmt, ap);
    va_end(ap);
    text_tidy(o->reason);
}

/* ---- telling the server ---- */

/* Adds why the printer stands still. */
static void add_reasons(cJSON *body, const struct printer *p)
{
    cJSON *list = cJSON_AddArrayToObject(body, "printer_state_reasons");

    pthread_mutex_lock(&printers_lock);
    for (size_t i = 0; i < p->n_reasons; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(p->reasons[i]));
    pthread_mutex_unlock(&printers_lock);
}

static cJSON *report_body(const struct job *j, const char *stage)
{
    const struct record *r = &j->record;
    cJSON *body = cJSON_CreateObject();
    char session[ID_TEXT];

    session_copy(session);
    cJSON_AddStringToObject(body, "status", stage ? "processing" : r->outcome);
    cJSON_AddStringToObject(body, "session_id", session);
    cJSON_AddNumberToObject(body, "attempt", r->attempt);
    if (stage)
        cJSON_AddStringToObject(body, "stage", stage);
    if (stage && !strcmp(stage, "blocked"))
        add_reasons(body, j->printer);
    if (!stage && r->reason[0])
        cJSON_AddStringToObject(body, "reason", r->reason);
    if (!stage && r->code[0])
        cJSON_AddStringToObject(body, "reason_code", r->code);
    if (!stage && r->confidence[0] && !strcmp(r->outcome, "completed"))
        cJSON_AddStringToObject(body, "confidence", r->confidence);
    if (j->pages_done)
        cJSON_AddNumberToObject(
            cJSON_AddObjectToObject(body, "progress"), "pages_completed", j->pages_done);
    return body;
}

/* Tells the server a stage. Returns 200: told; 409 and the like: the server knows better; 0 and
 * 5xx: not told. */
static long station_job_tell(const struct job *j, const char *stage, char *ret_code, size_t size)
{
    char path[120];
    struct answer a;
    long status;

    snprintf(path, sizeof(path), "/v1/cloud-printing/jobs/%s", j->record.id);
    api_call("POST", path, report_body(j, stage), CALL_S, &a);
    status = a.status;
    snprintf(ret_code, size, "%s", a.code);
    answer_done(&a);
    return status;
}

static bool station_job_later(long status)
{
    return status == 0 || status == 429 || status >= 500;
}

bool job_tell_stage(struct job *j, const char *stage)
{
    char code[80];
    long status = station_job_tell(j, stage, code, sizeof(code));

    if (status == 200)
        snprintf(j->stage, sizeof(j->stage), "%s", stage);
    return status == 200;
}

static void station_job_report(struct job *j)
{
    char code[80], session[ID_TEXT], before[ID_TEXT];
    int back = BACK_MS;
    long status;

    for (;;) {
        session_copy(session);
        status = station_job_tell(j, NULL, code, sizeof(code));
        if (!station_job_later(status)) {
            session_copy(before);
            if (status != 409 || strcmp(code, "print_job.session_mismatch") != 0 ||
                !strcmp(session, before))
                break;
        }
        if (session_ending())
            return; /* the journal knows it */
        nap_ms(back);
        back = back * 2 > BACK_MAX_MS ? BACK_MAX_MS : back * 2;
    }
    if (status != 200)
        say(j->printer ? j->printer->name : NULL,
            "%s: the server does not take the report \"%s\" (%s)", j->record.id, j->record.outcome,
            code);
    fault_point("reported");
    j->record.step = STEP_REPORTED;
    journal_write(&j->record);
}

/* ---- submitting ---- */

bool job_may_submit(struct job *j)
{
    int64_t until = now_us() + SUBMIT_TRIES_S * SECOND_US;
    char code[80];
    long status;

    if (settings.dry_run) {
        say(j->printer->name, "%s would be sent now", j->record.id);
        return false;
    }
    if (atomic_load(&j->cancel) || session_ending())
        return false;
    j->record.step = STEP_SUBMITTING;
    journal_write(&j->record);
    fault_point("journaled");
    do {
        status = station_job_tell(j, "submitting", code, sizeof(code));
        if (status == 200) {
            snprintf(j->stage, sizeof(j->stage), "submitting");
            fault_point("told");
            return true;
        }
        nap_ms(station_job_later(status) ? BACK_MS : 0);
    } while (station_job_later(status) && now_us() < until && !session_ending());
    /* no byte went out; whether the server heard of it decides whether it hands the job out
     * again */
    j->record.step = STEP_CLAIMED;
    journal_write(&j->record);
    return false;
}

void job_submitted(struct job *j, int device_job)
{
    j->record.step = STEP_SUBMITTED;
    j->record.device_job = device_job;
    journal_write(&j->record);
    fault_point("submitted");
}

/* ---- ends ---- */

void job_refer(cJSON *list, const struct record *r)
{
    cJSON *o = cJSON_CreateObject();

    cJSON_AddStringToObject(o, "id", r->id);
    cJSON_AddNumberToObject(o, "attempt", r->attempt);
    cJSON_AddItemToArray(list, o);
}

static void station_job_give_back(struct job *j)
{
    cJSON *body = cJSON_CreateObject();
    char path[120], session[ID_TEXT];
    struct answer a;

    session_copy(session);
    snprintf(path, sizeof(path), "/v1/cloud-printing/stations/%s/release", settings.station_id);
    cJSON_AddStringToObject(body, "session_id", session);
    job_refer(cJSON_AddArrayToObject(body, "jobs"), &j->record);
    api_call("POST", path, body, CALL_S, &a); /* not taken: the lease gives it back */
    answer_done(&a);
    j->record.step = STEP_REPORTED;
    journal_write(&j->record);
}

static void station_job_end(struct job *j, const struct outcome *o)
{
    const char *about = j->printer ? j->printer->name : j->record.printer;

    if (!o->status) {
        say(about, "%s is given back%s%s", j->record.id, o->reason[0] ? ": " : "", o->reason);
        station_job_give_back(j);
        return;
    }
    snprintf(j->record.outcome, sizeof(j->record.outcome), "%s", o->status);
    snprintf(j->record.confidence, sizeof(j->record.confidence), "%s",
        o->confidence ? o->confidence : "");
    snprintf(j->record.code, sizeof(j->record.code), "%s", o->code ? o->code : "");
    snprintf(j->record.reason, sizeof(j->record.reason), "%s", o->reason);
    j->record.step = STEP_FINAL;
    journal_write(&j->record);
    fault_point("final");
    say(about, "%s %s%s%s", j->record.id, o->status, o->reason[0] ? ": " : "", o->reason);
    station_job_report(j);
}

/* ---- the way ---- */

static bool download(struct job *j, struct outcome *o)
{
    if (api_download(member_text(j->claim, "document_url", ""), j->file,
            member_text(j->claim, "document_sha256", ""), o->reason))
        return true;
    o->status = NULL;
    return false;
}

static void print(struct job *j, struct outcome *o)
{
    if (!j->printer) {
        outcome_set(
            o, "failed", "submit", "this station has no printer \"%.150s\"", j->record.printer);
        return;
    }
    if (!download(j, o))
        return;
    fault_point("downloaded");
    if (j->printer->route == ROUTE_SOCKET)
        socket_print(j, o);
    else if (ipp_submit(j, o))
        ipp_watch(j, o);
    if (!o->status && atomic_load(&j->cancel))
        outcome_set(o, "canceled", NULL, "%s", "");
}

/* Fetches the claim after a crash while the job was submitted: it is found at the printer, or
 * printed after all when it surely is not there. */
static bool fetch_claim(struct job *j)
{
    char path[120];
    struct answer a;
    bool ours;

    snprintf(path, sizeof(path), "/v1/cloud-printing/jobs/%s", j->record.id);
    api_call("GET", path, NULL, CALL_S, &a);
    ours = a.status == 200 && member_int(a.data, "attempt", 0) == j->record.attempt &&
           !strcmp(member_text(a.data, "status", ""), "processing");
    if (ours)
        j->claim = a.data;
    else
        answer_done(&a);
    return ours;
}

static void print_again(struct job *j, struct outcome *o)
{
    char url[160];

    outcome_set(o, "unreported", "unknown", "the agent ended while the job was sent");
    if (!fetch_claim(j))
        return;
    snprintf(url, sizeof(url), "/v1/cloud-printing/jobs/%s/document?prepared=true", j->record.id);
    if (!api_download(url, j->file, "", o->reason)) {
        outcome_set(o, "failed", "document_fetch",
            "the agent ended before the job was sent, and its document can't be fetched again");
        return;
    }
    say(j->printer->name, "%s did not reach the printer before the agent ended; it is sent now",
        j->record.id);
    if (ipp_submit(j, o))
        ipp_watch(j, o);
    if (!o->status)
        outcome_set(o, "failed", "submit",
            "the agent ended before the job was sent, and the printer is away now");
}

static void station_job_resume(struct job *j, struct outcome *o)
{
    int found, device_job = 0;

    if (!j->printer || j->printer->route == ROUTE_SOCKET) {
        outcome_set(o, "unreported", "unknown", "the agent ended while the job was sent");
        return;
    }
    if (j->record.step == STEP_SUBMITTED) {
        ipp_watch(j, o);
        return;
    }
    found = ipp_search(j, &device_job);
    if (found > 0) {
        job_submitted(j, device_job);
        ipp_watch(j, o);
    } else if (found == 0) {
        print_again(j, o);
    } else {
        outcome_set(o, "unreported", "unknown",
            "the agent ended while the job was sent, and the printer can't tell whether it came");
    }
}

static void *job_main(void *arg)
{
    struct job *j = arg;
    struct outcome o = {.status = NULL};

    if (j->record.step == STEP_FINAL) {
        station_job_report(j);
    } else {
        if (j->claim)
            print(j, &o);
        else
            station_job_resume(j, &o);
        station_job_end(j, &o);
    }
    unlink(j->file);
    cJSON_Delete(j->claim);
    pthread_mutex_lock(&jobs_lock);
    j->used = false;
    pthread_mutex_unlock(&jobs_lock);
    session_poke();
    return NULL;
}

static struct job *station_job_take_place(void)
{
    struct job *j = NULL;

    pthread_mutex_lock(&jobs_lock);
    for (size_t i = 0; i < JOBS_MAX && !j; i++)
        j = jobs[i].used ? NULL : &jobs[i];
    if (j) {
        memset(j, 0, sizeof(*j));
        j->used = true;
    }
    pthread_mutex_unlock(&jobs_lock);
    return j;
}

static void station_job_start(struct job *j)
{
    pthread_t t;

    snprintf(j->file, sizeof(j->file), "%.500s/%.40s.%d.doc", settings.spool, j->record.id,
        j->record.attempt);
    j->printer = printer_named(j->record.printer);
    if (pthread_create(&t, NULL, job_main, j) != 0)
        abort();
    pthread_detach(t);
}

bool job_begin(cJSON *claim)
{
    struct job *j = station_job_take_place();

    if (!j) {
        cJSON_Delete(claim);
        return false;
    }
    snprintf(j->record.id, sizeof(j->record.id), "%s", member_text(claim, "id", ""));
    snprintf(
        j->record.printer, sizeof(j->record.printer), "%s", member_text(claim, "printer_name", ""));
    j->record.attempt = member_int(claim, "attempt", 0);
    j->record.step = STEP_CLAIMED;
    j->claim = claim;
    journal_write(&j->record);
    fault_point("claimed");
    say(j->record.printer, "%s claimed: %s", j->record.id, member_text(claim, "name", ""));
    station_job_start(j);
    return true;
}

void job_resume(const struct record *r)
{
    struct job *j = station_job_take_place();

    if (!j)
        return; /* the journal keeps it for the next start */
    j->record = *r;
    say(r->printer, "%s was left behind; going on", r->id);
    station_job_start(j);
}

size_t jobs_running(void)
{
    size_t n = 0;

    pthread_mutex_lock(&jobs_lock);
    for (size_t i = 0; i < JOBS_MAX; i++)
        n += jobs[i].used;
    pthread_mutex_unlock(&jobs_lock);
    return n;
}

void job_cancel(const char *id)
{
    pthread_mutex_lock(&jobs_lock);
    for (size_t i = 0; i < JOBS_MAX; i++) {
        if (jobs[i].used && !strcmp(jobs[i].record.id, id))
            atomic_store(&jobs[i].cancel, true);
    }
    pthread_mutex_unlock(&jobs_lock);
}
