/* import_aliases.c - other names of columns, by resource: what people write, and what address
 * books and shops write into their files (docs/spec/10-batches.md section 9.1). */
#include <string.h>

#include "import/import.h"

/* A column that one of several phones, e-mails or addresses stands in. */
#define ONE_OF(header, path, rank, beside)                                                         \
    {                                                                                              \
        header, path, rank, 0, beside                                                              \
    }
#define PHONE(header, rank, kind) ONE_OF(header, "phone", rank, "alternate_phones." kind)
#define EMAIL(header, rank, kind) ONE_OF(header, "email", rank, "alternate_emails." kind)
/* A part of an address (enum import_part). */
#define PART(header, rank, part, kind)                                                             \
    {                                                                                              \
        header, "address.formatted_address", rank, part, "alternate_addresses." kind               \
    }
/* The columns of one address: "business street", "business city" ... */
#define ADDRESS_OUTLOOK(name, rank, kind)                                                          \
    PART(name " street", rank, IMPORT_STREET, kind),                                               \
        PART(name " street 2", rank, IMPORT_STREET_2, kind),                                       \
        PART(name " address po box", rank, IMPORT_PO_BOX, kind),                                   \
        PART(name " city", rank, IMPORT_CITY, kind),                                               \
        PART(name " state", rank, IMPORT_STATE, kind),                                             \
        PART(name " postal code", rank, IMPORT_POSTAL, kind),                                      \
        PART(name " zipcode", rank, IMPORT_POSTAL, kind),                                          \
        PART(name " country/region", rank, IMPORT_COUNTRY, kind),                                  \
        PART(name " country", rank, IMPORT_COUNTRY, kind)
#define ADDRESS_GOOGLE(n, rank, kind)                                                              \
    PART("address " n " street", rank, IMPORT_STREET, kind),                                       \
        PART("address " n " extended address", rank, IMPORT_STREET_2, kind),                       \
        PART("address " n " city", rank, IMPORT_CITY, kind),                                       \
        PART("address " n " region", rank, IMPORT_STATE, kind),                                    \
        PART("address " n " postal code", rank, IMPORT_POSTAL, kind),                              \
        PART("address " n " country", rank, IMPORT_COUNTRY, kind)
#define ADDRESS_SHOP(name, rank, kind)                                                             \
    PART(name "address1", rank, IMPORT_STREET, kind),                                              \
        PART(name "address 1", rank, IMPORT_STREET, kind),                                         \
        PART(name "street", rank, IMPORT_STREET, kind),                                            \
        PART(name "address2", rank, IMPORT_STREET_2, kind),                                        \
        PART(name "address 2", rank, IMPORT_STREET_2, kind),                                       \
        PART(name "city", rank, IMPORT_CITY, kind), PART(name "state", rank, IMPORT_STATE, kind),  \
        PART(name "province code", rank, IMPORT_STATE, kind),                                      \
        PART(name "region", rank, IMPORT_STATE, kind),                                             \
        PART(name "zip", rank, IMPORT_POSTAL, kind),                                               \
        PART(name "zipcode", rank, IMPORT_POSTAL, kind),                                           \
        PART(name "postcode", rank, IMPORT_POSTAL, kind),                                          \
        PART(name "postal code", rank, IMPORT_POSTAL, kind),                                       \
        PART(name "country code", rank, IMPORT_COUNTRY, kind),                                     \
        PART(name "country", rank, IMPORT_COUNTRY, kind)

