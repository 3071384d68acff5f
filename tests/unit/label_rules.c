/* label_rules.c - rules of the reader of labels (modules/inference/label.h) that label_read.c has
 * no picture of: every form and caption that docs/spec/06-inference.md section 8 names, how sure a
 * value is, and what is cut. */
#include "label_cases.h"

/* ---- 8.1 barcodes ---- */

#define FEDEX_OF(carrier, number, more)                                                            \
    "!pdf417 [)>\\1e01\\1d0298028\\1d840\\1d019\\1d" number "\\1d" carrier                         \
    "\\1d1234567\\1d069\\1d\\1d1/2\\1d2.50LB\\1dN\\1d4200 HARBOR AVE\\1dKENMORE\\1dWA\\1dJANE "    \
    "DOE" more "\\1e\\04\n"
#define UPS_TO(postal, country)                                                                    \
    "!maxicode [)>\\1e01\\1d96" postal "\\1d" country "\\1d003\\1d1Z12345671\\1dUPSN\\1d12A34B"    \
    "\\1d069\\1d\\1d1/1\\1d10\\1dY\\1d1 WEG\\1dORT\\1d\\1e\\04\n"

static const struct label_case codes_cases[] = {
    {"ground of FedEx", "US", FEDEX_OF("FDEG", "7712345678900201", ""),
        "provider_id=fedex\nservice_level_name=ground\ntracking_number=771234567890"},
    {"express of FedEx", "US", FEDEX_OF("FDEB", "7712345678900201", ""),
        "provider_id=fedex\ntracking_number=771234567890"},
    {"the linear barcode that the message repeats", "US",
        FEDEX_OF("FDE", "", "\\1e06\\1d31Z1001921334250009802800771234567000"),
        "tracking_number=771234567000\nprovider_id=fedex"},
    {"a field of the message that nobody needs", "US",
        FEDEX_OF("FDE", "7712345678900201", "\\1e06\\1d15Z118\\1d99ZA\\1d10ZB"),
        "recipient.business=-\nrecipient.phone=-\nreference_number=-"},
    {"what is printed gives letter case and line 2", "US",
        FEDEX_OF("FDE", "7712345678900201", "") "20 20 20|TO: Jane Doe\n20 46 20|4200 Harbor "
                                                "Ave\n20 72 20|Suite 12\n20 98 20|Kenmore WA "
                                                "98028\n",
        "recipient.name=Jane Doe\nrecipient.line1=4200 Harbor Ave\nrecipient.line2=Suite 12\n"
        "recipient.city=Kenmore\nrecipient.state_code=WA"},
    {"the message beats what is printed", "US",
        FEDEX_OF("FDE", "7712345678900201", "") "20 20 20|TO: JANE DOF\n20 46 20|4200 HARBDR "
                                                "AVE\n20 72 20|KENMORF WA 98028\n",
        "recipient.name=JANE DOE\nrecipient.line1=4200 HARBOR AVE\nrecipient.city=KENMORE"},
    {"a message that the client has read", "US",
        "?[)>\\1e01\\1d0298028\\1d840\\1d019\\1d7712345678900201\\1dFDE\\1d1\\1e\\04\n",
        "tracking_number=771234567890\nrecipient.postal_code=98028\npurposes=carrier_2d"},
    {"noughts behind a German code", "DE", UPS_TO("101150000", "276"),
        "recipient.postal_code=10115\nrecipient.country_code=DE"},
    {"noughts behind a Swiss code, its own kept", "CH", UPS_TO("800000000", "756"),
        "recipient.postal_code=8000\nrecipient.country_code=CH"},
    {"nine digits of a ZIP code", "US", UPS_TO("980283912", "840"),
        "recipient.postal_code=98028-3912"},
    {"a Canadian code alone", "CA", "!code128 420K1A0B1\n",
        "recipient.postal_code=K1A0B1\nrecipient.country_code=CA\npurposes=postal"},
    {"421 of the US with nine digits", "US", "!code128 421840980283912\n",
        "recipient.postal_code=98028-3912\nrecipient.country_code=US\npurposes=postal"},
    {"421 of no country", "US", "!code128 421999K1A0B1\n", "recipient.postal_code=-"},
    {"GS1: kilograms of a pallet", "US", "!gs1_128 3301001234\n", "weight=123.400 kg"},
    {"GS1: pounds", "US", "!gs1_128 3201000125\n", "weight=12.500 lb"},
    {"GS1: pounds of a pallet", "US", "!gs1_128 3400000125\n", "weight=125.000 lb"},
    {"GS1: a length is no weight", "US", "!gs1_128 3110000125\n", "weight=-"},
    {"GS1: routing", "US", "!gs1_128 403ABC123\n", "purposes=routing\ntracking_number=-"},
    {"GS1: with the name of its kind in front", "US", "!code128 ]C142098028\n",
        "recipient.postal_code=98028\npurposes=postal"},
    {"GS1 in a DataMatrix", "US", "!datamatrix ]d242098028\\1d400PO-7\n",
        "recipient.postal_code=98028\npurchase_order=PO-7"},
    {"an SSCC with a wrong digit is none", "US", "!gs1_128 00006141411234567891\n",
        "purposes=unknown\ntracking_number=-"},
    {"a number of a carrier within GS1", "US", "!gs1_128 42098028\\1d919400111899223197428497\n",
        "recipient.postal_code=98028"},
    {"nothing is a code of goods", "US", "?4006381333931\n10 10 20|FEDEX\n", "tracking_number=-"},
};

