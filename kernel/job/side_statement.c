/* side_statement.c - see side_statement.h. */
#include "job/side_statement.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "resource/request.h"

enum state { SIDE_IDLE, SIDE_ASKED, SIDE_OVER };

struct side_statement {
    pthread_t id;
    /* of state and ends; the rest belongs to the thread while state is ASIDE_ASKED, else to the
     * caller */
    pthread_mutex_t lock;
    pthread_cond_t asked;
    enum state state;
    bool ends;
    struct db_conn *db;
    struct waker *wake;
    char *memory; /* of the texts */
    const char *sql;
    struct sql_arg *args, organizations[2];
    size_t n_args;
    PGresult *result;
    struct db_error error;
};

/* Runs the statement. Returns its result when it was committed, else NULL. */
static PGresult *side_statement_run_committed(struct side_statement *a)
{
    const struct db_statement statements[] = {
        {plugin_role_sql, a->organizations, 2},
        {a->sql, a->args, a->n_args},
    };

    return db_run_whole(a->db, statements, 2, &a->error);
}

static void *side_statement_main(void *arg)
{
    struct side_statement *a = arg;

    pthread_mutex_lock(&a->lock);
    while (!a->ends) {
        if (a->state != SIDE_ASKED) {
            pthread_cond_wait(&a->asked, &a->lock);
            continue;
        }
        pthread_mutex_unlock(&a->lock);
        a->result = side_statement_run_committed(a);
        pthread_mutex_lock(&a->lock);
        a->state = SIDE_OVER;
        waker_nudge(a->wake);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

struct side_statement *side_statement_new(const struct db_conn *beside, struct waker *wake)
{
    struct side_statement *a = calloc(1, sizeof(*a));

    if (!a)
        abort();
    a->db = db_another(beside, true);
    a->wake = wake;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->asked, NULL);
    if (pthread_create(&a->id, NULL, side_statement_main, a) != 0)
        abort();
    return a;
}

void side_statement_free(struct side_statement *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->ends = true;
    pthread_cond_signal(&a->asked);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->id, NULL);
    PQclear(a->result);
    db_close(a->db);
    free(a->memory);
    pthread_cond_destroy(&a->asked);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

static wharf_str side_statement_kept(char **to, const char *p, size_t n)
{
    wharf_str s = {*to, n};

    memcpy(*to, p, n);
    (*to)[n] = 0;
    *to += n + 1;
    return s;
}

/* Keeps all that was asked for in one block: the arguments, then the texts. */
static void side_statement_keep(struct side_statement *a, const struct access *who, const char *sql,
    const struct sql_arg *args, size_t n_args)
{
    wharf_str organizations[2] = {who->organization, who->live_organization};
    size_t bytes = n_args * sizeof(*args) + strlen(sql) + 1 + organizations[0].n + 1 +
                   organizations[1].n + 1;
    char *to;

    for (size_t i = 0; i < n_args; i++)
        bytes += args[i].n + 1;
    free(a->memory);
    a->memory = malloc(bytes);
    if (!a->memory)
        abort();
    a->args = (struct sql_arg *)(void *)a->memory;
    to = a->memory + n_args * sizeof(*args);
    for (size_t i = 0; i < n_args; i++) {
        wharf_str s = args[i].p ? side_statement_kept(&to, args[i].p, args[i].n)
                                : (wharf_str){NULL, 0};

        a->args[i] = (struct sql_arg){s.p, s.n};
    }
    for (size_t i = 0; i < 2; i++) {
        wharf_str s = side_statement_kept(
            &to, organizations[i].p ? organizations[i].p : "", organizations[i].n);

        a->organizations[i] = (struct sql_arg){s.p, s.n};
    }
    a->sql = side_statement_kept(&to, sql, strlen(sql)).p;
    a->n_args = n_args;
}

bool side_statement_ask(struct side_statement *a, const struct access *who, const char *sql,
    const struct sql_arg *args, size_t n_args)
{
    bool idle;

    pthread_mutex_lock(&a->lock);
    idle = a->state == SIDE_IDLE;
    if (idle) {
        side_statement_keep(a, who, sql, args, n_args);
        a->state = SIDE_ASKED;
        pthread_cond_signal(&a->asked);
    }
    pthread_mutex_unlock(&a->lock);
    return idle;
}

bool side_statement_take(
    struct side_statement *a, PGresult **ret_result, struct db_error *ret_error)
{
    bool over;

    pthread_mutex_lock(&a->lock);
    over = a->state == SIDE_OVER;
    if (over) {
        *ret_result = a->result;
        *ret_error = a->error;
        a->result = NULL;
        a->state = SIDE_IDLE;
    }
    pthread_mutex_unlock(&a->lock);
    return over;
}
