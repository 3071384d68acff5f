/* testing.h - runs the cases of test files (docs/spec/08-workflows-and-lua.md section 8): the
 * engine of `wharf lua test`, and of the tests that a workflow passes before it is published, in
 * a cell.
 *
 * Nothing outside is asked but the rules of time zones: clock, randomness, keys and answers are
 * what the case says. Each case has a state of its own, and each test.run in it another one,
 * with the limits of the handler's kind. The same files, seed and samples give the same
 * bytes, but for addresses that a test prints (tostring of a table). Time is not limited here:
 * who calls ends the process. */
#ifndef WHARF_LUA_TESTING_TESTING_H
#define WHARF_LUA_TESTING_TESTING_H

#include "lua/sandbox/sandbox.h"
#include "util/json.h"

struct testing {
    const struct sandbox_file *files; /* all there are, tests too; of a workflow with "main" */
    size_t n_files;
    const char *test; /* the file whose cases run: "main_test" */
    /* the files are an operator's: NAME_test is about the hook file NAME, or about all */
    bool hooks;
    bool update; /* test.snapshot notes instead of comparing */
    const char *filter; /* only cases with this text in their names; NULL: all */
    /* {"events": {type: {"resource_type", "data"}}, "resources": {name: row}, "left_out": {name of
     * a resource: [fields that workflows' hooks are not shown]}}; NULL: there are none */
    const struct wharf_json *samples;
    /* what is said of the workflow: {"settings", "scopes", "http_hosts"}, and {"routes":
     * ["GET /v1/locations/:location locations:read", …]} by which scopes are known; NULL: nothing
     * is, and nothing is refused for it */
    const struct wharf_json *workflow;
    uint64_t seed;
    bool (*zone)(void *arg, const char *name, wharf_str *ret_bytes); /* as of sandbox_host */
    void (*line)(void *arg, const char *file, int line); /* as of sandbox_config; or NULL */
    void *arg;
    /* NULL, or: calls of the API that the case does not answer go there. path has its query;
     * body may be empty. The status (0: no answer) and the text of the answer, which is good
     * until the next call. */
    int (*live)(
        void *arg, const char *method, const char *path, wharf_str body, wharf_str *ret_text);
};

/* Tells whether this is the name of a test file. */
bool testing_is_test(const char *name);

/* Makes one run as a case makes it, with the answers of t->test (a file of test.api(…) and its
 * like; NULL: none). input: JSON. Appends {"result"} as test.run gives it, or {"error"}. */
bool testing_once(const struct testing *t, const char *handler, wharf_str input, struct buf *out);

/* Appends one object: {"file", "cases": [{"name", "line", "status", "error"?, "runs"?}], "error"?,
 * "snapshots"?}; status is passed, failed or skipped; runs of a failed case: {"handler", "status",
 * "error"?, "logs"} of each; the outer error says why the file could not be loaded. Errors are as
 * sandbox_error_json tells them. False: not enough memory. */
bool testing_run(const struct testing *t, struct buf *out);

#endif