static void codes(void **state)
{
    CHECK(codes_cases);
}

/* ---- 8.2 tracking number and provider ---- */

static const struct label_case numbers_cases[] = {
    {"a barcode of the picture beats one of the request", "US",
        "!code128 1Z999AA10123456784\n?1Z12345E0205271686\n", "tracking_number=1Z999AA10123456784"},
    {"one of the request beats text", "US",
        "?1Z999AA10123456784\n10 10 20|TRACKING # 1Z12345E0205271686\n",
        "tracking_number=1Z999AA10123456784"},
    {"text behind a caption beats other text", "US",
        "10 10 20|1Z12345E0205271686\n10 60 20|TRACKING # 1Z999AA10123456784\n",
        "tracking_number=1Z999AA10123456784"},
    {"twelve digits behind a caption", "US", "10 10 20|TRACKING # 771234567890\n",
        "tracking_number=771234567890"},
    {"the captions, 1", "US", "10 10 20|TRK# 1Z999AA10123456784\n",
        "tracking_number=1Z999AA10123456784"},
    {"the captions, 2", "US", "10 10 20|WAYBILL 1Z999AA10123456784\n",
        "tracking_number=1Z999AA10123456784"},
    {"the captions, 3", "DE", "10 10 20|SENDUNGSNR 1Z999AA10123456784\n",
        "tracking_number=1Z999AA10123456784"},
    {"the captions, 4", "GB", "10 10 20|CONSIGNMENT 1Z999AA10123456784\n",
        "tracking_number=1Z999AA10123456784"},
    {"with dashes", "US", "10 10 20|TRACKING: 1Z-999-AA1-01-2345-6784\n",
        "tracking_number=1Z999AA10123456784"},
    {"behind the caption of a reference", "US",
        "10 10 20|USPS\n10 40 20|REF: "
        "9400111899223197428497\n",
        "tracking_number=-"},
    {"behind the caption of a phone", "US", "10 10 20|FEDEX\n10 40 20|TEL: 771234567890\n",
        "tracking_number=-"},
    {"an SSCC where USPS is named", "US", "!gs1_128 00006141411234567890\n10 10 20|USPS\n",
        "tracking_number=00006141411234567890\nprovider_id=usps"},
    {"an I is a one", "US", "10 10 20|TRACKING # IZ999AA10123456784\n",
        "tracking_number=1Z999AA10123456784"},
    {"an L is a one", "US", "10 10 20|TRACKING # 1Z999AAL0123456784\n",
        "tracking_number=1Z999AA10123456784"},
    {"an S is a five", "US", "10 10 20|TRACKING # 1Z1234SE0205271686\n",
        "tracking_number=1Z12345E0205271686"},
    {"a B is an eight", "US", "10 10 20|TRACKING # 1Z999AA101234567B4\n",
        "tracking_number=1Z999AA10123456784"},
    {"a Z is a two", "US", "10 10 20|TRACKING # 1Z999AA101Z3456784\n",
        "tracking_number=1Z999AA10123456784"},
    {"a G is a six", "US", "10 10 20|TRACKING # 1Z999AA1012345G784\n",
        "tracking_number=1Z999AA10123456784"},
    {"an eight among letters", "US", "10 10 20|TRACKING # RR733191240G8\n",
        "tracking_number=RR733191240GB"},
    {"a two among digits stays one", "US", "10 10 20|TRACKING # 12999AA10123456784\n",
        "tracking_number=-"},
    {"three signs are too many", "US", "10 10 20|TRACKING # 94O0I1L899223197428497\n",
        "tracking_number=-"},
    {"a wrong check digit is not mended", "US", "10 10 20|TRACKING # 1Z999AA10123456785\n",
        "tracking_number=-"},
    {"the number of all packages loses", "US",
        "10 10 20|MPS# 1Z12345E0205271686\n10 60 20|1Z999AA10123456784\n",
        "tracking_number=1Z999AA10123456784"},
    {"it is still a number", "US", "10 10 20|MASTER: 1Z12345E0205271686\n",
        "tracking_number=1Z12345E0205271686"},
    {"the check digit beats a printed name", "US", "!code128 1Z999AA10123456784\n10 10 20|FEDEX\n",
        "provider_id=ups"},
    {"a symbol beats a printed name", "US", FEDEX_OF("FDE", "", "") "20 20 20|USPS\n",
        "provider_id=fedex\ntracking_number=-"},
    {"a printed name beats a pattern", "US", "!code128 TBA123456789012\n10 10 20|GOFO\n",
        "tracking_number=TBA123456789012\nprovider_id=gofo"},
    {"a short name of four letters", "US", "10 10 20|USPQ\n", "provider_id=-"},
    {"a name within a word", "US", "10 10 20|FEDEXPRESSO\n", "provider_id=-"},
    {"a name with two letters wrong", "US", "10 10 20|PURQLATQR\n", "provider_id=-"},
};

