/* ops_manifest.c - the manifest: its note in an ELF image, its keys, its file. */
#include "unit.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/manifest.h"
#include "plugin/module_settings.h"

enum { IMAGE = 4096 };

struct image {
    unsigned char bytes[IMAGE];
    Elf64_Ehdr *header;
    Elf64_Phdr *segment;
    size_t note; /* offset */
};

/* An ELF file with one note segment that holds a foreign note and then ours. */
static void make_image(struct image *m, const char *text)
{
    Elf64_Nhdr foreign = {4, 8, 3}, own = {6, (Elf64_Word)strlen(text), 1};
    size_t at;

    memset(m, 0, sizeof(*m));
    m->header = (Elf64_Ehdr *)m->bytes;
    m->segment = (Elf64_Phdr *)(m->bytes + sizeof(Elf64_Ehdr));
    memcpy(m->header->e_ident, ELFMAG, SELFMAG);
    m->header->e_ident[EI_CLASS] = ELFCLASS64;
    m->header->e_ident[EI_DATA] = ELFDATA2LSB;
    m->header->e_type = ET_DYN;
    m->header->e_phoff = sizeof(Elf64_Ehdr);
    m->header->e_phentsize = sizeof(Elf64_Phdr);
    m->header->e_phnum = 1;
    at = m->note = 256;
    memcpy(m->bytes + at, &foreign, sizeof(foreign));
    memcpy(m->bytes + at + 12, "GNU", 4);
    at += 12 + 4 + 8;
    memcpy(m->bytes + at, &own, sizeof(own));
    memcpy(m->bytes + at + 12, "WHARF", 6);
    memcpy(m->bytes + at + 20, text, strlen(text));
    m->segment->p_type = PT_NOTE;
    m->segment->p_offset = m->note;
    m->segment->p_filesz = at + 20 + strlen(text) - m->note;
    m->segment->p_align = 4;
}

static const char *note_error(const struct image *m, size_t size)
{
    wharf_str text;
    const char *error = NULL;

    return manifest_note(m->bytes, size, &text, &error) ? NULL : error;
}

static void note_found(void **state)
{
    struct image m;
    wharf_str text;
    const char *error;

    make_image(&m, "{\"name\":\"x1\"}");
    assert_true(manifest_note(m.bytes, IMAGE, &text, &error));
    assert_true(str_eqz((wharf_str){text.p, text.n}, "{\"name\":\"x1\"}"));
}

static void note_damaged(void **state)
{
    struct image m;

    make_image(&m, "{}");
    assert_non_null(strstr(note_error(&m, 10), "too short"));
    m.bytes[0] = 0;
    assert_non_null(strstr(note_error(&m, IMAGE), "not an ELF"));
    make_image(&m, "{}");
    m.header->e_ident[EI_CLASS] = ELFCLASS32;
    assert_non_null(strstr(note_error(&m, IMAGE), "64-bit"));
    make_image(&m, "{}");
    m.header->e_type = ET_EXEC;
    assert_non_null(strstr(note_error(&m, IMAGE), "shared object"));
    make_image(&m, "{}");
    m.header->e_phnum = 60000;
    assert_non_null(strstr(note_error(&m, IMAGE), "program headers"));
    make_image(&m, "{}");
    m.segment->p_filesz = IMAGE;
    assert_non_null(strstr(note_error(&m, IMAGE), "outside the file"));
    make_image(&m, "{}");
    m.segment->p_offset = UINT64_MAX - 4;
    assert_non_null(strstr(note_error(&m, IMAGE), "outside the file"));
    make_image(&m, "{}");
    ((Elf64_Nhdr *)(m.bytes + m.note))->n_descsz = UINT32_MAX;
    assert_non_null(strstr(note_error(&m, IMAGE), "no WHARF note"));
    make_image(&m, "{}");
    m.segment->p_type = PT_LOAD;
    assert_non_null(strstr(note_error(&m, IMAGE), "no WHARF note"));
}

/* Every image that differs in one byte, and every cut, is read without touching a byte outside.
 * The copy ends at the end of an allocation, where the address sanitizer watches. */
