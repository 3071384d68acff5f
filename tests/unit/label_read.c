/* label_read.c - the reader of labels (modules/inference/label.h), rule by rule of
 * docs/spec/06-inference.md section 8: pictures written as text (tests/labels/label_picture.h) and
 * the fields that must come out. */
#include "label_cases.h"

/* ---- 8.1 barcodes ---- */

#define FEDEX                                                                                      \
    "!pdf417 [)>\\1e01\\1d0298028\\1d840\\1d019\\1d7712345678900201\\1dFDE\\1d1234567\\1d069\\1d"  \
    "\\1d1/2\\1d2.50LB\\1dN\\1d4200 Harbor Ave\\1dKenmore\\1dWA\\1dJane Doe\\1e06\\1d11ZNorthern " \
    "Parts\\1d12Z4255553434\\1d14ZSuite 12\\1d9K77-20451\\1dKPO-9\\1e\\04\n"
#define UPS_MAXICODE                                                                               \
    "!maxicode [)>\\1e01\\1d96980280000\\1d840\\1d003\\1d1Z12345671\\1dUPSN\\1d12A34B\\1d069\\1d"  \
    "\\1d1/1\\1d10\\1dY\\1d4200 HARBOR AVE\\1dKENMORE\\1dWA\\1e\\04\n"

static const struct label_case barcodes_cases[] = {
    {"PDF417 of FedEx", "US", FEDEX,
        "tracking_number=771234567890\nprovider_id=fedex\nrecipient.name=Jane Doe\n"
        "recipient.business=Northern Parts\nrecipient.phone=4255553434\n"
        "recipient.line1=4200 Harbor Ave\nrecipient.line2=Suite 12\nrecipient.city=Kenmore\n"
        "recipient.state_code=WA\nrecipient.postal_code=98028\nrecipient.country_code=US\n"
        "package=1/2\nweight=2.500 lb\nship_date=2026-03-10\naccount_id=1234567\n"
        "reference_number=77-20451\npurchase_order=PO-9\npurposes=carrier_2d\nsender.name=-"},
    {"MaxiCode of UPS, its number put together", "US", UPS_MAXICODE,
        "tracking_number=1Z12A34B0312345671\nprovider_id=ups\nservice_level_name=ground\n"
        "recipient.postal_code=98028\nrecipient.city=KENMORE\nweight=10.000 lb\n"
        "package=1/1\nrecipient.name=-"},
    {"an envelope of nobody known", "US",
        "!pdf417 [)>\\1e01\\1d0298028\\1d840\\1d019\\1d7712345678900201\\1dACME\\1d1\\1e\\04\n",
        "tracking_number=-\nprovider_id=-\nrecipient.postal_code=-"},
    {"USPS with the ZIP code in front", "US", "!gs1_128 42098028\\1d9400111899223197428497\n",
        "tracking_number=9400111899223197428497\nprovider_id=usps\npurposes=tracking\n"
        "recipient.postal_code=98028"},
    {"the same without a separator, nine digits", "US",
        "!code128 4209802839129400111899223197428497\n",
        "tracking_number=9400111899223197428497\nrecipient.postal_code=98028-3912\n"
        "recipient.country_code=US"},
    {"FedEx, 34 digits", "US", "!code128 1001921334250009802800771234567000\n1 1 20|FedEx\n",
        "tracking_number=771234567000\nprovider_id=fedex"},
    {"420 alone is a postal code", "US", "!code128 42098028\n1 1 20|UPS\n",
        "tracking_number=-\nrecipient.postal_code=98028\npurposes=postal"},
    {"420 and nine digits are no number of FedEx", "US", "!code128 420980283912\n1 1 20|FedEx\n",
        "tracking_number=-\nrecipient.postal_code=98028-3912\npurposes=postal"},
    {"421 has the country", "US", "!code128 421124K1A0B1\n",
        "recipient.postal_code=K1A0B1\nrecipient.country_code=CA\npurposes=postal"},
    {"routing with a code that no address has", "US", "!code128 2LUS328012+82299688\n",
        "recipient.postal_code=-\npurposes=routing"},
    {"routing with nine digits", "US", "!code128 2LUS328012778+82299688\n",
        "recipient.postal_code=32801-2778\npurposes=routing"},
    {"routing of DHL", "DE", "!code128 2LDE10115+01000000\n",
        "recipient.postal_code=10115\nrecipient.country_code=DE\npurposes=routing"},
    {"GS1: weight and purchase order", "US", "!gs1_128 3102001250400PO-7\\1d37100\n",
        "weight=12.500 kg\npurchase_order=PO-7"},
    {"GS1 as people type it", "US", "?(420)98028\n",
        "recipient.postal_code=98028\npurposes=postal"},
    {"SSCC", "US", "!gs1_128 00006141411234567890\n", "purposes=sscc\ntracking_number=-"},
    {"SSCC of DHL is a number", "DE", "!gs1_128 0000340434161094910207\n1 1 20|DHL\n",
        "provider_id=dhl"},
    {"goods are no parcels", "US", "!ean13 4006381333931\n!upca 036000291452\n1 1 20|FedEx\n",
        "tracking_number=-\npurposes=unknown,unknown"},
    {"a code that is printed as a reference", "US", "!code128 77-20451\n10 10 20|REF: 77-20451\n",
        "purposes=reference"},
    {"barcodes of the request", "US", "?1Z999AA10123456784\n",
        "tracking_number=1Z999AA10123456784\nprovider_id=ups\npurposes=tracking"},
};

static void barcodes(void **state)
{
    CHECK(barcodes_cases);
}

/* ---- 8.2 tracking number and provider ---- */

