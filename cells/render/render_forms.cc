/* render_forms.cc - see render_forms.h. In C++, since libqpdf offers this to C++ only. Nothing that
 * it throws leaves the file. */
#include "render_forms.h"

#define POINTERHOLDER_TRANSITION 4 /* no pointers of old versions */

#include <cstdlib>
#include <cstring>
#include <memory>

#include <qpdf/Buffer.hh>
#include <qpdf/QPDF.hh>
#include <qpdf/QPDFAcroFormDocumentHelper.hh>
#include <qpdf/QPDFWriter.hh>

bool forms_draw(const unsigned char *p, std::size_t n, unsigned char **ret_p, std::size_t *ret_n)
try {
    QPDF document;
    std::shared_ptr<Buffer> written;

    document.setSuppressWarnings(true);
    document.processMemoryFile("document", reinterpret_cast<const char *>(p), n);
    QPDFAcroFormDocumentHelper(document).generateAppearancesIfNeeded();
    QPDFWriter writer(document);
    writer.setOutputMemory();
    writer.setPreserveEncryption(false);
    writer.write();
    written = writer.getBufferSharedPointer();
    *ret_n = written->getSize();
    *ret_p = static_cast<unsigned char *>(std::malloc(*ret_n + 1));
    if (*ret_p)
        std::memcpy(*ret_p, written->getBuffer(), *ret_n);
    return *ret_p != nullptr;
} catch (...) {
    return false;
}
