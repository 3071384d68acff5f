/* batch_words.c - the words of the enums of a batch, as rows, requests and answers have them
 * (spec 10 section 4). */
#include "batches.h"

static const char *const STATUS_WORDS[] = {[BATCH_REQUESTED] = "requested",
    [BATCH_QUEUED] = "queued",
    [BATCH_PROCESSING] = "processing",
    [BATCH_COMPLETED] = "completed",
    [BATCH_FAILED] = "failed",
    [BATCH_TIMED_OUT] = "timed_out",
    [BATCH_EXPIRED] = "expired",
    [BATCH_CANCELED] = "canceled"};
static const char *const MODE_WORDS[] = {
    [MODE_SYNC] = "sync", [MODE_MIXED] = "mixed", [MODE_ASYNC] = "async"};
static const char *const ACTION_WORDS[] = {
    [ACTION_MERGE] = "merge", [ACTION_OVERWRITE] = "overwrite", [ACTION_DELETE] = "delete"};
static const char *const DUPLICATES_WORDS[] = {
    [DUPLICATES_USE_FIRST] = "use_first", [DUPLICATES_IGNORE_ALL] = "ignore_all"};
static const char *const PHASE_WORDS[PHASES] = {[FETCHING] = "fetching",
    [RESOLVING] = "resolving",
    [PARSING] = "parsing",
    [VALIDATING] = "validating",
    [PROCESSING] = "processing"};
static const char *const PHASE_STATUS_WORDS[] = {[PHASE_PENDING] = "pending",
    [PHASE_RUNNING] = "running",
    [PHASE_COMPLETED] = "completed",
    [PHASE_FAILED] = "failed",
    [PHASE_SKIPPED] = "skipped"};

#define COUNT(words) (sizeof(words) / sizeof(*(words)))

/* Returns the place of a word among n words; `otherwise` when it is none of them. */
static size_t batch_words_place_of(
    wharf_str s, const char *const *words, size_t n, size_t otherwise)
{
    size_t i = word_place(s, words, n);

    return i < n ? i : otherwise;
}

const char *status_word(enum batch_status status)
{
    return STATUS_WORDS[status];
}

enum batch_status status_of(wharf_str word)
{
    return (enum batch_status)batch_words_place_of(
        word, STATUS_WORDS, COUNT(STATUS_WORDS), BATCH_QUEUED);
}

const char *mode_word(enum batch_mode mode)
{
    return MODE_WORDS[mode];
}

enum batch_mode mode_of(wharf_str word)
{
    return (enum batch_mode)batch_words_place_of(word, MODE_WORDS, COUNT(MODE_WORDS), MODE_MIXED);
}

const char *action_word(enum batch_action action)
{
    return ACTION_WORDS[action];
}

enum batch_action action_of(wharf_str word)
{
    return (enum batch_action)batch_words_place_of(
        word, ACTION_WORDS, COUNT(ACTION_WORDS), ACTION_MERGE);
}

const char *duplicates_word(enum batch_duplicates duplicates)
{
    return DUPLICATES_WORDS[duplicates];
}

enum batch_duplicates duplicates_of(wharf_str word)
{
    return (enum batch_duplicates)batch_words_place_of(
        word, DUPLICATES_WORDS, COUNT(DUPLICATES_WORDS), DUPLICATES_IGNORE_ALL);
}

const char *phase_word(enum phase_name name)
{
    return PHASE_WORDS[name];
}

enum phase_name phase_of(wharf_str word)
{
    return (enum phase_name)batch_words_place_of(word, PHASE_WORDS, PHASES, PHASES);
}

const char *phase_status_word(enum phase_status status)
{
    return PHASE_STATUS_WORDS[status];
}

enum phase_status phase_status_of(wharf_str word)
{
    return (enum phase_status)batch_words_place_of(
        word, PHASE_STATUS_WORDS, COUNT(PHASE_STATUS_WORDS), PHASE_SKIPPED);
}