static const struct label_case numbers_cases[] = {
    {"a barcode beats text", "US",
        "!code128 1Z999AA10123456784\n10 10 20|TRACKING # 1Z12345E0205271686\n",
        "tracking_number=1Z999AA10123456784"},
    {"behind a caption, with blanks", "US", "10 10 20|TRACKING #: 1Z 999 AA1 01 2345 6784\n",
        "tracking_number=1Z999AA10123456784\nprovider_id=ups"},
    {"without a caption", "US", "10 10 20|1Z 999 AA1 01 2345 6784\n",
        "tracking_number=1Z999AA10123456784"},
    {"below its caption", "US", "10 10 20|Sendungsnummer\n10 40 20|RR733191240GB\n",
        "tracking_number=RR733191240GB\nprovider_id=royal_mail"},
    {"to the right of its caption", "US", "10 10 20|AWB              RR733191240GB\n",
        "tracking_number=RR733191240GB"},
    {"one O is a nought", "US", "10 10 20|TRACKING # 1Z999AA1O123456784\n",
        "tracking_number=1Z999AA10123456784"},
    {"two letters", "US",
        "10 10 20|TRACKING # 94001118992231974284O7\n"
        "10 40 20|USPS\n",
        "tracking_number=-"},
    {"letters among digits", "US", "10 10 20|TRACKING # 94OO111899223197428497\n10 40 20|USPS\n",
        "tracking_number=9400111899223197428497"},
    {"FedEx needs its name or caption", "US", "10 10 20|771234567890\n",
        "tracking_number=-\nprovider_id=-"},
    {"FedEx with its name", "US", "10 10 20|FedEx\n10 40 20|7712 3456 7890\n",
        "tracking_number=771234567890\nprovider_id=fedex"},
    {"the number of a form in front", "US",
        "10 10 20|FedEx\n10 40 20|TRK#\n10 70 20|0201 7712 3456 7890\n",
        "tracking_number=771234567890\nprovider_id=fedex"},
    {"a phone is no number of DHL", "US", "10 10 20|DHL\n10 40 20|(206) 555-0104\n",
        "tracking_number=-\nprovider_id=dhl"},
    {"a purchase order is none", "US", "10 10 20|DHL\n10 40 20|PO: 4500012300\n",
        "tracking_number=-\npurchase_order=4500012300"},
    {"nor is the same as a barcode alone", "US", "!code128 4500012300\n", "tracking_number=-"},
    {"a master's number loses", "US",
        "10 10 20|MASTER: 1Z12345E0205271686\n10 40 20|TRACKING: 1Z999AA10123456784\n",
        "tracking_number=1Z999AA10123456784"},
    {"a name alone", "US", "10 10 20|FEDEX\n", "provider_id=fedex\ntracking_number=-"},
    {"a name with one letter wrong", "US", "10 10 20|PUROLATQR\n", "provider_id=purolator"},
    {"a word that is nearly a name", "US", "10 10 20|CORNER PARCEL DESK\n", "provider_id=-"},
    {"a name in two words", "US", "10 10 20|PostN L\n", "provider_id=postnl"},
    {"short names must be right", "US", "10 10 20|UPZ\n", "provider_id=-"},
    {"small ups is a word", "US", "10 10 20|ups and downs\n", "provider_id=-"},
    {"two names are none", "US", "10 10 20|FEDEX\n10 40 20|USPS\n", "provider_id=-"},
    {"three letters of its own in a barcode", "US", "!code128 TBA123456789012\n",
        "tracking_number=TBA123456789012\nprovider_id=amazon\npurposes=tracking"},
    {"two letters need a name", "US", "!code128 YT1234567890123456\n", "tracking_number=-"},
    {"two letters with the name", "US", "!code128 YT1234567890123456\n10 10 20|YunExpress\n",
        "tracking_number=YT1234567890123456\nprovider_id=yunexpress"},
    {"three letters that are printed only", "US", "10 10 20|TBA123456789012\n",
        "tracking_number=-"},
    {"a name that counts alone on its line", "US", "10 10 20|amazon\n", "provider_id=amazon"},
    {"the same within a line", "US", "10 10 20|AMAZON FULFILLMENT\n", "provider_id=-"},
    {"one digit again and again", "US", "10 10 20|TRACKING # 111111111111\n10 40 20|FEDEX\n",
        "tracking_number=-"},
};

static void numbers(void **state)
{
    CHECK(numbers_cases);
}

/* ---- 8.3 parties, 8.4 addresses ---- */

#define RECIPIENT_FIELDS                                                                           \
    "recipient.name=JANE Q SAMPLE\nrecipient.business=NORTHERN PARTS LLC\n"                        \
    "recipient.line1=4200 HARBOR AVENUE\nrecipient.line2=SUITE 12\nrecipient.city=KENMORE\n"       \
    "recipient.state_code=WA\nrecipient.postal_code=98028\nrecipient.country_code=US\n"