static void numbers(void **state)
{
    CHECK(numbers_cases);
}

/* ---- how sure a value is ---- */

static uint32_t sure(struct arena *a, struct label_world *world, const char *drawn, bool postal)
{
    wharf_image_read image;
    struct label_given given;
    struct label_env env = label_world_env(world, a, "US", today());
    struct label l;

    label_picture_make(a, str_z(drawn), &image, &given);
    label_read(&env, &image, &given, &l);
    return postal ? l.recipient.postal_code.confidence : l.tracking_number.confidence;
}

/* The scores of section 8.2, and 1 - (1 - c)(1 - d) where two sources agree. */
static void confidences(void **state)
{
    static const struct {
        const char *drawn;
        uint32_t confidence;
    } cases[] = {
        {"!code128 1Z999AA10123456784\n", 1000},
        {"?1Z999AA10123456784\n", 980}, /* the client may have read something else */
        {"10 10 20|TRACKING # 1Z999AA10123456784\n", 950},
        {"10 10 20|1Z999AA10123456784\n", 850},
        {"!code128 TBA123456789012\n", 700},
        {"!code128 TBA123456789012\n10 10 20|TRACKING # TBA123456789012\n", 835},
        {"10 10 20|YunExpress\n10 40 20|TRACKING # YT1234567890123456\n", 450},
        {"10 10 20|nothing\n", 0},
    };
    static const char *const blocks[] = {"20 20 20|TO: JANE DOE\n20 46 20|77 SUNSET BLVD\n20 72 "
                                         "20|MIAMI FL 33101\n",
        "20 20 20|TO: JANE DOE\n20 46 20|77 SUNSET BLVD\n20 72 20|MIAMI FL 331O1\n"};
    struct label_world *world = label_world_new();

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t got = sure(*state, world, cases[i].drawn, false);

        if (got != cases[i].confidence)
            fail_msg("%s: %u, not %u", cases[i].drawn, got, cases[i].confidence);
    }
    /* a postal code with a sign that was taken for another one */
    assert_int_equal(
        sure(*state, world, blocks[0], true), sure(*state, world, blocks[1], true) + 100);
    label_world_free(world);
}

