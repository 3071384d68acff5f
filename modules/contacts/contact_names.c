/* contact_names.c - the lists, and one table over them. See contact_names.h. */
#include "contact_names.h"

#include <string.h>
#include "wharf/hash.h"

static const struct {
    uint32_t kinds;
    const char *words;
} lists[] = {
    {WORD_TITLE, "mr mrs ms miss mx dr prof professor sir madam rev reverend father sra srta herr "
                 "frau mme mlle hon judge capt captain lt sgt cpl col gen maj"},
    {WORD_SUFFIX, "jr junior sr senior ii iii iv 2nd 3rd phd md dds dmd esq esquire cpa rn mba jd "
                  "llm dvm ret usn usmc usaf"},
    {WORD_PARTICLE, "van von der den de del di da dos du la le al bin ibn ter ten zu zum zur vom "
                    "das do los las el st"},
    {WORD_LEGAL, "inc incorporated llc ltd limited corp corporation co company gmbh ag kg kgaa ohg "
                 "ug bv nv sa sas sarl srl sl spa ab oy oyj as asa aps pty plc llp lp pllc pc kk "
                 "sro zoo doo mbh gesmbh ltda lda ltee eurl sasu sprl bvba srls spzoo dooel eood "
                 "ood pte pvt sdn bhd kft zrt nyrt jsc pjsc ojsc ooo oao zao pao sia uab "
                 "ооо оао зао пао ао тов 株式会社 有限会社 合同会社 株 有 有限公司 股份有限公司 "
                 /* Korean in its parts: 주식회사, 주 */
                 "\u110c\u116e\u1109\u1175\u11a8\u1112\u116c\u1109\u1161 \u110c\u116e"},
    {WORD_LEGAL_END, "sp spol cv rl sapi sab scs sca snc sc se ev eg vof hb kb ks is hf ehf ou rt "
                     "bt ky ad dd tbk αε επε οε"},
    {WORD_GENERIC,
        "the and of for at services service group store stores shop solutions systems "
        "international global national american center centre associates partners consulting "
        "trading logistics transport shipping supply supplies industries enterprises holdings "
        "management office offices restaurant cafe"},
    {WORD_UNIT, "apt apartment unit suite ste room rm floor fl box pmb mailbox dept"},
    {WORD_GIVEN,
        "james john robert michael william david richard joseph thomas charles "
        "christopher daniel matthew anthony mark donald steven paul andrew joshua kenneth "
        "kevin brian george edward ronald timothy jason jeffrey ryan jacob gary nicholas eric "
        "jonathan stephen larry justin scott brandon benjamin samuel gregory frank "
        "alexander raymond patrick jack dennis jerry tyler aaron jose adam henry nathan "
        "douglas zachary peter kyle walter ethan jeremy harold keith christian roger noah "
        "gerald carl terry sean austin arthur lawrence jesse dylan bryan joe jordan billy "
        "bruce albert willie gabriel logan alan juan wayne roy ralph randy eugene vincent "
        "russell elijah louis bobby philip johnny luis carlos antonio marco marcus "
        "martin oscar leo max felix oliver simon stefan hans karl heinz klaus jan pieter "
        "lars erik sven anders olaf ivan igor vladimir sergey dmitri ali omar ahmed "
        "mohamed muhammad hassan ibrahim yusuf wei ming chen hiroshi kenji raj amit sanjay "
        "mary patricia jennifer linda elizabeth barbara susan jessica sarah karen lisa "
        "nancy betty margaret sandra ashley kimberly emily donna michelle carol amanda "
        "dorothy melissa deborah stephanie rebecca sharon laura cynthia kathleen amy "
        "angela shirley anna brenda pamela emma nicole helen samantha katherine christine "
        "debra rachel carolyn janet catherine maria heather diane ruth julie olivia joyce "
        "virginia victoria kelly lauren christina joan evelyn judith megan andrea "
        "cheryl hannah jacqueline martha gloria teresa ann sara madison frances kathryn "
        "janice jean abigail alice julia judy sophia grace denise amber doris marilyn "
        "danielle beverly isabella theresa diana natalie brittany charlotte marie kayla "
        "alexis lori jane jan eva lena petra sabine ursula monika ingrid greta olga irina "
        "natasha fatima aisha mei yuki priya anita carmen rosa lucia elena sofia clara "
        "ana joanna johanna joana"},
};