static const struct label_case parties_cases[] = {
    {"a caption above", "US", SENDER_BLOCK "40 270 20|SHIP TO:\n" RECIPIENT_BLOCK,
        RECIPIENT_FIELDS "sender.business=ACME SUPPLY COMPANY\nsender.city=SPRINGFIELD"},
    {"a logo far to the right of the caption", "DE",
        "20 20 20|Empfänger\n620 30 60|dqd\n20 50 24|Erika Mustermann\n20 84 24|Heidestraße 17\n"
        "20 118 24|51147 Köln\n",
        "recipient.name=Erika Mustermann\nrecipient.city=Köln\nrecipient.postal_code=51147"},
    {"a caption to the left", "US", SENDER_BLOCK "10 300 20|TO\n" RECIPIENT_BLOCK,
        RECIPIENT_FIELDS},
    {"a caption of two lines to the left", "US",
        SENDER_BLOCK "10 300 14|SHIP\n10 318 14|TO:\n" RECIPIENT_BLOCK, RECIPIENT_FIELDS},
    {"a caption in the first line", "US",
        "20 20 20|FROM: JOHN SENDER\n20 50 20|123 MAIN ST\n20 80 20|SEATTLE, WA 98101\n"
        "20 160 20|TO: JANE DOE\n20 190 20|77 SUNSET BLVD APT 3B\n20 220 20|MIAMI FL 33101\n",
        "sender.name=JOHN SENDER\nsender.line1=123 MAIN ST\nsender.city=SEATTLE\n"
        "recipient.name=JANE DOE\nrecipient.line2=APT 3B\nrecipient.postal_code=33101"},
    {"captions decide, not the place", "US",
        "20 20 20|Ship To\n20 50 20|JANE DOE\n20 80 20|77 SUNSET BLVD\n20 110 20|MIAMI FL "
        "33101\n"
        "20 300 30|Return To\n20 340 30|ACME INC\n20 380 30|1 MAIN ST\n20 420 30|SEATTLE WA "
        "98101\n",
        "recipient.name=JANE DOE\nsender.business=ACME INC"},
    {"German", "DE",
        "20 20 20|Absender: Muster Versand GmbH\n20 50 20|Industriestr. 5\n20 80 20|53113 "
        "Bonn\n"
        "20 200 20|Empfänger:\n20 230 20|Erika Mustermann\n20 260 20|Heidestraße 17\n"
        "20 290 20|51147 Köln\n",
        "sender.business=Muster Versand GmbH\nsender.city=Bonn\nrecipient.name=Erika "
        "Mustermann\nrecipient.line1=Heidestraße 17\nrecipient.city=Köln\n"
        "recipient.postal_code=51147\nrecipient.country_code=DE"},
    {"a sharp s that OCR does not know", "DE",
        "20 230 20|Erika Mustermann\n20 260 20|HeidestraBe 17\n20 290 20|51147 Koln\n",
        "recipient.line1=Heidestraße 17"},
    {"another address in the carrier's symbol", "US",
        "20 20 20|TO: ACME INC\n20 46 20|1 MAIN ST\n20 72 20|SEATTLE WA 98101\n20 98 20|(206) "
        "555-0104\n" UPS_MAXICODE,
        "recipient.business=-\nrecipient.phone=-\nrecipient.line1=4200 HARBOR AVE"},
    {"French", "FR",
        "20 20 20|Destinataire\n20 50 20|Marie Dupont\n20 80 20|12 rue de la Paix\n"
        "20 110 20|75002 PARIS\n20 140 20|FRANCE\n",
        "recipient.name=Marie Dupont\nrecipient.line1=12 rue de la Paix\nrecipient.city=PARIS\n"
        "recipient.postal_code=75002\nrecipient.country_code=FR"},
    {"a country that is printed, from elsewhere", "US",
        "20 20 20|TO: Hans Huber\n20 50 20|Herrengasse 5\n20 80 20|1010 WIEN\n20 110 "
        "20|AUSTRIA\n",
        "recipient.city=WIEN\nrecipient.postal_code=1010\nrecipient.country_code=AT"},
    {"a country that nothing tells stays unknown", "US",
        "20 20 20|TO: Hans Huber\n20 50 20|Herrengasse 5\n20 80 20|1010 WIEN\n",
        "recipient.city=WIEN\nrecipient.postal_code=1010\nrecipient.country_code=-"},
    {"a postal code of one country alone", "US",
        "20 20 20|TO: JOHN SMITH\n20 50 20|10 DOWNING STREET\n20 80 20|LONDON SW1A 2AA\n",
        "recipient.postal_code=SW1A 2AA\nrecipient.country_code=GB\nrecipient.city=LONDON"},
    {"the larger letters", "US",
        "20 20 30|JANE DOE\n20 60 30|77 SUNSET BLVD\n20 100 30|MIAMI FL 33101\n"
        "20 400 16|ACME INC\n20 424 16|1 MAIN ST\n20 448 16|SEATTLE WA 98101\n",
        "recipient.name=JANE DOE\nsender.business=ACME INC"},
    {"of equal ones the lower", "US",
        "20 20 20|ACME INC\n20 50 20|1 MAIN ST\n20 80 20|SEATTLE WA 98101\n"
        "20 400 20|JANE DOE\n20 430 20|77 SUNSET BLVD\n20 460 20|MIAMI FL 33101\n",
        "recipient.name=JANE DOE\nsender.business=ACME INC"},
    {"a barcode says whose it is", "US",
        "20 20 20|JANE DOE\n20 50 20|77 SUNSET BLVD\n20 80 20|MIAMI FL 33101\n"
        "20 400 20|ACME INC\n20 430 20|1 MAIN ST\n20 460 20|SEATTLE WA 98101\n"
        "!code128 42033101\n",
        "recipient.name=JANE DOE\nsender.business=ACME INC"},
    {"the only block is not the one of the barcode", "US",
        "20 20 20|ACME INC\n20 50 20|1 MAIN ST\n20 80 20|SEATTLE WA 98101\n!code128 42033101\n",
        "recipient.name=-\nrecipient.business=-\nrecipient.postal_code=33101\n"
        "recipient.city=-"},
    {"one block", "US", "20 20 20|JANE DOE\n20 50 20|77 SUNSET BLVD\n20 80 20|MIAMI FL 33101\n",
        "recipient.name=JANE DOE\nsender.name=-"},
    {"a dark rule between", "US",
        "20 20 20|ACME INC\n20 46 20|1 MAIN ST\n20 72 20|SEATTLE WA 98101\n=0 95 812 3\n"
        "20 102 20|JANE DOE\n20 128 20|77 SUNSET BLVD\n20 154 20|MIAMI FL 33101\n",
        "recipient.name=JANE DOE\nsender.business=ACME INC"},
    {"close together, without a rule", "US",
        "20 20 20|ACME INC\n20 46 20|1 MAIN ST\n20 72 20|SEATTLE WA 98101\n"
        "20 98 20|JANE DOE\n20 124 20|77 SUNSET BLVD\n20 150 20|MIAMI FL 33101\n",
        "recipient.name=JANE DOE\nsender.business=ACME INC"},
    {"phone and mail in the block", "US",
        "20 20 20|FROM: JOHN SENDER\n20 46 20|(206) 555-0104\n20 72 20|ACME INC\n20 98 20|1 "
        "MAIN "
        "ST\n20 124 20|SEATTLE WA 98101\n20 150 20|john@example.com\n",
        "sender.name=JOHN SENDER\nsender.phone=(206) 555-0104\nsender.business=ACME INC\n"
        "sender.email=john@example.com\nsender.city=SEATTLE"},
    {"ATTN is the name", "US",
        "20 20 20|TO: ACME INC\n20 46 20|ATTN: JANE DOE\n20 72 20|1 MAIN ST\n20 98 20|SEATTLE "
        "WA "
        "98101\n",
        "recipient.name=JANE DOE\nrecipient.business=ACME INC\nrecipient.line1=1 MAIN ST"},
    {"a business before a person", "US",
        "20 20 20|TO: NORTHWIND\n20 46 20|JANE DOE\n20 72 20|1 MAIN ST\n20 98 20|SEATTLE WA "
        "98101\n",
        "recipient.name=JANE DOE\nrecipient.business=NORTHWIND"},
    {"a street without a number", "US",
        "20 20 20|TO: J SMITH\n20 46 20|TEST STREET\n20 72 20|KENMORE WA 98028-3912\n",
        "recipient.name=J SMITH\nrecipient.line1=TEST STREET\nrecipient.city=KENMORE\n"
        "recipient.postal_code=98028-3912"},
    {"a box", "US", "20 20 20|TO: JANE DOE\n20 46 20|PO BOX 1234\n20 72 20|SEATTLE WA 98101\n",
        "recipient.line1=PO BOX 1234\npurchase_order=-"},
    {"military", "US",
        "20 20 20|TO: SGT JOHN DOE\n20 46 20|PSC 802 BOX 74\n20 72 20|APO AE 09499\n",
        "recipient.city=APO\nrecipient.state_code=AE\nrecipient.postal_code=09499"},
    {"sideways", "US",
        "20 20 16@90|ACME SUPPLY COMPANY\n20 44 16@90|100 INDUSTRIAL WAY\n20 68 "
        "16@90|SPRINGFIELD "
        "IL 62701\n40 270 20|SHIP TO:\n" RECIPIENT_BLOCK,
        RECIPIENT_FIELDS "sender.business=ACME SUPPLY COMPANY"},
    {"FedEx: the id of the origin is no name", "US",
        "20 20 16|ORIGIN ID:LEXA (206) 555-0104    SHIP DATE: 10MAR26\n"
        "20 42 16|JOHN SENDER                      ACTWGT: 2.00 LB\n"
        "20 64 16|ACME INC                         CAD: 123/WSXI\n"
        "20 86 16|123 MAIN ST\n20 108 16|SEATTLE, WA 98101\n20 130 16|UNITED STATES US\n",
        "sender.name=JOHN SENDER\nsender.business=ACME INC\nsender.phone=(206) 555-0104\n"
        "sender.country_code=US\nship_date=2026-03-10\nweight=2.000 lb\naccount_id=123/WSXI"},
    {"a postal code on a line of its own", "GB",
        "20 20 20|Mr John Smith\n20 46 20|Flat 3\n20 72 20|10 Station Road\n20 98 20|READING\n"
        "20 124 20|RG1 1LZ\n",
        "recipient.name=Mr John Smith\nrecipient.city=READING\nrecipient.postal_code=RG1 1LZ\n"
        "recipient.line1=10 Station Road\nrecipient.line2=Flat 3"},
    {"an address in one line", "GB",
        "20 20 20|Return address: Widgets Ltd, 5 Mill Lane, LEEDS LS1 4AP\n",
        "sender.business=Widgets Ltd\nsender.line1=5 Mill Lane\nsender.city=LEEDS\n"
        "sender.postal_code=LS1 4AP"},
    {"a caption in front of the second line", "US",
        "100 20 20|JANE DOE\n20 46 20|TO:    77 SUNSET BLVD\n104 72 20|MIAMI FL 33101\n",
        "recipient.name=JANE DOE\nrecipient.line1=77 SUNSET BLVD\nrecipient.city=MIAMI"},
    {"a nought of a Canadian code", "US",
        "20 20 20|TO: JANE DOE\n20 46 20|10 KING ST W\n20 72 20|EDMONTON AB T5J ON3\n",
        "recipient.postal_code=T5J 0N3\nrecipient.city=EDMONTON\nrecipient.country_code=CA"},
    {"a one of a British code, on a line of its own", "GB",
        "20 20 20|TO: JANE DOE\n20 46 20|10 DOWNING STREET\n20 72 20|LONDON\n20 98 20|SWIA 2AA\n",
        "recipient.postal_code=SW1A 2AA\nrecipient.city=LONDON"},
    {"a nought of a Dutch code", "NL",
        "20 20 20|Aan: Jan Jansen\n20 46 20|Kerkstraat 5\n20 72 20|1O12 AB Amsterdam\n",
        "recipient.postal_code=1012 AB\nrecipient.city=Amsterdam"},
    {"a nought of a ZIP code", "US",
        "20 20 20|TO: JANE DOE\n20 46 20|77 SUNSET BLVD\n20 72 20|MIAMI FL 331O1\n",
        "recipient.postal_code=33101\nrecipient.city=MIAMI"},
    {"letters that begin no British code", "US",
        "20 20 20|TO: JANE DOE\n20 46 20|10 KING ST W\n20 72 20|TORONTO ON MX5H 2N2\n",
        "recipient.postal_code=-\nrecipient.name=JANE DOE"},
    {"a five that was read as S5", "US",
        "20 20 20|TO: JANE DOE\n20 46 20|10 KING ST W\n20 72 20|TORONTO ON MS5H 2N2\n",
        "recipient.postal_code=M5H 2N2\nrecipient.city=TORONTO"},
    {"a five that was read as S5, a T as a seven", "US",
        "20 20 20|TO: JANE DOE\n20 46 20|10 KING ST W\n20 72 20|TORONTO ON MS5V 276\n",
        "recipient.postal_code=M5V 2T6\nrecipient.city=TORONTO"},
    {"a one that was read as I1", "CA",
        "20 20 20|TO: JANE DOE\n20 46 20|1101 8 Ave SW\n20 72 20|Ottawa ON KI1P 1J1\n",
        "recipient.postal_code=K1P 1J1\nrecipient.city=Ottawa"},
    {"a six with an accent before it", "CA",
        "20 20 20|TO: JANE DOE\n20 46 20|26 Elgin Street\n20 72 20|Victoria BC V8W 1P\u00e96\n",
        "recipient.postal_code=V8W 1P6\nrecipient.city=Victoria"},
    {"a J that became two brackets", "CA",
        "20 20 20|TO: JANE DOE\n20 46 20|3187 GRANVILLE ST\n20 72 20|CALGARY AB T2P 1)}9\n",
        "recipient.postal_code=T2P 1J9\nrecipient.city=CALGARY"},
    {"a Z with a two before it", "GB",
        "20 20 20|TO: JANE DOE\n20 46 20|80 PARK AVENUE\n20 72 20|EDINBURGH\n20 98 20|EH1 1Y2Z\n",
        "recipient.postal_code=EH1 1YZ\nrecipient.city=EDINBURGH"},
    {"a J that became a bracket", "CA",
        "20 20 20|TO: JANE DOE\n20 46 20|3779 Queen St E\n20 72 20|Edmonton AB T5] ON3\n",
        "recipient.postal_code=T5J 0N3\nrecipient.city=Edmonton"},
    {"an S that became a dollar", "GB",
        "20 20 20|TO: JANE DOE\n20 46 20|10 MILL LANE\n20 72 20|SHEFFIELD\n20 98 20|$1 2HE\n",
        "recipient.postal_code=S1 2HE\nrecipient.city=SHEFFIELD"},
    {"a street whose end is a country's code", "US",
        "20 20 20|TO: JANE DOE\n20 46 20|4469 MISSION ST\n20 72 20|# 259\n"
        "20 98 20|GRAND RAPIDS MI 49503\n",
        "recipient.name=JANE DOE\nrecipient.city=GRAND RAPIDS\nrecipient.postal_code=49503"},
    {"a street of two words and one", "US",
        "20 20 20|TO: JANE DOE\n20 46 20|7917 SW JEFFERSON ST\n20 72 20|STE 369\n"
        "20 98 20|PRINCETON NJ 08540\n",
        "recipient.name=JANE DOE\nrecipient.line1=7917 SW JEFFERSON ST\nrecipient.line2=STE 369"},
    {"a street that looks like a Dutch code", "US",
        "20 20 20|TO: JANE DOE\n20 46 20|7917 NE BROADWAY\n20 72 20|STE 369\n"
        "20 98 20|PRINCETON NJ 08540\n",
        "recipient.name=JANE DOE\nrecipient.line1=7917 NE BROADWAY\nrecipient.line2=STE 369"},
    {"the same with a direction", "US",
        "20 20 20|TO: JANE DOE\n20 46 20|5274 PEACHTREE ST NE\n20 72 20|FL 3\n"
        "20 98 20|PHOENIX AZ 85003\n",
        "recipient.city=PHOENIX\nrecipient.postal_code=85003\nrecipient.country_code=US"},
    {"TO read as a number", "US",
        "20 20 20|10:\n20 46 20|JANE DOE\n20 72 20|77 SUNSET BLVD\n20 98 20|MIAMI FL 33101\n",
        "recipient.name=JANE DOE"},
    {"SHIP alone", "US",
        "20 20 20|SHIP\n20 46 20|JANE DOE\n20 72 20|77 SUNSET BLVD\n20 98 20|MIAMI FL 33101\n",
        "recipient.name=JANE DOE\nrecipient.business=-"},
    {"a caption of two languages", "CA",
        "20 20 20|To / À\n20 46 20|JANE DOE\n20 72 20|28 KING ST W\n20 98 20|LONDON ON N6A 1H3\n",
        "recipient.name=JANE DOE\nrecipient.business=-"},
    {"a quotation mark in front", "US",
        "20 20 20|TO: ACME INC\n20 46 20|“ATTN: JANE DOE\n20 72 20|1 MAIN ST\n"
        "20 98 20|SEATTLE WA 98101\n",
        "recipient.name=JANE DOE\nrecipient.business=ACME INC"},
    {"a Polish code before its city", "US",
        "20 20 20|LUKASZ WOJCIK\n20 46 20|UL. MARSZALKOWSKA 60\n20 72 20|50-106 WROCLAW\n",
        "recipient.name=LUKASZ WOJCIK\nrecipient.postal_code=50-106"},
    {"a city that is also a country", "US",
        "20 20 20|TO:\n20 46 20|MANUEL GARCIA\n20 72 20|PLAZA DE ESPANA, 53\n20 98 20|18009 "
        "GRANADA\n20 124 20|ESPANA\n",
        "recipient.postal_code=18009"},
    {"an A that is a four", "US",
        "20 20 20|BETTY TORRES\n20 46 20|82 LONDON ROAD\n20 72 20|BRISTOL\n20 98 20|BS1 ADJ\n",
        "recipient.postal_code=BS1 4DJ"},
    {"three signs are too many", "US",
        "20 20 20|TO: JANE DOE\n20 46 20|77 SUNSET BLVD\n20 72 20|MIAMI FL 3BIO1\n",
        "recipient.postal_code=-"},
    {"a sign that looks like none", "US",
        "20 20 20|TO: JANE DOE\n20 46 20|77 SUNSET BLVD\n20 72 20|MIAMI FL 33W01\n",
        "recipient.postal_code=-"},
    {"a barcode corrects what is printed with blanks", "CA",
        "20 20 20|TO: JANE DOE\n20 46 20|10 KING ST W\n20 72 20|EDMONTON AB T5J 0N8\n"
        "!code128 421124T5J0N3\n",
        "recipient.postal_code=T5J0N3\nrecipient.name=JANE DOE"},
    {"a country without postal codes", "US",
        "20 20 20|TO: CHAN TAI MAN\n20 46 20|12 NATHAN ROAD\n20 72 20|FLAT 4B\n"
        "20 98 20|KOWLOON\n20 124 20|HONG KONG\n",
        "recipient.name=CHAN TAI MAN\nrecipient.line1=12 NATHAN ROAD\nrecipient.city=KOWLOON\n"
        "recipient.postal_code=-\nrecipient.country_code=HK"},
    {"a name above a street whose last line is not read", "US",
        "20 20 20|TO: JANE DOE\n20 46 20|NORTHERN PARTS LLC\n20 72 20|77 SUNSET BLVD\n"
        "20 98 20|MIANII\n",
        "recipient.name=JANE DOE\nrecipient.business=NORTHERN PARTS LLC\nrecipient.city=-"},
    {"a heading is no name", "US",
        "20 20 22|PACKING SLIP\n20 50 20|ACME INC\n20 76 20|1 MAIN ST\n20 102 20|SEATTLE WA "
        "98101\n",
        "recipient.name=-\nrecipient.business=ACME INC"},
    {"items with prices are no address", "US",
        "20 20 20|Widget blue 2 10.00 20.00\n20 46 20|Widget red 1 11.00\n20 72 20|Total due "
        "31.00\n",
        "recipient.name=-\nrecipient.city=-\nrecipient.postal_code=-"},
};