/* ---- 8.3 captions of parties ---- */

/* Draws two blocks: the lower one is larger, so that it is the recipient where no caption says
 * more. The caption stands above the one or the other. */
static void party_of(struct arena *a, struct label_world *world, const char *caption, bool sender)
{
    static const char above[] = "20 60 16|JOHN ABOVE\n20 82 16|1 MAIN ST\n20 104 16|SEATTLE WA "
                                "98101\n";
    static const char below[] = "20 460 24|JANE BELOW\n20 492 24|77 SUNSET BLVD\n20 524 24|MIAMI "
                                "FL 33101\n";
    struct label_case c = {
        caption, "US", NULL, "recipient.name=JOHN ABOVE\nsender.name=JANE BELOW"};
    char drawn[512];

    (void)snprintf(
        drawn, sizeof(drawn), "20 %u 16|%s\n%s%s", sender ? 436 : 40, caption, above, below);
    c.drawn = drawn;
    assert_int_equal(check(a, world, &c), 0);
}

static void captions(void **state)
{
    static const char *const recipient[] = {"to", "ship to", "deliver to", "consignee", "recipient",
        "an:", "empfänger", "destinataire", "destinatario", "odbiorca", "címzett", "mottagare",
        "alıcı", "SHIP TO", "Ship To:", "EMPFÄNGER:", "To / À", "à:", "10:"};
    static const char *const sender[] = {"from", "ship from", "shipper", "sender", "return to",
        "von:", "absender", "expéditeur", "remitente", "nadawca", "feladó", "avsändare",
        "gönderici", "SHIP FROM:", "Absender", "EXPÉDITEUR"};
    struct label_world *world = label_world_new();
    struct label_case none = {"a number without its mark is no caption", "US",
        "20 40 16|10\n20 60 16|JOHN ABOVE\n20 82 16|1 MAIN ST\n20 104 16|SEATTLE WA 98101\n"
        "20 460 24|JANE BELOW\n20 492 24|77 SUNSET BLVD\n20 524 24|MIAMI FL 33101\n",
        "recipient.name=JANE BELOW"};

    for (size_t i = 0; i < sizeof(recipient) / sizeof(recipient[0]); i++)
        party_of(*state, world, recipient[i], false);
    for (size_t i = 0; i < sizeof(sender) / sizeof(sender[0]); i++)
        party_of(*state, world, sender[i], true);
    assert_int_equal(check(*state, world, &none), 0);
    label_world_free(world);
}

/* ---- 8.3 blocks, 8.4 addresses ---- */

