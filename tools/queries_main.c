/* queries_main.c - build tool of the server itself: the SQL statements of folders into one
 * header. Plugins use wharf-gen, which is made of the kernel.
 *
 *   wharf-queries OUT.h DEPFILE DIR... */
#include "queries.h"

int main(int argc, char **argv)
{
    FILE *out = argc > 3 ? fopen(argv[1], "w") : NULL;
    FILE *depfile = out ? fopen(argv[2], "w") : NULL;
    bool ok = out && depfile;

    if (!ok) {
        fputs("usage: wharf-queries OUT.h DEPFILE DIR..., where OUT.h and DEPFILE can be written\n",
            stderr);
        return 2;
    }
    fputs("/* Made by wharf-queries: the statements of queries/. */\n#pragma once\n\n", out);
    fprintf(depfile, "%s:", argv[1]);
    for (int i = 3; i < argc; i++)
        ok = queries_write(out, depfile, argv[i]) && ok;
    fputc('\n', depfile);
    ok = fclose(depfile) == 0 && ok;
    ok = fclose(out) == 0 && ok;
    if (!ok)
        remove(argv[1]);
    return ok ? 0 : 1;
}