static void parties(void **state)
{
    CHECK(parties_cases);
}

/* A state that has no such ZIP code lowers the confidence. */
static void state_and_zip(void **state)
{
    struct label_world *world = label_world_new();
    struct label_env env = label_world_env(world, *state, "US", today());
    uint32_t confidence[2];

    for (size_t i = 0; i < 2; i++) {
        wharf_image_read image;
        struct label l;

        label_picture_make(*state,
            str_z(i ? "20 20 20|TO: JANE DOE\n20 46 20|1 MAIN ST\n20 72 20|KENMORE WA 33101\n"
                    : "20 20 20|TO: JANE DOE\n20 46 20|1 MAIN ST\n20 72 20|KENMORE WA 98028\n"),
            &image, NULL);
        label_read(&env, &image, NULL, &l);
        confidence[i] = l.recipient.postal_code.confidence;
    }
    assert_int_equal(confidence[0], confidence[1] + 300);
    label_world_free(world);
}

/* ---- 8.5 other fields ---- */

static const struct label_case fields_cases[] = {
    {"weight", "US", "10 10 20|WEIGHT 12.5 LBS\n", "weight=12.500 lb"},
    {"weight, pounds and ounces", "US", "10 10 20|WT: 1 LB 4 OZ\n", "weight=1.250 lb"},
    {"weight with a comma", "DE", "10 10 20|Gewicht: 3,5 kg\n", "weight=3.500 kg"},
    {"weight, a number sign is pounds", "US", "10 10 20|WGT 7#\n", "weight=7.000 lb"},
    {"weight alone", "US", "10 10 20|2 LBS\n", "weight=2.000 lb"},
    {"weight to the right of its caption", "US", "10 10 20|WEIGHT        2 KG\n",
        "weight=2.000 kg"},
    {"two weights with one unit", "US", "10 10 20|Weight: 3.5 / 4.5 kg\n", "weight=3.500 kg"},
    {"an l that became an i", "US", "10 10 20|WT: 1.2 Ib\n", "weight=1.200 lb"},
    {"an l that became a stroke", "US", "10 10 20|28.7 |b PKG\n", "weight=28.700 lb"},
    {"weight before a caption", "US", "10 10 20|3.5 LB PKG\n", "weight=3.500 lb"},
    {"weight before a service", "US", "10 10 20|2 LB PRIORITY MAIL RATE\n", "weight=2.000 lb"},
    {"weight of what is sold", "US", "10 10 20|5 LB BAG OF RICE\n", "weight=-"},
    {"weight without a unit is none", "US", "10 10 20|WEIGHT: 12\n", "weight=-"},
    {"dimensions", "US", "10 10 20|DIMS: 12x10x8 IN\n", "dimensions=12.000 x 10.000 x 8.000 in"},
    {"dimensions with blanks", "DE", "10 10 20|DIM 30 X 20,5 X 10 CM\n",
        "dimensions=30.000 x 20.500 x 10.000 cm"},
    {"dimensions without a unit", "US", "10 10 20|DIMS: 12x10x8\n", "dimensions=-"},
    {"package", "US", "10 10 20|1 OF 3\n", "package=1/3"},
    {"package with a stroke near its caption", "US", "10 10 20|PKG: 2/3\n", "package=2/3"},
    {"a stroke alone is none", "US", "10 10 20|1/3\n", "package=-"},
    {"a stroke alone on a label with a number", "US", "!code128 1Z999AA10123456784\n10 10 20|1/3\n",
        "package=1/3"},
    {"signs that ran together", "US", "10 10 20|PKG 10F 1\n", "package=1/1"},
    {"and one too many", "US", "10 10 20|BOX 40OF 5\n", "package=4/5"},
    {"all in one", "US", "10 10 20|60F6\n", "package=6/6"},
    {"two ways to read them", "US", "10 10 20|PKG 10OF 12\n", "package=-"},
    {"a stroke behind a weight", "US", "!code128 1Z999AA10123456784\n10 10 20|Weight 3.1kg 1/1\n",
        "package=1/1\nweight=3.100 kg"},
    {"two of them", "US", "!code128 1Z999AA10123456784\n10 10 20|1/3\n10 40 20|2/3\n", "package=-"},
    {"a stroke within an address", "US", "!code128 1Z999AA10123456784\n10 10 20|Hauptplatz 1/3\n",
        "package=-"},
    {"more than there are", "US", "10 10 20|4 OF 3\n", "package=-"},
    {"purchase order", "US", "10 10 20|PO# 4500012345\n", "purchase_order=4500012345"},
    {"with stops", "US", "10 10 20|P.O. NO.: 4500-A\n", "purchase_order=4500-A"},
    {"to the next caption", "US", "10 10 20|PO: 77 DEPT: 4\n",
        "purchase_order=77\nreferences=purchase_order:77"},
    {"an empty caption", "US", "10 10 20|INV:\n10 40 20|PO:    DEPT:\n",
        "invoice_number=-\npurchase_order=-"},
    {"order, invoice, RMA, account", "US",
        "10 10 20|ORDER NO: 77-1\n10 40 20|INVOICE # 998\n10 70 20|RMA: R-5\n10 100 20|ACCT "
        "12345\n",
        "order_number=77-1\ninvoice_number=998\nrma_number=R-5\naccount_id=12345"},
    {"references, all of them", "US", "10 10 20|REF 1: AB-1\n10 40 20|REF 2: CD-2\n",
        "reference_number=AB-1\nreferences=reference_number:AB-1,reference_number:CD-2"},
    {"words that follow are no number", "US", "10 10 20|ORDER CONFIRMED BY PHONE\n",
        "order_number=-"},
    {"dates of FedEx", "US", "10 10 20|SHIP DATE: 10MAR26\n", "ship_date=2026-03-10"},
    {"an O in a date", "US", "10 10 20|SHIP DATE: 1OMAR26\n", "ship_date=2026-03-10"},
    {"October", "US", "10 10 20|SHIP DATE: 01OCT25\n", "ship_date=2025-10-01"},
    {"dates with a month", "US", "10 10 20|SHIP DATE 12 MAR 2026\n", "ship_date=2026-03-12"},
    {"month first", "US", "10 10 20|DELIVERY DATE: MARCH 14, 2026\n", "delivery_date=2026-03-14"},
    {"ISO", "US", "10 10 20|DELIVER BY 2026-03-14\n", "delivery_date=2026-03-14"},
    {"month and day in the US", "US", "10 10 20|DATE: 03/04/2026\n", "ship_date=2026-03-04"},
    {"day and month elsewhere", "GB", "10 10 20|DATE: 03/04/2026\n", "ship_date=2026-04-03"},
    {"what can be no month is the day", "US", "10 10 20|DATE: 20/02/2026\n",
        "ship_date=2026-02-20"},
    {"German dates", "DE", "10 10 20|Versanddatum: 11.03.2026\n", "ship_date=2026-03-11"},
    {"an O in front of a date", "US", "10 10 20|SHIP DATE: O5MAR26\n", "ship_date=2026-03-05"},
    {"a nought in October", "US", "10 10 20|SHIP DATE: 010CT25\n", "ship_date=2025-10-01"},
    {"a nought in November", "US", "10 10 20|SHIP DATE: 05 N0V 2025\n", "ship_date=2025-11-05"},
    {"the tenth of October", "US", "10 10 20|SHIP DATE: 10OCT25\n", "ship_date=2025-10-10"},
    {"a caption without its colon, and a date", "US", "10 10 20|Date 11.03.2026\n",
        "ship_date=2026-03-11"},
    {"a caption without its colon, and no date", "US", "10 10 20|Date palms\n", "ship_date=-"},
    {"a date alone on a label with a number", "US",
        "!code128 1Z999AA10123456784\n10 10 20|2026-03-10\n", "ship_date=2026-03-10"},
    {"a date alone elsewhere", "US", "10 10 20|2026-03-10\n", "ship_date=-"},
    {"a date alone that is to come", "US", "!code128 1Z999AA10123456784\n10 10 20|2026-03-14\n",
        "ship_date=-"},
    {"two dates alone", "US",
        "!code128 1Z999AA10123456784\n10 10 20|2026-03-10\n10 40 20|2026-03-09\n", "ship_date=-"},
    {"a date alone below a caption of delivery", "US",
        "!code128 1Z999AA10123456784\n10 10 20|DELIVERY DATE\n10 40 20|2026-03-10\n",
        "ship_date=-"},
    {"a day that is none", "US", "10 10 20|SHIP DATE: 30FEB26\n", "ship_date=-"},
    {"too long ago", "US", "10 10 20|SHIP DATE: 16FEB24\n", "ship_date=-"},
    {"the service of a number", "US", "!code128 1Z12A34B0312345671\n",
        "service_level_name=ground\nprovider_service_level_id=ground"},
    {"the longest service", "US", "10 10 20|FedEx\n10 40 20|STANDARD OVERNIGHT\n",
        "service_level_name=overnight\nprovider_service_level_id=standard_overnight"},
    {"longer words win", "US", "10 10 20|USPS PRIORITY MAIL EXPRESS\n",
        "provider_id=usps\nprovider_service_level_id=priority_express"},
    {"another carrier's words say nothing", "US", "10 10 20|USPS\n10 40 20|STANDARD OVERNIGHT\n",
        "service_level_name=-"},
    {"a service that all carriers have", "US", "10 10 20|OnTrac\n10 40 20|OVERNIGHT\n",
        "service_level_name=overnight\nprovider_service_level_id=-"},
    {"its word within a line", "US", "10 10 20|OnTrac\n10 40 20|OVERNIGHT BAGS\n",
        "service_level_name=-"},
    {"the letter of a number of the posts", "US", "!code128 RR733191240GB\n",
        "service_level_name=postal\nprovider_service_level_id=-"},
    {"tags", "US", "10 10 20|FRAGILE - HANDLE WITH CARE\n10 40 20|UN3481\n10 70 20|KEEP COLD\n",
        "tags=fragile,lithium,perishable,cold_storage"},
    {"tags: whole words", "US", "10 10 20|FRAGILENESS\n", "tags=-"},
};