static const struct import_alias of_contact[] = {{"full name", "name"}, {"display name", "name"},
    {"customer name", "name"}, {"buyer name", "name"}, {"ship name", "name"},
    {"recipient name", "name"}, {"given name", "first_name"}, {"firstname", "first_name"},
    {"billing first name", "first_name"}, {"family name", "last_name"}, {"lastname", "last_name"},
    {"surname", "last_name"}, {"billing last name", "last_name"}, {"note", "notes"},
    {"group", "groups"}, {"location", "locations"}, {"address", "address.formatted_address"},
    {"contact id", "id"}, EMAIL("e-mail", 1, "other"), EMAIL("email address", 2, "other"),
    EMAIL("e-mail address", 3, "other"), EMAIL("e-mail 1 value", 4, "other"),
    EMAIL("work e-mail", 5, "work"), EMAIL("work email", 15, "work"),
    EMAIL("e-mail 2 address", 6, "work"), EMAIL("e-mail 2 value", 7, "work"),
    EMAIL("home e-mail", 8, "personal"), EMAIL("home email", 16, "personal"),
    EMAIL("personal email", 9, "personal"), EMAIL("e-mail 3 address", 10, "personal"),
    EMAIL("e-mail 3 value", 11, "personal"), EMAIL("customer email", 12, "other"),
    EMAIL("buyer email", 13, "other"), EMAIL("billing email", 14, "other"),
    EMAIL("primary email", 17, "other"), EMAIL("secondary email", 18, "personal"),
    PHONE("phone number", 1, "other"), PHONE("mobile", 2, "mobile"),
    PHONE("mobile phone", 3, "mobile"), PHONE("mobile number", 22, "mobile"),
    PHONE("cell phone", 4, "mobile"), PHONE("iphone", 5, "mobile"),
    PHONE("primary phone", 6, "other"), PHONE("telephone", 7, "other"),
    PHONE("phone 1 value", 8, "mobile"), PHONE("business phone", 9, "work"),
    PHONE("work phone", 10, "work"), PHONE("company main phone", 11, "work"),
    PHONE("phone 2 value", 12, "work"), PHONE("home phone", 13, "home"),
    PHONE("phone 3 value", 14, "home"), PHONE("other phone", 15, "other"),
    PHONE("business phone 2", 16, "other"), PHONE("home phone 2", 17, "other"),
    PHONE("buyer phone number", 18, "other"), PHONE("billing phone", 19, "other"),
    PHONE("ship phone number", 20, "other"), PHONE("default address phone", 21, "other"),
    ADDRESS_OUTLOOK("business", 2, "work"), ADDRESS_OUTLOOK("home", 3, "home"),
    ADDRESS_OUTLOOK("other", 4, "other"),
    {"business address", "address.formatted_address", 5, 0, "alternate_addresses.work"},
    {"home address", "address.formatted_address", 6, 0, "alternate_addresses.home"},
    {"address 1 formatted", "address.formatted_address", 7, 0, "alternate_addresses.work"},
    ADDRESS_GOOGLE("1", 8, "work"),
    {"address 2 formatted", "address.formatted_address", 9, 0, "alternate_addresses.home"},
    ADDRESS_GOOGLE("2", 10, "home"), ADDRESS_SHOP("default address ", 11, "work"),
    ADDRESS_SHOP("shipping ", 12, "home"), ADDRESS_SHOP("ship ", 13, "home"),
    ADDRESS_SHOP("billing ", 14, "other"), ADDRESS_SHOP("buyer ", 15, "other"),
    ADDRESS_SHOP("", 16, "secondary")};
static const struct import_alias of_group[] = {{"type", "resource"},
    {"children", "group_contacts.children"}, {"members", "group_contacts.children"},
    {"primary", "group_contacts.primary"}, {"group id", "id"}};
static const struct import_alias of_shipment[] = {{"tracking", "tracking_number"},
    {"tracking no", "tracking_number"}, {"awb", "tracking_number"}, {"recipient", "recipient.name"},
    {"recipient name", "recipient.name"}, {"recipient email", "recipient.email"},
    {"recipient phone", "recipient.phone"}, {"recipient address", "recipient.address"},
    {"recipient address line2", "recipient.address_line2"}, {"sender", "sender.name"},
    {"sender name", "sender.name"}, {"sender email", "sender.email"},
    {"sender phone", "sender.phone"}, {"sender address", "sender.address"},
    {"sender address line2", "sender.address_line2"}, {"length", "parcels.0.length"},
    {"width", "parcels.0.width"}, {"height", "parcels.0.height"}, {"weight", "parcels.0.weight"},
    {"shipment id", "id"}};
static const struct import_alias of_tracker[] = {{"tracking", "tracking_number"},
    {"tracking no", "tracking_number"}, {"awb", "tracking_number"}, {"carrier", "provider_id"},
    {"provider", "provider_id"}, {"tracker id", "id"}};
static const struct import_alias of_location[] = {
    {"address", "address.formatted_address"}, {"location id", "id"}};
static const struct import_alias of_layout[] = {
    {"parent", "path"}, {"parent id", "path"}, {"layout id", "id"}};
static const struct import_alias of_item[] = {{"quantity", "available_qty"},
    {"qty", "available_qty"}, {"barcode", "gtin"}, {"unit", "base_uom"}, {"item id", "id"}};
static const struct import_alias of_parcel[] = {
    {"parcel id", "id"}, {"serial", "serial_number"}, {"image", "image_url"}};
static const struct import_alias of_container[] = {
    {"container id", "id"}, {"serial", "serial_number"}, {"image", "image_url"}};
static const struct import_alias of_asset[] = {
    {"asset id", "id"}, {"serial", "serial_number"}, {"image", "images"}};
static const struct import_alias of_inference[] = {
    {"shipping label inference id", "id"}, {"serial", "serial_number"}, {"image", "image_url"}};

#define ALIASES(list) (list), sizeof(list) / sizeof((list)[0])

const struct import_alias *import_aliases(const char *resource, size_t *ret_n)
{
    static const struct {
        const char *resource;
        const struct import_alias *aliases;
        size_t n;
    } all[] = {{"contact", ALIASES(of_contact)}, {"group", ALIASES(of_group)},
        {"shipment", ALIASES(of_shipment)}, {"tracker", ALIASES(of_tracker)},
        {"location", ALIASES(of_location)}, {"layout", ALIASES(of_layout)},
        {"item", ALIASES(of_item)}, {"parcel", ALIASES(of_parcel)},
        {"container", ALIASES(of_container)}, {"asset", ALIASES(of_asset)},
        {"shipping_label_inference", ALIASES(of_inference)}};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (strcmp(all[i].resource, resource) == 0) {
            *ret_n = all[i].n;
            return all[i].aliases;
        }
    *ret_n = 0;
    return NULL;
}