/* Forms of one name, a group per line. */
static const char *const nicknames[] = {"abigail abby gail", "abraham abe", "albert al bert",
    "alexander alex al sandy xander sasha", "alexandra alex sandra sasha alexa lexi",
    "alfred al fred alf", "alice alicia ali", "amanda mandy", "andrew andy drew", "angela angie",
    "ann anne anna annie nan nancy ana", "anthony tony", "antonio tony toni", "arthur art",
    "barbara barb babs", "benjamin ben benny", "bernard bernie", "bradley brad", "bridget biddy",
    "calvin cal", "caroline carolyn carrie lynn", "carl karl",
    "catherine katherine kathryn katharine kate katie kathy cathy kat kit kitty karen kathleen cat",
    "charles charlie chuck chas charley karl", "charlotte charlie lottie",
    "christina christine chris tina chrissy christy kristina kristine kristin",
    "christopher chris kit topher kristopher", "clarence clare", "cynthia cindy",
    "daniel dan danny", "danielle dani", "david dave davey", "deborah debra deb debbie",
    "dennis denny", "dominic dom nick", "donald don donny", "dorothy dot dottie dolly",
    "douglas doug", "edward ed eddie ted ned teddy", "edwin ed eddie", "eleanor ellie nell nora",
    "elizabeth liz beth betty eliza lizzie betsy bess libby elisabeth lisa", "emily em emmy",
    "eric erik rick", "eugene gene", "evelyn eve evie", "frances fran fanny frankie",
    "francis frank frankie", "franklin frank", "frederick fred freddie fritz rick", "gabriel gabe",
    "geoffrey jeffrey jeff geoff", "george georgie", "gerald jerry gerry", "gilbert gil",
    "gregory greg", "harold hal harry", "harry henry hank hal", "helen nell ellen",
    "hubert hugh bert", "isaac ike", "isabella isabel bella izzy", "jacob jake",
    "jacqueline jackie", "james jim jimmy jamie", "jane janie jenny", "janet jan", "jason jay",
    "jennifer jen jenny jenn", "jessica jess jessie", "joan joanie", "john jack johnny jon",
    "jonathan jon nathan johnny", "joseph joe joey josef jose pepe", "joshua josh", "judith judy",
    "julia julie jules", "kenneth ken kenny", "kimberly kim", "laura laurie lori",
    "lawrence larry laurence lars", "leonard leo len lenny", "leonardo leo",
    "lewis louis lou louie luis", "lillian lily lil", "linda lynn", "louise lou", "lucille lucy",
    "madeline maddie", "margaret maggie meg peggy marge margie greta megan daisy rita",
    "maria marie mary mia", "mark marcus marco marc", "martha marty patsy", "martin marty",
    "mary molly polly mamie", "matthew matt", "melissa mel missy",
    "michael mike mick mickey mikey micheal", "michelle shelly", "nathan nate nathaniel nat",
    "nicholas nick nicky nico nicolas klaus", "nicole nikki", "olivia liv livvy", "pamela pam",
    "patricia pat patty trish tricia", "patrick pat paddy", "peter pete pieter",
    "philip phil phillip", "rachel rae", "raymond ray", "rebecca becky becca", "reginald reggie",
    "richard rick dick rich ricky richie", "robert bob rob bobby robbie bert", "roberta bobbie",
    "rodney rod", "roger rodge", "ronald ron ronnie", "rosemary rose rosie", "russell russ",
    "samantha sam sammy", "samuel sam sammy", "sandra sandy", "sara sarah sally sadie",
    "sean shaun shawn", "sharon shari", "sophia sophie sofia", "stanley stan",
    "stephanie steph stefanie", "stephen steven steve stefan", "susan sue suzie susie suzanne",
    "tamara tammy", "teresa theresa terry tess", "terence terry", "theodore ted theo teddy",
    "thomas tom tommy", "timothy tim timmy", "tobias toby", "valerie val", "veronica ronnie vera",
    "victor vic", "victoria vicky tori", "vincent vince vinny", "virginia ginny",
    "walter walt wally", "wilhelm willi willy", "william bill will billy willie willy liam",
    "winifred winnie", "zachary zach zack"};

static const struct {
    uint8_t generation;
    const char *words;
} generations[] = {{1, "jr junior"}, {2, "sr senior"}, {3, "ii 2nd"}, {4, "iii 3rd"}, {5, "iv"}};

enum { SLOTS = 4096 };

struct slot {
    const char *p;
    size_t n;
    struct word word;
};

static struct slot slots[SLOTS];

static struct slot *contact_names_slot_of(const char *p, size_t n)
{
    uint32_t h = wharf_hash32(WHARF_HASH32_START, p, n);

    for (h &= SLOTS - 1; slots[h].p && (slots[h].n != n || memcmp(slots[h].p, p, n) != 0);
         h = (h + 1) & (SLOTS - 1))
        ;
    return &slots[h];
}

/* Takes the words of a list, one after the other; NULL at the end. */
static struct word *contact_names_next_word(const char **at)
{
    const char *p = *at + strspn(*at, " ");
    size_t n = strcspn(p, " ");
    struct slot *s;

    *at = p + n;
    if (!n)
        return NULL;
    s = contact_names_slot_of(p, n);
    s->p = p;
    s->n = n;
    return &s->word;
}

void names_load(void)
{
    struct word *w;
    const char *at;

    if (slots[contact_names_slot_of("mr", 2) - slots].p)
        return;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        for (at = lists[i].words; (w = contact_names_next_word(&at)) != NULL;)
            w->kinds |= lists[i].kinds;
    }
    for (size_t i = 0; i < sizeof(generations) / sizeof(generations[0]); i++) {
        for (at = generations[i].words; (w = contact_names_next_word(&at)) != NULL;)
            w->generation = generations[i].generation;
    }
    for (size_t i = 0; i < sizeof(nicknames) / sizeof(nicknames[0]); i++) {
        for (at = nicknames[i]; (w = contact_names_next_word(&at)) != NULL;) {
            if (w->n_nicks < NICK_GROUPS)
                w->nicks[w->n_nicks++] = (uint16_t)i;
        }
    }
}

const struct word *word_of(const char *p, size_t n)
{
    static const struct word unknown;
    const struct slot *s = contact_names_slot_of(p, n);

    return s->p ? &s->word : &unknown;
}

bool word_form(const struct word *w, size_t *at, const char **ret_p, size_t *ret_n)
{
    size_t k = *at;

    for (int i = 0; i < w->n_nicks; i++) {
        const char *p = nicknames[w->nicks[i]];

        while (*(p += strspn(p, " "))) {
            size_t n = strcspn(p, " ");

            if (!k--) {
                *ret_p = p;
                *ret_n = n;
                ++*at;
                return true;
            }
            p += n;
        }
    }
    return false;
}

bool word_nicknames(const struct word *a, const struct word *b)
{
    for (int i = 0; i < a->n_nicks; i++) {
        for (int k = 0; k < b->n_nicks; k++) {
            if (a->nicks[i] == b->nicks[k])
                return true;
        }
    }
    return false;
}
