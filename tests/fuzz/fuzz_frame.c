/* fuzz_frame.c - what a cell may send: cut into frames, in pieces of any size. Each frame lies
 * within what came. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cell/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct frame_reader r;
    size_t taken = 0, piece = size ? data[0] % 61u + 1 : 1;
    volatile char sum = 0;
    int got = 0;

    frame_reader_init(&r, 1 << 16);
    for (size_t at = 0; at < size && got >= 0;) {
        size_t room, n = size - at < piece ? size - at : piece;
        char *to = frame_reader_room(&r, &room);
        struct frame f;

        if (!to)
            break;
        n = room < n ? room : n;
        memcpy(to, data + at, n);
        frame_reader_got(&r, n);
        at += n;
        while ((got = frame_reader_next(&r, &f)) > 0) {
            taken += sizeof(f.head) + f.head.size;
            for (size_t i = 0; i < f.head.size; i++)
                sum = (char)(sum + f.payload[i]);
            if (taken > at)
                abort();
        }
    }
    frame_reader_done(&r);
    return 0;
}
