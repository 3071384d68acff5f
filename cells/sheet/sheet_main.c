/* sheet_main.c - the `sheet` cell: a descriptor and the name of a sheet in, its rows out. */
#include <stdlib.h>

#include "book.h"
#include "child.h"

static void send_block(void *arg, const void *p, size_t n)
{
    cell_data(p, n);
}

static void sheet_call(const struct cell_task *task)
{
    char error[200];

    if (task->n_fds != 1)
        cell_failed("file.xlsx_invalid: there is no file");
    else if (book_read(task->fds[0], task->payload, send_block, NULL, error))
        cell_result("", 0);
    else
        cell_failed(error);
}

int main(int argc, char **argv)
{
    static const struct cell_program program = {.name = "sheet", .call = sheet_call};

    return cell_main(argc, argv, &program);
}
