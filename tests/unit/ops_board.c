/* ops_board.c - shared memory: activities, counters of two processes, the metrics text. */
#include "unit.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/board.h"

static void activities(void **state)
{
    int fd;
    struct board *b = board_create(&fd), *other;
    struct activity *c = &b->workers[3].activities[1], *seen;

    assert_non_null(b);
    other = board_map(fd);
    seen = &other->workers[3].activities[1];
    activity_enter(c, "stations",
        "create print_station with a name that is longer than the place for it", "req_1", 99);
    assert_true(atomic_load(&seen->since_us) > 0);
    assert_int_equal(atomic_load(&seen->deadline_us), 99);
    assert_string_equal(seen->plugin, "stations");
    assert_string_equal(seen->request_id, "req_1");
    assert_int_equal(strlen(seen->what), BOARD_TEXT - 1);
    activity_leave(c);
    assert_int_equal(atomic_load(&seen->since_us), 0);
    close(fd);
}

static void routes(void **state)
{
    int fd;
    struct board *b = board_create(&fd);
    struct board_route *get = board_route(b, "GET", "/v1/locations", "locations"), *r;

    assert_ptr_equal(board_route(b, "GET", "/v1/locations", "locations"), get);
    assert_ptr_not_equal(board_route(b, "POST", "/v1/locations", "locations"), get);
    for (int i = 0; i < BOARD_ROUTES; i++) {
        char path[32];

        snprintf(path, sizeof(path), "/v1/r%d", i);
        r = board_route(b, "GET", path, "x");
        assert_true((r != NULL) == (i < BOARD_ROUTES - 2));
    }
    board_count(NULL, 200, 1);
    close(fd);
}

/* Two processes add the same routes at once: each route has one row, and no count is lost. */
static void two_processes(void **state)
{
    enum { ROUTES = 200, COUNTS = 50 };
    int fd, status;
    struct board *b = board_create(&fd);
    uint64_t sum = 0;
    pid_t child = fork();
    char path[32];

    for (int i = 0; i < ROUTES * COUNTS; i++) {
        snprintf(path, sizeof(path), "/v1/r%d", i % ROUTES);
        board_count(board_route(b, "GET", path, "x"), 200, 10);
    }
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, &status, 0), child);
    for (int i = 0; i < ROUTES; i++) {
        snprintf(path, sizeof(path), "/v1/r%d", i);
        sum += atomic_load(&board_route(b, "GET", path, "x")->by_status[2]);
    }
    assert_int_equal(sum, 2 * ROUTES * COUNTS);
    close(fd);
}

static void metrics(void **state)
{
    int fd;
    struct board *b = board_create(&fd);
    struct board_route *r = board_route(b, "GET", "/v1/items/:item", "items");
    struct buf out;

    board_count(r, 200, 1000); /* 1 ms: the first bucket, its bound included */
    board_count(r, 404, 1001); /* the second */
    board_count(r, 200, 99000000); /* +Inf */
    board_db_observe(b, 400);
    atomic_fetch_add(&b->auth_failures[1], 3);
    buf_init(&out, 1 << 20);
    board_metrics(b, &out);
    assert_non_null(strstr(out.p, "\nwharf_http_requests_total{route=\"/v1/items/"
                                  ":item\",method=\"GET\",status=\"2xx\",module=\"items\"} 2\n"));
    assert_non_null(strstr(out.p, "status=\"4xx\",module=\"items\"} 1\n"));
    assert_non_null(strstr(out.p, "wharf_http_request_duration_seconds_bucket{route=\"/v1/items/"
                                  ":item\",method=\"GET\",le=\"0.001\"} 1\n"));
    assert_non_null(strstr(out.p, "method=\"GET\",le=\"0.002\"} 2\n"));
    assert_non_null(strstr(out.p, "method=\"GET\",le=\"5\"} 2\n"));
    assert_non_null(strstr(out.p, "method=\"GET\",le=\"+Inf\"} 3\n"));
    assert_non_null(strstr(out.p,
        "wharf_http_request_duration_seconds_sum{route=\"/v1/items/:item\",method=\"GET\"} "
        "99.002001\n"));
    assert_non_null(strstr(out.p, "wharf_db_query_duration_seconds_count 1\n"));
    assert_non_null(strstr(out.p, "wharf_auth_failures_total{code=\"api_key.invalid\"} 3\n"));
    assert_non_null(strstr(out.p, "wharf_build_info{version=\""));
    buf_done(&out);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(activities), UNIT(routes), UNIT(two_processes), UNIT(metrics)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
