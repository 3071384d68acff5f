/* sheets.h - the kind of cell that reads spreadsheets, for those who make a pool of it. */
#ifndef WHARF_IMPORT_SHEETS_H
#define WHARF_IMPORT_SHEETS_H

#include "cell/cell.h"

extern const struct cell_kind import_sheet_kind;

#endif
