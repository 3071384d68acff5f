/* wharf/ext/documents.h - services of the module documents. Rules: wharf/plugin.h. */
#ifndef WHARF_EXT_DOCUMENTS_H
#define WHARF_EXT_DOCUMENTS_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A file that is to become a document, or a version of one. Texts live as long as the request.
 * Members are appended only: ask with WHARF_HAS before using newer ones. */
typedef struct wharf_document_file {
    wharf_head head;
    wharf_str document_id; /* empty: the document is being created */
    wharf_str name, filename;
    wharf_str type; /* as it was said, or as the bytes show */
    int64_t size;
    int fd; /* for pread() of size bytes from `at` on; borrowed */
    int64_t at;
} wharf_document_file;

/* Service "documents.scan", version 1.0: who wants to look at files before they become documents
 * (docs/spec/05-documents-and-templates.md section 2). */
typedef struct wharf_documents_scan_api {
    wharf_head head;
    /* start() only. fn is called for each file that was compared with what the request says of
     * it, in the transaction that stores it, in the order in which the functions were added. It
     * says in *ret_rejected why the file is not wanted, for people: content of a request is then
     * 400 document.rejected, a document whose bytes were brought is failed with failure_reason
     * rejected. A problem of it stores nothing. At most eight functions. */
    bool (*on_scan)(wharf_status (*fn)(
        wharf_req *req, const wharf_document_file *file, wharf_str *ret_rejected));
} wharf_documents_scan_api;

/* Bytes of a document, open for reading. */
typedef struct wharf_document_bytes {
    wharf_head head;
    wharf_str type;
    int64_t size;
    int64_t at; /* for pread() of size bytes from here on */
    int fd; /* the caller closes it */
} wharf_document_bytes;

/* Service "documents.files", version 1.0: bytes of documents, for modules whose requests name
 * one. */
typedef struct wharf_documents_files_api {
    wharf_head head;
    /* Opens the current version of a document that the caller may read. The caller sets
     * bytes->head. path: of the body's field that names it. Problems: scope_access
     * (documents:read), validation.failed at path (there is no such document), those of a row that
     * the caller may not see, document.not_ready, storage.unavailable. */
    wharf_status (*open)(
        wharf_req *req, wharf_str document_id, const char *path, wharf_document_bytes *bytes);
} wharf_documents_files_api;

#ifdef __cplusplus
}
#endif
#endif
