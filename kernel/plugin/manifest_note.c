/* manifest_note.c - finds the manifest in the bytes of a .so, by program headers, without
 * running or mapping it as code.
 *
 * Outside bytes: every offset and length is checked against the image before it is followed;
 * fuzz target tests/fuzz. Leaves to others: the file, and what the text says (manifest.c). */
#include "plugin/manifest.h"

#include <elf.h>
#include <string.h>

static const char owner[] = "WHARF"; /* with its NUL, as notes have it */
enum { NOTE_MANIFEST = 1 };

static uint64_t padded(uint64_t n, uint64_t align)
{
    return (n + align - 1) & ~(align - 1);
}

/* Notes are (header, name padded, text padded)*, padded to 4, or to 8 in segments aligned so. */
static bool find_in_segment(
    const unsigned char *p, uint64_t size, uint64_t align, wharf_str *ret_text)
{
    uint64_t at = 0;

    while (size - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr h;
        uint64_t name, text, end;

        memcpy(&h, p + at, sizeof(h));
        name = at + sizeof(h);
        text = name + padded(h.n_namesz, align);
        end = text + h.n_descsz;
        if (end > size)
            return false;
        if (h.n_type == NOTE_MANIFEST && h.n_namesz == sizeof(owner) &&
            memcmp(p + name, owner, sizeof(owner)) == 0) {
            *ret_text = (wharf_str){(const char *)p + text, h.n_descsz};
            return true;
        }
        at = text + padded(h.n_descsz, align);
        if (at > size)
            return false;
    }
    return false;
}

static const char *check_header(const Elf64_Ehdr *h, size_t size)
{
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
        return "is not an ELF file";
    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB)
        return "is not a 64-bit little-endian ELF file";
    if (h->e_type != ET_DYN)
        return "is not a shared object";
    if (h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phoff > size ||
        h->e_phnum > (size - h->e_phoff) / sizeof(Elf64_Phdr))
        return "is damaged: its program headers lie outside the file";
    return NULL;
}

bool manifest_note(
    const unsigned char *image, size_t size, wharf_str *ret_text, const char **ret_error)
{
    Elf64_Ehdr header;

    if (size < sizeof(header)) {
        *ret_error = "is too short for an ELF file";
        return false;
    }
    memcpy(&header, image, sizeof(header));
    *ret_error = check_header(&header, size);
    if (*ret_error)
        return false;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;

        memcpy(&segment, image + header.e_phoff + i * sizeof(segment), sizeof(segment));
        if (segment.p_type != PT_NOTE)
            continue;
        if (segment.p_offset > size || segment.p_filesz > size - segment.p_offset) {
            *ret_error = "is damaged: a note lies outside the file";
            return false;
        }
        if (find_in_segment(
                image + segment.p_offset, segment.p_filesz, segment.p_align == 8 ? 8 : 4, ret_text))
            return true;
    }
    *ret_error = "has no WHARF note; is it a Wharf plugin, built with the SDK?";
    return false;
}