static void fields(void **state)
{
    CHECK(fields_cases);
}

/* ---- captions of the caller ---- */

static void custom(void **state)
{
    static const struct {
        const char *drawn, *caption, *value;
    } cases[] = {
        {"10 10 20|Cost Center: 4711\n", "cost center", "4711"},
        {"10 10 20|COST CENTER 4711 PO: 5\n", "Cost Center", "4711"},
        {"10 10 20|Cost Center        4711\n", "Cost Center", "4711"},
        {"10 10 20|Cost Center:\n", "Cost Center", NULL},
        {"10 10 20|Cost: 4711\n", "Cost Center", NULL},
        {"10 10 20|Floor: 5\n", "", NULL},
    };
    struct label_world *world = label_world_new();
    struct label_env env = label_world_env(world, *state, "US", today());

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        wharf_image_read image;
        struct label_fact f;
        bool found;

        label_picture_make(*state, str_z(cases[i].drawn), &image, NULL);
        found = label_custom(&env, &image, str_z(cases[i].caption), &f);
        assert_int_equal(found, cases[i].value != NULL);
        if (found)
            assert_true(str_eq(f.value, str_z(cases[i].value)));
    }
    label_world_free(world);
}

/* ---- hostile pictures ---- */

/* As many words as there can be, in any place, with odd bytes: all of it is bounded. */
static void hostile(void **state)
{
    static const char *const texts[] = {"TO:", "FROM", "1Z999AA1", "98028", "WA", "\xff\xfe", "12",
        "KG", "PO#", "OF", "x", "(((", "[)>", "::::", "O0O0O0O0O0O0O0O0", "ß", "\xe2\x82"};
    struct label_world *world = label_world_new();
    struct arena *a = arena_new(1 << 30);
    struct label_env env = label_world_env(world, a, "US", today());
    wharf_image_word *words = arena_alloc(a, WHARF_IMAGE_WORDS_MAX * sizeof(*words));
    wharf_image_line *lines = arena_alloc(a, WHARF_IMAGE_WORDS_MAX * sizeof(*lines));
    uint32_t random = 7;

    (void)state;
    for (int round = 0; round < 6; round++) {
        wharf_image_read r = {.width = 4000, .height = 4000, .words = words, .lines = lines};
        uint32_t each = round % 3 == 0 ? 1 : round % 3 == 1 ? 40 : 4000;
        struct label l;

        r.n_words = WHARF_IMAGE_WORDS_MAX;
        for (uint32_t i = 0; i < r.n_words; i++) {
            random = random * 1103515245u + 12345u;
            words[i] = (wharf_image_word){.text = str_z(texts[(random >> 8) % 17]),
                .box = {random % 4001, (random >> 4) % 4001, round < 3 ? 0 : (random >> 9) % 50,
                    round < 3 ? 0 : 10},
                .confidence = (random >> 3) % 101,
                .orientation = round % 2 ? (random >> 5) % 360 : 0};
            if (i % each == 0)
                lines[r.n_lines++] = (wharf_image_line){.text = words[i].text,
                    .box = words[i].box,
                    .first_word = i,
                    .n_words = each < r.n_words - i ? each : r.n_words - i};
        }
        label_read(&env, &r, NULL, &l);
        assert_non_null(l.classification);
        assert_true(l.raw_text.n <= LABEL_TEXT_MAX);
    }
    arena_free(a);
    label_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(barcodes), UNIT(numbers), UNIT(parties),
        UNIT(state_and_zip), UNIT(fields), UNIT(custom), UNIT(hostile)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
