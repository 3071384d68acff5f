/* sheet.c - rows of an XLSX file, read by a `sheet` cell (cells/sheet). Nothing that the cell
 * sends is believed: lengths, order and text are checked here. docs/spec/10-batches.md section
 * 9; the blocks are described in services/import/sheet_wire.h. */
#include <stdio.h>
#include <string.h>

#include "cell/cell.h"
#include "import/reader.h"
#include "import/sheet_wire.h"
#include "import/sheets.h"
#include "util/time.h"
#include "wharf/errors.h"

enum {
    SECOND = 1000000,
    QUIET_US = 30 * SECOND, /* between two blocks of a spreadsheet */
    WAIT_US = 10 * SECOND /* for a free process */
};

const struct cell_kind import_sheet_kind = {.name = "sheet",
    .min = 1,
    .max = 4,
    .calls = 1, /* a file of one tenant never meets a process that saw another's */
    .memory_mib = 640,
    .cpu_s = 120,
    .idle_s = 30,
    .frame_max = SHEET_BLOCK_MAX,
    .log_fd = -1};

static bool sheet_broken(struct import *in)
{
    return problem_set(&in->problem, ERR_FILE_XLSX_INVALID, 0, 0, 0,
        "the spreadsheet can't be read; save it again as XLSX or CSV");
}

/* Returns the code, if it is one that a sheet cell may give; else NULL. */
static const char *known_code(const char *text, size_t n)
{
    static const char *const known[] = {ERR_FILE_XLSX_INVALID, ERR_FILE_TOO_COMPLEX,
        ERR_FILE_ENCRYPTED, ERR_FILE_UNSUPPORTED_TYPE, ERR_PARAM_INVALID};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strlen(known[i]) == n && memcmp(known[i], text, n) == 0)
            return known[i];
    return NULL;
}

static void run_failed(struct import *in, const struct cell_result *result)
{
    const char *colon = strchr(result->reason, ':'),
               *code = colon ? known_code(result->reason, (size_t)(colon - result->reason)) : NULL;

    switch (result->status) {
    case CELL_OK:
        return;
    case CELL_FAILED:
        if (code)
            problem_set(&in->problem, code, 0, 0, 0, "%s", colon + 2);
        else
            sheet_broken(in);
        return;
    case CELL_DEADLINE:
    case CELL_MEMORY:
        problem_set(&in->problem, ERR_FILE_TOO_COMPLEX, 0, 0, 0,
            "the spreadsheet takes too much %s; split it, or send CSV",
            result->status == CELL_MEMORY ? "memory" : "time");
        return;
    case CELL_UNAVAILABLE:
        problem_set(&in->problem, ERR_OVERLOADED, 0, 0, 0, "%s", result->reason);
        return;
    case CELL_CRASHED:
    case CELL_PROTOCOL:
    case CELL_CANCELED:
        sheet_broken(in);
        return;
    }
}

/* Reads the next block into in->sheet.block. Returns 1, 0 at the end, -1 after a problem. */
static int next_block(struct import *in)
{
    struct sheet_rows *s = &in->sheet;

    if (s->ended)
        return 0;
    if (cell_run_next(s->run, true, &s->block) == CELL_EVENT_DATA) {
        s->at = 0;
        return 1;
    }
    s->ended = true;
    if (cell_run_result(s->run)->status == CELL_OK)
        return 0;
    if (cell_run_result(s->run)->status == CELL_CANCELED)
        sheet_broken(in); /* given up below: a question where none belongs */
    run_failed(in, cell_run_result(s->run));
    return -1;
}

bool sheet_open(struct import *in)
{
    struct sheet_rows *s = &in->sheet;
    struct cell_call call = {.payload = str_z(in->options.sheet ? in->options.sheet : ""),
        .fds = &in->bytes.fd,
        .n_fds = 1,
        .quiet_us = QUIET_US,
        .wait_us = WAIT_US};

    if (!in->options.sheets)
        return problem_set(&in->problem, ERR_FILE_UNSUPPORTED_TYPE, 0, 0, 0,
            "spreadsheets can't be read here; send CSV or JSON");
    s->run = cell_run_start(in->options.sheets, &call);
    if (next_block(in) != 1)
        return sheet_broken(in);
    if (s->block.n < 1 || s->block.p[0] != SHEET_NAME ||
        !utf8_valid(s->block.p + 1, s->block.n - 1))
        return sheet_broken(in);
    s->name = arena_dup(in->arena, s->block.p + 1, s->block.n - 1);
    s->at = s->block.n;
    return true;
}

void sheet_close(struct import *in)
{
    cell_run_end(in->sheet.run);
    in->sheet.run = NULL;
}

static bool sheet_take(struct sheet_rows *s, void *to, size_t n)
{
    if (s->block.n - s->at < n)
        return false;
    memcpy(to, s->block.p + s->at, n);
    s->at += n;
    return true;
}

/* Takes a cell. Cells between those that came are empty; the one that came may not come again. */
static bool take_cell(struct import *in)
{
    struct sheet_rows *s = &in->sheet;
    struct sheet_cell c;

    if (!sheet_take(s, &c, sizeof(c)) || c.column < in->n_cells || c.column >= IMPORT_COLUMNS_MAX ||
        c.n > IMPORT_FIELD_MAX || s->block.n - s->at <= c.n || s->block.p[s->at + c.n] != 0 ||
        !utf8_valid(s->block.p + s->at, c.n) || memchr(s->block.p + s->at, 0, c.n))
        return sheet_broken(in);
    while (in->n_cells < c.column) {
        in->cell_fault[in->n_cells] = CELL_GOOD;
        in->cells[in->n_cells++] = str_z("");
    }
    in->cell_fault[in->n_cells] = c.type == SHEET_ERROR     ? CELL_SHEET_ERROR
                                  : c.type == SHEET_FORMULA ? CELL_NO_VALUE
                                                            : CELL_GOOD;
    in->cells[in->n_cells++] = (wharf_str){s->block.p + s->at, c.n};
    s->at += c.n + 1;
    return true;
}

int sheet_row(struct import *in)
{
    struct sheet_rows *s = &in->sheet;
    struct sheet_row_head head;

    while (s->at == s->block.n) {
        int got = next_block(in);

        if (got <= 0)
            return got;
        if (s->block.n < 1 || s->block.p[0] != SHEET_ROWS) {
            sheet_broken(in);
            return -1;
        }
        s->at = 1;
    }
    if (!sheet_take(s, &head, sizeof(head)) || head.row <= in->row_number) {
        sheet_broken(in);
        return -1;
    }
    in->row_number = head.row;
    in->n_cells = 0;
    for (uint32_t i = 0; i < head.n; i++)
        if (!take_cell(in))
            return -1;
    return 1;
}
