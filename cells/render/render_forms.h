/* render_forms.h - what stands in the fields of a PDF form, drawn where its writer left that to
 * the viewer. */
#ifndef WHARF_CELL_RENDER_FORMS_H
#define WHARF_CELL_RENDER_FORMS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the appearance of each text and choice field of the PDF, n bytes at p. Returns the whole
 * PDF anew in *ret_p, which the caller frees; false when it can't, also without memory. */
bool forms_draw(const unsigned char *p, size_t n, unsigned char **ret_p, size_t *ret_n);

#ifdef __cplusplus
}
#endif
#endif