static const struct label_case blocks_cases[] = {
    {"a dark rule that stands upright", "US",
        "20 20 20|JANE ANN ELISE DOE ACME INC\n20 46 20|5600 SUNSET STREET 1 MAIN ST\n"
        "20 72 20|SANTA FE, NM 87501 SEATTLE WA 98101\n=240 10 3 90\n",
        "recipient.name=JANE ANN ELISE DOE\nrecipient.city=SANTA FE\nsender.business=ACME INC\n"
        "sender.line1=1 MAIN ST"},
    {"one digit of the block differs from the barcode", "US",
        "20 20 20|JANE DOE\n20 50 20|77 SUNSET BLVD\n20 80 20|MIAMI FL 33107\n!code128 "
        "42033101\n",
        "recipient.name=JANE DOE\nrecipient.postal_code=33101"},
    {"two differ", "US",
        "20 20 20|JANE DOE\n20 50 20|77 SUNSET BLVD\n20 80 20|MIAMI FL 33177\n!code128 "
        "42033101\n",
        "recipient.name=-\nrecipient.postal_code=33101"},
    {"a barcode and a caption", "US",
        "20 20 20|TO: JANE DOE\n20 50 20|77 SUNSET BLVD\n20 80 20|MIAMI FL 33101\n"
        "20 400 20|FROM: ACME INC\n20 430 20|1 MAIN ST\n20 460 20|SEATTLE WA 98101\n"
        "!code128 42033101\n",
        "recipient.name=JANE DOE\nsender.business=ACME INC"},
    {"six digits are no phone", "US",
        "20 20 20|TO: JANE DOE\n20 46 20|555010\n20 72 20|77 SUNSET BLVD\n20 98 20|MIAMI FL "
        "33101\n",
        "recipient.phone=-"},
    {"seven are one", "US",
        "20 20 20|TO: JANE DOE\n20 46 20|77 SUNSET BLVD\n20 72 20|MIAMI FL 33101\n20 98 "
        "20|555-0104\n",
        "recipient.phone=555-0104"},
    {"fifteen are one", "US",
        "20 20 20|TO: JANE DOE\n20 46 20|77 SUNSET BLVD\n20 72 20|MIAMI FL 33101\n20 98 "
        "20|+123 456 789 012 345\n",
        "recipient.phone=+123 456 789 012 345"},
    {"sixteen are none", "US",
        "20 20 20|TO: JANE DOE\n20 46 20|77 SUNSET BLVD\n20 72 20|MIAMI FL 33101\n20 98 "
        "20|+1234 5678 9012 3456\n",
        "recipient.phone=-"},
    {"care of somebody", "US",
        "20 20 20|TO: JANE DOE\n20 46 20|C/O ACME INC\n20 72 20|1 MAIN ST\n20 98 20|SEATTLE WA "
        "98101\n",
        "recipient.name=JANE DOE\nrecipient.business=ACME INC\nrecipient.line1=1 MAIN ST"},
    {"a business by a word", "US",
        "20 20 20|TO: RIVERSIDE PHARMACY\n20 46 20|1 MAIN ST\n20 72 20|SEATTLE WA 98101\n",
        "recipient.business=RIVERSIDE PHARMACY\nrecipient.name=-"},
    {"sideways to the other side", "US",
        "20 20 16@270|ACME SUPPLY COMPANY\n20 44 16@270|100 INDUSTRIAL WAY\n20 68 "
        "16@270|SPRINGFIELD IL 62701\n340 270 20|SHIP TO:\n370 300 24|JANE Q SAMPLE\n370 334 "
        "24|4200 HARBOR AVENUE\n370 368 24|KENMORE WA 98028\n",
        "recipient.name=JANE Q SAMPLE\nsender.business=ACME SUPPLY COMPANY"},
    {"a fleet", "US",
        "20 20 20|TO: LT JANE DOE\n20 46 20|UNIT 100100 BOX 4120\n20 72 20|FPO AP 96691\n",
        "recipient.city=FPO\nrecipient.state_code=AP\nrecipient.postal_code=96691"},
    {"a state by its name", "US",
        "20 20 20|TO: JANE DOE\n20 46 20|77 SUNSET BLVD\n20 72 20|SAN DIEGO, California 92101\n",
        "recipient.city=SAN DIEGO\nrecipient.state_code=CA\nrecipient.postal_code=92101"},
    {"a unit word", "US",
        "20 20 20|TO: JANE DOE\n20 46 20|77 SUNSET BLVD UNIT 4\n20 72 20|MIAMI FL 33101\n",
        "recipient.line1=77 SUNSET BLVD\nrecipient.line2=UNIT 4"},
    {"a country in German", "US",
        "20 20 20|TO: Hans Huber\n20 46 20|Herrengasse 5\n20 72 20|1010 WIEN\n20 98 "
        "20|ÖSTERREICH\n",
        "recipient.country_code=AT\nrecipient.postal_code=1010"},
    {"a country in French", "US",
        "20 20 20|TO: Hans Muster\n20 46 20|Bundesgasse 5\n20 72 20|3003 BERN\n20 98 20|SUISSE\n",
        "recipient.country_code=CH\nrecipient.postal_code=3003"},
    {"a country in Spanish", "US",
        "20 20 20|TO: Hans Muster\n20 46 20|Hauptstrasse 5\n20 72 20|10115 BERLIN\n20 98 "
        "20|ALEMANIA\n",
        "recipient.country_code=DE\nrecipient.postal_code=10115"},
    {"a message's country comes first", "DE",
        FEDEX_OF("FDE", "7712345678900201", "") "20 20 20|TO: JANE DOE\n20 46 20|4200 HARBOR "
                                                "AVE\n20 72 20|98028 KENMORE\n20 98 20|GERMANY\n",
        "recipient.country_code=US"},
    {"a printed country comes before the location's", "US",
        "20 20 20|TO: Erika Muster\n20 46 20|Heidestraße 17\n20 72 20|51147 Köln\n20 98 "
        "20|GERMANY\n",
        "recipient.country_code=DE"},
    {"the location's country comes last", "IT",
        "20 20 20|TO: Mario Rossi\n20 46 20|Via Roma 5\n20 72 20|20121 MILANO\n",
        "recipient.country_code=IT\nrecipient.postal_code=20121\nrecipient.city=MILANO"},
    {"the number of a street is no postal code", "US",
        "20 20 20|TO: JANE DOE\n20 46 20|10115 SUNSET BLVD\n20 72 20|MIAMI FL 33101\n",
        "recipient.line1=10115 SUNSET BLVD\nrecipient.postal_code=33101"},
};

