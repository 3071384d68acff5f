/* label_picture.h - pictures of labels without a picture: words and barcodes as a reader of images
 * would have found them, written as text. For tests of modules/inference/label.h. */
#ifndef LABEL_PICTURE_H
#define LABEL_PICTURE_H

#include "label.h"
#include "util/arena.h"

/* Makes what a picture has of lines of text:
 *
 *   X Y HEIGHT[@ORIENTATION]|text of a line     words, six tenths of the height wide a letter
 *   !SYMBOLOGY VALUE                            a barcode; \xx in it is a byte
 *   =X Y W H                                    a dark rule
 *   %CONFIDENCE                                 of the words that follow, 95 before
 *   ?VALUE                                      a barcode of the request
 *
 * Two or more blanks in a text are a gap as wide as they. Lines of another form are left out. The
 * picture is 812 by 1218 pixels. given: gets the barcodes of the request, or NULL. */
void label_picture_make(struct arena *a, wharf_str drawn, wharf_image_read *ret,
    struct label_given *ret_given);

/* Returns a field of a label as text: "recipient.city", "tracking_number", "weight" ("2.500 lb"),
 * "dimensions", "package" ("1/3"), "tags", "references" ("type:value,..."), "purposes",
 * "classification", "score". "-" where there is none. */
wharf_str label_picture_field(struct arena *a, const struct label *l, const char *name);

#endif
