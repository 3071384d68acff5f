/* station_log.c - lines for a person at a terminal, or for the journal of systemd: time, what it
 * is about, what happened. */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "station.h"

static void station_log_line(const char *about, const char *fmt, va_list ap)
{
    char clock[16], text[1200];
    time_t t = time(NULL);
    struct tm tm;

    localtime_r(&t, &tm);
    strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
    vsnprintf(text, sizeof(text), fmt, ap);
    printf("%s %s%s%s\n", clock, about ? about : "", about ? ": " : "", text);
    fflush(stdout);
}

void say(const char *about, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    station_log_line(about, fmt, ap);
    va_end(ap);
}

void say_more(const char *about, const char *fmt, ...)
{
    va_list ap;

    if (!settings.verbose)
        return;
    va_start(ap, fmt);
    station_log_line(about, fmt, ap);
    va_end(ap);
}

int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SECOND_US + t.tv_nsec / 1000;
}

int between(int low, int high)
{
    return low + (int)(now_us() / 7 % (high - low + 1));
}

void nap_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, (ms % 1000) * 1000000L}, NULL);
}