static void note_every_byte(void **state)
{
    struct image m;
    wharf_str text;
    const char *error;
    size_t used;

    make_image(&m, "{\"name\":\"x1\"}");
    used = m.segment->p_offset + m.segment->p_filesz;
    for (size_t size = 0; size <= used; size++) {
        unsigned char *copy = malloc(size + !size);

        memcpy(copy, m.bytes, size);
        assert_int_equal(manifest_note(copy, size, &text, &error), size == used);
        free(copy);
    }
    for (size_t i = 0; i < used; i++) {
        for (int bit = 0; bit < 8; bit++) {
            unsigned char *copy = malloc(used);

            memcpy(copy, m.bytes, used);
            copy[i] ^= (unsigned char)(1 << bit);
            if (manifest_note(copy, used, &text, &error))
                assert_true((const unsigned char *)text.p >= copy &&
                            (const unsigned char *)text.p + text.n <= copy + used);
            free(copy);
        }
    }
}

/* NULL when accepted. */
static const char *refusal(struct arena *a, const char *json)
{
    wharf_str error = {"", 0};

    return manifest_parse(a, "/lib/dock_doors.so", str_z(json), &error) ? NULL : error.p;
}

static void full_manifest(void **state)
{
    static const char text[] = "{\"name\":\"dock_doors\",\"version\":\"1.2.3-rc.1+b5\",\"abi\":\"1."
                               "4\",\"license\":\"MIT\","
                               "\"needs\":{\"locations.directory\":\"1.0\",\"wharf.blob\":\"2.7\"},"
                               "\"wants\":{\"x.y\":\"1.0\"},"
                               "\"provides\":{\"dock_doors.state\":\"1.1\"},\"scopes\":[\"dock_"
                               "doors\",\"dock_doors:open\"],"
                               "\"config\":{\"type\":\"object\"},\"x-own\":5}";
    wharf_str error = {"", 0};
    const struct manifest *m = manifest_parse(*state, "/lib/dock_doors.so", str_z(text), &error);

    if (!m)
        fail_msg("%s", error.p);
    assert_string_equal(m->name, "dock_doors");
    assert_int_equal(m->abi_major, 1);
    assert_int_equal(m->abi_minor, 4);
    assert_int_equal(m->n_needs, 2);
    assert_string_equal(m->needs[1].name, "wharf.blob");
    assert_int_equal(m->needs[1].major, 2);
    assert_int_equal(m->needs[1].minor, 7);
    assert_int_equal(m->n_scopes, 2);
    assert_non_null(m->config);
    assert_true(m->third_party);
    m = manifest_parse(*state, "stations.so",
        str_z("{\"name\":\"stations\",\"version\":\"1.0.0\",\"abi\":\"1.0\"}"), &error);
    assert_false(m->third_party);
}

