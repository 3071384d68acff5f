/* member.c - look-ups in objects of JSON. The object may be NULL or no object: then nothing is
 * there. */
#include "station.h"

const cJSON *member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

const char *member_text(const cJSON *object, const char *key, const char *fallback)
{
    const char *text = cJSON_GetStringValue(member(object, key));

    return text ? text : fallback;
}

bool member_bool(const cJSON *object, const char *key, bool fallback)
{
    const cJSON *v = member(object, key);

    return cJSON_IsBool(v) ? cJSON_IsTrue(v) : fallback;
}

int member_int(const cJSON *object, const char *key, int fallback)
{
    const cJSON *v = member(object, key);

    return cJSON_IsNumber(v) ? v->valueint : fallback;
}
