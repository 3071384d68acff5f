#ifndef WHARF_RESOURCE_BODY_H
#define WHARF_RESOURCE_BODY_H
#include "schema/definition.h"
struct value { bool present, null; wharf_str text; const struct wharf_json *json; };
#endif