#define BASE "\"version\":\"1.0.0\",\"abi\":\"1.0\""
static void refused_manifests(void **state)
{
    static const struct {
        const char *json, *word;
    } cases[] = {
        {"[]", "must be an object"},
        {"{\"name\":\"dock_doors\",}", "byte"},
        {"{" BASE "}", "name is missing"},
        {"{\"name\":\"dock_doors\",\"abi\":\"1.0\"}", "version is missing"},
        {"{\"name\":\"Dock\"," BASE "}", "2 to 31"},
        {"{\"name\":\"d\"," BASE "}", "2 to 31"},
        {"{\"name\":\"other\"," BASE "}", "must be called other.so"},
        {"{\"name\":\"dock_doors\",\"version\":\"1.0\",\"abi\":\"1.0\"}", "version like 1.2.3"},
        {"{\"name\":\"dock_doors\",\"version\":\"1.0.0-\",\"abi\":\"1.0\"}", "version like 1.2.3"},
        {"{\"name\":\"dock_doors\",\"version\":\"01.0.0\",\"abi\":\"1.0\"}", "version like 1.2.3"},
        {"{\"name\":\"dock_doors\",\"version\":\"1.0.0\",\"abi\":\"1\"}", "lowest ABI"},
        {"{\"name\":\"dock_doors\",\"version\":\"1.0.0\",\"abi\":\"1.65536\"}", "lowest ABI"},
        {"{\"name\":\"dock_doors\",\"version\":\"1.0.0\",\"abi\":\"1.0 \"}", "lowest ABI"},
        {"{\"name\":\"dock_doors\",\"need\":{}," BASE "}", "\"need\" is no key"},
        {"{\"name\":\"dock_doors\",\"needs\":[]," BASE "}", "object of service names"},
        {"{\"name\":\"dock_doors\",\"needs\":{\"items\":\"1.0\"}," BASE "}", "service name like"},
        {"{\"name\":\"dock_doors\",\"needs\":{\"items.\":\"1.0\"}," BASE "}", "service name like"},
        {"{\"name\":\"dock_doors\",\"needs\":{\"items.stock\":1}," BASE "}", "version like"},
        {"{\"name\":\"dock_doors\",\"scopes\":\"x\"," BASE "}", "list of texts"},
        {"{\"name\":\"dock_doors\",\"scopes\":[\"a:b:c\"]," BASE "}", "areas like"},
        {"{\"name\":\"dock_doors\",\"scopes\":[\"ab:\"]," BASE "}", "areas like"},
        {"{\"name\":\"dock_doors\",\"config\":5," BASE "}", "JSON Schema object"},
        {"{\"name\":\"dock_doors\",\"license\":5," BASE "}", "license must be a text"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *said = refusal(*state, cases[i].json);

        if (!said || !strstr(said, cases[i].word))
            fail_msg("%s: expected \"%s\", got \"%s\"", cases[i].json, cases[i].word,
                said ? said : "nothing");
        assert_non_null(strstr(said, "dock_doors.so"));
    }
}

static void files(void **state)
{
    char dir[] = "/tmp/wharf-manifest-XXXXXX";
    const char *file;
    wharf_str error = {"", 0};
    struct image m;
    FILE *f;

    assert_non_null(mkdtemp(dir));
    file = arena_printf(*state, "%s/dock_doors.so", dir).p;
    assert_null(manifest_read(*state, file, &error));
    assert_non_null(strstr(error.p, "can't be opened"));
    make_image(&m, "{\"name\":\"dock_doors\"," BASE "}");
    f = fopen(file, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(m.bytes, 1, IMAGE, f), IMAGE);
    fclose(f);
    chmod(file, 0644);
    assert_non_null(manifest_read(*state, file, &error));
    chmod(file, 0664);
    assert_null(manifest_read(*state, file, &error));
    assert_non_null(strstr(error.p, "can be written by others"));
    if (geteuid() == 0) {
        chmod(file, 0644);
        assert_int_equal(chown(file, 65534, 65534), 0);
        assert_null(manifest_read(*state, file, &error));
        assert_non_null(strstr(error.p, "belongs to another user"));
    }
    assert_null(manifest_read(*state, dir, &error));
    assert_non_null(strstr(error.p, "not a regular file"));
    unlink(file);
    rmdir(dir);
}

/* Reads a setting as it was written, else the default of the manifest, also inside of tables. */
static void settings_have_defaults(void **state)
{
    const struct wharf_json *schema = unit_json(*state,
        "{\"type\":\"object\",\"properties\":{\"rows\":{\"type\":\"integer\",\"default\":7},"
        "\"bare\":{},"
        "\"push\":{\"properties\":{\"fcm\":{\"properties\":{\"endpoint\":{\"default\":\"there\"}}}}"
        "}}}");
    struct config c = {0};
    struct manifest m = {.name = "station", .config = schema};

    assert_string_equal(module_setting(&c, &m, "rows")->text.p, "7");
    assert_string_equal(module_setting(&c, &m, "push.fcm.endpoint")->text.p, "there");
    c.module_settings = unit_json(*state,
        "{\"station\":{\"rows\":8,\"push\":{\"fcm\":{\"project\":\"p\"}}},\"other\":{\"bare\":1}}");
    assert_string_equal(module_setting(&c, &m, "rows")->text.p, "8");
    assert_string_equal(module_setting(&c, &m, "push.fcm.endpoint")->text.p, "there");
    assert_string_equal(module_setting(&c, &m, "push.fcm.project")->text.p, "p");
    assert_null(module_setting(&c, &m, "bare"));
    assert_null(module_setting(&c, &m, "nothing.here"));
    m.config = NULL;
    assert_null(module_setting(&c, &m, "push.fcm.endpoint"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(note_found),
        UNIT(note_damaged),
        UNIT(note_every_byte),
        UNIT(full_manifest),
        UNIT(refused_manifests),
        UNIT(files),
        UNIT(settings_have_defaults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
