/* log.h - one JSON line per event on a file descriptor; levels as wharf_log_level.
 *
 * A function either logs or returns an error, not both. Lines hold no secrets: callers pass only
 * what may be shown. */
#ifndef WHARF_UTIL_LOG_H
#define WHARF_UTIL_LOG_H

#include "wharf/plugin.h"

/* Starts the log. fd is borrowed. program: "supervisor", "web 0", "job 0". */
void log_init(int fd, uint32_t level, const char *program);
/* Starts the log on a file, which is made when missing ("-": standard error); called again it
 * follows a file that was renamed away. Returns false and errno when it can't be opened; then
 * nothing has changed. */
bool log_open(const char *file, uint32_t level, const char *program);
/* Opens the same file anew, after somebody renamed it: what other threads write at this moment
 * goes to one or the other, whole. A log that is no file of its own stays as it is. Returns false
 * when it can't be opened (errno); the old one is used on. [any] */
bool log_reopen(const char *file);
/* Opens the file to append to it, in place of fd. For other logs. */
bool log_file_renew(const char *file, int fd);
/* Tells whether the log is a file of its own, which nobody sees who looks at standard error. */
bool log_is_file(void);
void log_set_level(uint32_t level);
uint32_t log_level(void);
/* Writes {"time","level","program","event","message"} in one write(2). plugin and request_id may
 * be NULL. [any] */
void log_write(uint32_t level, const char *plugin, const char *request_id, const char *event,
    const char *fmt, ...) WHARF_PRINTF(5, 6);
void log_vwrite(uint32_t level, const char *plugin, const char *request_id, const char *event,
    const char *fmt, va_list ap) WHARF_PRINTF(5, 0);
#define log_error(event, ...) log_write(WHARF_LOG_ERROR, NULL, NULL, event, __VA_ARGS__)
#define log_warn(event, ...)  log_write(WHARF_LOG_WARN, NULL, NULL, event, __VA_ARGS__)
#define log_info(event, ...)  log_write(WHARF_LOG_INFO, NULL, NULL, event, __VA_ARGS__)
#define log_debug(event, ...) log_write(WHARF_LOG_DEBUG, NULL, NULL, event, __VA_ARGS__)

#endif