static void blocks(void **state)
{
    CHECK(blocks_cases);
}

/* ---- 8.5 other fields ---- */

#define NUMBERED "!code128 1Z999AA10123456784\n"

static const struct label_case fields_cases[] = {
    {"ACTWGT", "US", "10 10 20|ACTWGT: 3.10 LB\n", "weight=3.100 lb"},
    {"SHP WT", "US", "10 10 20|SHP WT: 3 LB\n", "weight=3.000 lb"},
    {"POIDS", "FR", "10 10 20|POIDS 1,25 KG\n", "weight=1.250 kg"},
    {"WAGA", "PL", "10 10 20|WAGA: 1,5 kg\n", "weight=1.500 kg"},
    {"VIKT", "SE", "10 10 20|VIKT 2 kg\n", "weight=2.000 kg"},
    {"ounces", "US", "10 10 20|WT: 12 OZ\n", "weight=12.000 oz"},
    {"grams", "DE", "10 10 20|GEWICHT: 850 G\n", "weight=850.000 g"},
    {"DIMMED", "US", "10 10 20|DIMMED: 12 X 10 X 8 IN\n", "dimensions=12.000 x 10.000 x 8.000 in"},
    {"millimetres", "DE", "10 10 20|DIM 300x205x100 MM\n",
        "dimensions=300.000 x 205.000 x 100.000 mm"},
    {"PARCEL", "US", "10 10 20|PARCEL 2/3\n", "package=2/3"},
    {"PACZKA", "PL", "10 10 20|PACZKA 2/3\n", "package=2/3"},
    {"BOX", "US", "10 10 20|BOX: 2/3\n", "package=2/3"},
    {"PIECE", "US", "10 10 20|PIECE 2/3\n", "package=2/3"},
    {"CARTON", "US", "10 10 20|CARTON 2 OF 3\n", "package=2/3"},
    {"PURCHASE ORDER", "US", "10 10 20|PURCHASE ORDER: 4500-1\n", "purchase_order=4500-1"},
    {"ORD#", "US", "10 10 20|ORD# 77-1\n", "order_number=77-1"},
    {"ORDER", "US", "10 10 20|ORDER: 77-1\n", "order_number=77-1"},
    {"INVOICE", "US", "10 10 20|INV: 998\n", "invoice_number=998"},
    {"RETURN AUTH", "US", "10 10 20|RETURN AUTH: R-5\n", "rma_number=R-5"},
    {"REFERENCE NO.1", "US", "10 10 20|REFERENCE NO.1: AB-1\n", "reference_number=AB-1"},
    {"ALTREF", "US", "10 10 20|ALTREF: AB-1\n", "reference_number=AB-1"},
    {"ACCOUNT", "US", "10 10 20|ACCOUNT: 12345\n", "account_id=12345"},
    {"CAD", "US", "10 10 20|CAD: 123/WSXI3600\n", "account_id=123/WSXI3600"},
    {"the first of two", "US", "10 10 20|PO: 1-A\n10 40 20|PO: 2-B\n",
        "purchase_order=1-A\nreferences=purchase_order:1-A,purchase_order:2-B"},
    {"SHIPPED", "US", "10 10 20|SHIPPED: 20 FEB 2026\n", "ship_date=2026-02-20"},
    {"EXPECTED", "US", "10 10 20|EXPECTED: 16MAR26\n", "delivery_date=2026-03-16"},
    {"DUE", "US", "10 10 20|DUE: 03/16/2026\n", "delivery_date=2026-03-16"},
    {"an S or a 21 in October", "US", "10 10 20|SHIP DATE: 210CT25\n", "ship_date=2025-10-21"},
    {"400 days ago", "US", "10 10 20|SHIP DATE: 2025-02-05\n", "ship_date=2025-02-05"},
    {"401 days ago", "US", "10 10 20|SHIP DATE: 2025-02-04\n", "ship_date=-"},
    {"in 400 days", "US", "10 10 20|DELIVER BY 2027-04-16\n", "delivery_date=2027-04-16"},
    {"in 401 days", "US", "10 10 20|DELIVER BY 2027-04-17\n", "delivery_date=-"},
    {"express of the posts", "US", "!code128 EE733191240GB\n", "service_level_name=express"},
    {"C of the posts", "US", "!code128 CC733191240GB\n", "service_level_name=postal"},
    {"L of the posts", "US", "!code128 LL733191240GB\n", "service_level_name=postal"},
    {"U of the posts", "US", "!code128 UU733191240GB\n", "service_level_name=postal"},
    {"V of the posts", "US", "!code128 VV733191240GB\n", "service_level_name=postal"},
    {"words of the class that a code has", "US",
        "!code128 1Z12A34B0112345675\n10 10 20|UPS NEXT DAY AIR SAVER\n",
        "service_level_name=overnight\nprovider_service_level_id=next_day_air_saver"},
    {"words of another class", "US", UPS_TO("980280000", "840") "10 10 20|UPS NEXT DAY AIR\n",
        "service_level_name=ground\nprovider_service_level_id=ground"},
    {"refrigerate", "US", "10 10 20|REFRIGERATE\n", "tags=perishable,cold_storage"},
    {"UN3480", "US", "10 10 20|UN3480\n", "tags=lithium"},
    {"UN3090", "US", "10 10 20|UN 3090\n", "tags=lithium"},
    {"UN3091", "US", "10 10 20|UN3091\n", "tags=lithium"},
    {"alcohol", "US", "10 10 20|CONTAINS ALCOHOL\n", "tags=alcohol"},
    {"21 and more", "US", "10 10 20|ADULT SIGNATURE 21+\n", "tags=alcohol"},
    {"confidential", "US", "10 10 20|CONFIDENTIAL\n", "tags=confidential"},
    {"of high value", "US", "10 10 20|HIGH VALUE\n", "tags=high_value"},
};

static void fields(void **state)
{
    CHECK(fields_cases);
}

/* ---- section 3: the text is cut ---- */

/* At 32 KiB, never within a sign: of two bytes each, or of one and then two. */
static void text_is_cut(void **state)
{
    struct label_world *world = label_world_new();
    struct label_env env = label_world_env(world, *state, "US", today());

    for (size_t odd = 0; odd < 2; odd++) {
        struct buf drawn;
        wharf_image_read image;
        struct label l;

        buf_init(&drawn, 1 << 20);
        buf_addz(&drawn, odd ? "10 10 20|x" : "10 10 20|");
        for (size_t i = 0; i < 20000; i++)
            buf_addz(&drawn, "ä");
        buf_addz(&drawn, "\n10 40 20|behind\n");
        label_picture_make(*state, buf_str(&drawn), &image, NULL);
        label_read(&env, &image, NULL, &l);
        assert_int_equal(l.raw_text.n, LABEL_TEXT_MAX - odd);
        assert_memory_equal(l.raw_text.p + l.raw_text.n - 2, "ä", 2);
        buf_done(&drawn);
    }
    label_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(codes), UNIT(numbers), UNIT(confidences),
        UNIT(captions), UNIT(blocks), UNIT(fields), UNIT(text_is_cut)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
