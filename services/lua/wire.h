/* wire.h - what travels between the server and a `lua` cell, inside of frames (cell/frame.h).
 *
 * CALL:    a JSON object (lua_run.c writes it, cells/lua/call.c reads it).
 * AHEAD:   {memory, seed} of a CALL that comes probably: the state for it is made. The CALL says
 *          all of it again.
 * DATA:    the args of the op "log": a JSON object, {level, message, cut, fields, file, line};
 *          nobody waits for an answer. With {"record": true} in the call
 *          also {"note": …}: what the run got without asking: "now" and "deadline" with "value",
 *          "random" with "hex", "full": there was too much of it.
 * ASK:     the name of an op, a line feed, its args as JSON (sandbox/ops.md); of "zone" the args
 *          are the name as it is.
 * ANSWER:  one letter of LUA_GIVEN …, then the text; of "zone" the bytes of its file. Refused:
 *          there is no such zone.
 *          With {"tests": true, "samples": …} the test files are run instead
 *          (testing/testing.h); their objects are the result.
 * RESULT:  a JSON object: {end, code, message, field, status, retry, after_ms, error, usage:
 *          {instructions, memory_peak, cpu_us}, result?, kept?};
 *          end is a number of enum sandbox_end, error what sandbox_error_json wrote. */
#ifndef WHARF_LUA_WIRE_H
#define WHARF_LUA_WIRE_H

enum { LUA_GIVEN = 'g', LUA_REFUSED = 'r', LUA_MISTAKE = 'm', LUA_ENDED = 'e' };
/* Bytes of an ASK and of what else a cell says. A body of 8 MiB for wharf.http is 11 as base64. */
enum { LUA_ASK_MAX = 12 << 20 };
/* The run is told to end so many milliseconds before its cell is killed. */
enum { LUA_GRACE_MS = 20 }; /* a run that is over may take to end */

#endif
