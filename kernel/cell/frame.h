/* frame.h - what travels between a server process and its cells: frames on a stream socket. Used
 * by both sides.
 *
 * A frame is a head of 16 bytes in the machine's byte order (both ends are one machine) and
 * `size` bytes of payload. One call
 * at a time:  parent CALL -> cell (DATA | ASK <- ANSWER)* -> RESULT or FAILED.  Every frame
 *             carries the id of its call. Before a
 * CALL there may be any number of AHEAD, which nothing answers. A cell is never believed: sizes
 * are bounded before anything is kept, and memory grows with what has arrived, not with what was
 * announced. */
#ifndef WHARF_CELL_FRAME_H
#define WHARF_CELL_FRAME_H

#include <stddef.h>
#include <stdint.h>

enum frame_type {
    FRAME_HELLO = 1, /* cell: prepared, walls are up; payload: name of the kind */
    FRAME_CALL, /* parent: descriptors come along; extra: milliseconds it may take, 0: not told */
    FRAME_RESULT, /* cell: the end */
    FRAME_FAILED, /* cell: the end; payload: what was wrong, for people */
    FRAME_DATA, /* cell: a block of the result, any number of them */
    FRAME_ASK, /* cell: wants something of the parent and waits for it */
    FRAME_ANSWER, /* parent: extra: 0 done, 1 refused (payload: why) */
    /* parent: what the next call will probably need; may be made ready, or left alone */
    FRAME_AHEAD,
};

struct frame_head {
    uint32_t size; /* of the payload */
    uint16_t type; /* enum frame_type */
    uint16_t fds; /* descriptors that come along (CALL only) */
    uint32_t id;
    uint32_t extra;
};
_Static_assert(sizeof(struct frame_head) == 16, "the head travels as it is");

enum {
    FRAME_FDS_MAX = 4,
    FRAME_MAX = 64 << 20,
    CELL_EXIT_MEMORY = 77 /* exit code of a cell that ran out of memory */
};

struct frame {
    struct frame_head head;
    const char *payload; /* good until the next call on the reader */
};

/* Cuts what comes from a socket into frames. */
struct frame_reader {
    char *p;
    size_t at, n, cap; /* bytes from at to n are unread */
    uint32_t max; /* payload bytes that are accepted */
};

void frame_reader_init(struct frame_reader *r, uint32_t max);
void frame_reader_done(struct frame_reader *r);
/* Returns where the next bytes go, and sets *ret_n to how many fit (at least 1). Returns NULL when
 * there is no memory. */
char *frame_reader_room(struct frame_reader *r, size_t *ret_n);
void frame_reader_got(struct frame_reader *r, size_t n);
/* Takes the next frame. Returns 1: a frame; 0: more bytes are needed; -1: the other side broke the
 * rules (size over the maximum, unknown type). */
int frame_reader_next(struct frame_reader *r, struct frame *ret_frame);

#endif
