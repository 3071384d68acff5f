/* net_guard.c - addresses, allow-lists, URLs: tables of what is refused and what is not (spec 06
 * section 10, spec 07 section 9). */
#include "unit.h"

#include <netinet/in.h>

#include "net/net_guard.h"
#include "net/url.h"

static struct guard *guard_of(struct arena *a, const char *const *items, size_t n)
{
    struct config_list list = {items, n};
    wharf_str why = {"", 0};
    struct guard *g = guard_new(&list, a, &why);

    if (!g)
        fail_msg("%s", why.p);
    return g;
}

struct address_case {
    const char *text;
    bool public;
};

static const struct address_case addresses[] = {
    {"0.0.0.0", false},
    {"0.0.0.1", false},
    {"0.255.255.255", false},
    {"1.0.0.0", true},
    {"1.1.1.1", true},
    {"8.8.8.8", true},
    {"9.255.255.255", true},
    {"10.0.0.0", false},
    {"10.0.0.1", false},
    {"10.255.255.255", false},
    {"11.0.0.0", true},
    {"100.63.255.255", true},
    {"100.64.0.0", false},
    {"100.100.100.200", false},
    {"100.127.255.255", false},
    {"100.128.0.0", true},
    {"126.255.255.255", true},
    {"127.0.0.0", false},
    {"127.0.0.1", false},
    {"127.1.2.3", false},
    {"127.255.255.255", false},
    {"128.0.0.0", true},
    {"168.63.129.15", true},
    {"168.63.129.16", false},
    {"168.63.129.17", true},
    {"169.253.255.255", true},
    {"169.254.0.0", false},
    {"169.254.169.254", false},
    {"169.254.170.2", false},
    {"169.254.255.255", false},
    {"169.255.0.0", true},
    {"172.15.255.255", true},
    {"172.16.0.0", false},
    {"172.17.0.1", false},
    {"172.31.255.255", false},
    {"172.32.0.0", true},
    {"191.255.255.255", true},
    {"192.0.0.0", false},
    {"192.0.0.192", false},
    {"192.0.0.255", false},
    {"192.0.1.0", true},
    {"192.0.2.0", false},
    {"192.0.2.255", false},
    {"192.0.3.0", true},
    {"192.88.98.255", true},
    {"192.88.99.0", false},
    {"192.88.99.1", false},
    {"192.88.99.255", false},
    {"192.88.100.0", true},
    {"192.167.255.255", true},
    {"192.168.0.0", false},
    {"192.168.1.1", false},
    {"192.168.255.255", false},
    {"192.169.0.0", true},
    {"198.17.255.255", true},
    {"198.18.0.0", false},
    {"198.19.255.255", false},
    {"198.20.0.0", true},
    {"198.51.99.255", true},
    {"198.51.100.0", false},
    {"198.51.100.255", false},
    {"198.51.101.0", true},
    {"203.0.112.255", true},
    {"203.0.113.0", false},
    {"203.0.113.255", false},
    {"203.0.114.0", true},
    {"223.255.255.255", true},
    {"224.0.0.0", false},
    {"224.0.0.1", false},
    {"239.255.255.250", false},
    {"240.0.0.0", false},
    {"250.1.2.3", false},
    {"255.255.255.255", false},
    /* IPv6 of its own */
    {"::", false},
    {"::1", false},
    {"::2", false},
    {"::127.0.0.1", false},
    {"::8.8.8.8", false},
    {"100::", false},
    {"100::1", false},
    {"1fff:ffff::1", false},
    {"2000::1", true},
    {"2001::1", false},
    {"2001:0:1:2::3", false},
    {"2001:10::1", false},
    {"2001:20::1", false},
    {"2001:1ff:ffff::1", false},
    {"2001:200::1", true},
    {"2001:4860:4860::8888", true},
    {"2001:db7:ffff::1", true},
    {"2001:db8::1", false},
    {"2001:db8:ffff:ffff::1", false},
    {"2001:db9::1", true},
    {"2606:4700:4700::1111", true},
    {"3ffe::1", true},
    {"3fff::1", false},
    {"3fff:fff:ffff::1", false},
    {"3fff:1000::1", true},
    {"4000::1", false},
    {"5f00::1", false},
    {"5fff::1", false},
    {"6000::1", false},
    {"8000::1", false},
    {"fbff::1", false},
    {"fc00::1", false},
    {"fd00::1", false},
    {"fd00:ec2::254", false},
    {"fdff:ffff::1", false},
    {"fe00::1", false},
    {"fe80::1", false},
    {"febf::1", false},
    {"fec0::1", false},
    {"feff::1", false},
    {"ff00::1", false},
    {"ff02::1", false},
    {"ffff::1", false},
    /* carrying IPv4 */
    {"::ffff:127.0.0.1", false},
    {"::ffff:10.0.0.1", false},
    {"::ffff:169.254.169.254", false},
    {"::ffff:192.168.1.1", false},
    {"::ffff:0.0.0.0", false},
    {"::ffff:8.8.8.8", true},
    {"::ffff:7f00:1", false},
    {"::ffff:0:127.0.0.1", false},
    {"::ffff:0:8.8.8.8", true},
    {"64:ff9b::127.0.0.1", false},
    {"64:ff9b::10.0.0.1", false},
    {"64:ff9b::a9fe:a9fe", false},
    {"64:ff9b::8.8.8.8", true},
    {"64:ff9b:1::1", false},
    {"64:ff9b:1::8.8.8.8", false},
    {"64:ff9b:0:0:0:1:808:808", false},
    {"64:ff9a::8.8.8.8", false},
    {"2002:7f00:1::1", false},
    {"2002:a00:1::1", false},
    {"2002:a9fe:a9fe::1", false},
    {"2002:c0a8:101::1", false},
    {"2002:808:808::1", true},
    {"2003::1", true},
    {"2606::5efe:10.0.0.1", false},
    {"2606::200:5efe:192.168.0.1", false},
    {"2606::5efe:8.8.8.8", true},
};

static void address_table(void **state)
{
    assert_true(sizeof(addresses) / sizeof(addresses[0]) >= 120);
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        struct sockaddr_storage sa;

        if (!address_parse(addresses[i].text, 443, &sa))
            fail_msg("%s is no address", addresses[i].text);
        assert_int_equal(address_port((struct sockaddr *)&sa), 443);
        if (address_public((struct sockaddr *)&sa) != addresses[i].public)
            fail_msg("%s must %sbe public", addresses[i].text, addresses[i].public ? "" : "not ");
    }
}

static void other_families(void **state)
{
    struct sockaddr_storage sa = {.ss_family = AF_UNIX};

    assert_false(address_public((struct sockaddr *)&sa));
    sa.ss_family = AF_UNSPEC;
    assert_false(address_public((struct sockaddr *)&sa));
    assert_false(address_parse("127.1", 1, &sa));
    assert_false(address_parse("0x7f.0.0.1", 1, &sa));
    assert_false(address_parse("fe80::1%eth0", 1, &sa));
    assert_false(address_parse("", 1, &sa));
}

static bool literal_open(const struct guard *g, const char *text, uint16_t port)
{
    struct sockaddr_storage sa;

    assert_true(address_parse(text, port, &sa));
    return guard_address(g, (struct sockaddr *)&sa);
}

static void allow_list(void **state)
{
    static const char *const items[] = {"10.1.0.0/16", "127.0.0.1:8443", "[::1]:9443",
        "fd00:1::/32", "192.168.7.7", "Printer.Local", "*.corp.example", "crm:8080"};
    struct guard *g = guard_of(*state, items, 8);
    bool named;

    assert_true(literal_open(g, "10.1.2.3", 443));
    assert_true(literal_open(g, "::ffff:10.1.2.3", 443));
    assert_false(literal_open(g, "10.2.0.1", 443));
    assert_true(literal_open(g, "127.0.0.1", 8443));
    assert_false(literal_open(g, "127.0.0.1", 443));
    assert_true(literal_open(g, "::1", 9443));
    assert_false(literal_open(g, "::1", 9444));
    assert_true(literal_open(g, "fd00:1:2::3", 1));
    assert_false(literal_open(g, "fd00:2::3", 1));
    assert_true(literal_open(g, "192.168.7.7", 1));
    assert_false(literal_open(g, "192.168.7.8", 1));
    assert_true(literal_open(g, "8.8.8.8", 443));
    assert_true(guard_host(g, "printer.local", 443, &named));
    assert_false(named);
    assert_true(guard_host(g, "a.corp.example", 1, &named));
    assert_true(guard_host(g, "a.b.corp.example", 1, &named));
    assert_false(guard_host(g, "corp.example", 1, &named));
    assert_false(guard_host(g, "acorp.example", 1, &named));
    assert_true(guard_host(g, "crm", 8080, &named));
    assert_true(named);
    assert_false(guard_host(g, "crm", 8081, &named));
    guard_free(g);
}

static void allow_list_refused(void **state)
{
    static const char *const bad[] = {"", "10.0.0.0/33", "::1/129", "host/8", "a b",
        "host:", "host:0", "host:65536", "10.0.0.0/", "10.0.0.0/x", "*", "*.", ".a", "a.", "[::1",
        "[::1]x", "http://a.example"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct config_list list = {&bad[i], 1};
        wharf_str why = {"", 0};

        if (guard_new(&list, *state, &why))
            fail_msg("net.allow took \"%s\"", bad[i]);
        assert_true(str_starts(why, "net.allow: "));
    }
}

struct url_case {
    const char *text;
    enum net_outcome want;
};

static const struct url_case urls[] = {
    {"https://files.example.com/a.csv", NET_DONE},
    {"HTTPS://Files.Example.COM/a.csv", NET_DONE},
    {"https://files.example.com", NET_DONE},
    {"https://files.example.com:443/", NET_DONE},
    {"https://files.example.com:8443/", NET_DONE},
    {"https://files.example.com:1024/", NET_DONE},
    {"https://files.example.com:65535/", NET_DONE},
    {"https://files.example.com?x=1", NET_DONE},
    {"https://files.example.com/a#b", NET_DONE},
    {"https://files.example.com/a%20b?c=%00", NET_DONE},
    {"https://files.example.com/\xc3\xa4", NET_DONE},
    {"https://xn--bcher-kva.example/", NET_DONE},
    {"https://a_b.example.com/", NET_DONE},
    {"https://1.2.3.4.example.com/", NET_DONE},
    {"https://123.example/", NET_DONE},
    {"https://a.b0x7f/", NET_DONE},
    {"https://files.example.com/@x", NET_DONE},
    {"https://files.example.com/?u=a@b:c", NET_DONE},
    /* schemes */
    {"http://files.example.com/", NET_BAD_PROTOCOL},
    {"http://127.0.0.1/", NET_BAD_PROTOCOL},
    {"ftp://files.example.com/", NET_BAD_PROTOCOL},
    {"file:///etc/passwd", NET_BAD_PROTOCOL},
    {"gopher://files.example.com/", NET_BAD_PROTOCOL},
    {"dict://files.example.com/", NET_BAD_PROTOCOL},
    {"javascript:alert(1)", NET_BAD_PROTOCOL},
    {"httpss://files.example.com/", NET_BAD_PROTOCOL},
    {"data:text/plain,a", NET_BAD_PROTOCOL},
    /* not URLs */
    {"", NET_BAD_URL},
    {"files.example.com/a", NET_BAD_URL},
    {"//files.example.com/a", NET_BAD_URL},
    {"://files.example.com/a", NET_BAD_URL},
    {"https:files.example.com", NET_BAD_URL},
    {"https:/files.example.com", NET_BAD_URL},
    {"https://", NET_BAD_URL},
    {"https:///a", NET_BAD_URL},
    {"https://?a", NET_BAD_URL},
    {"https://:443/", NET_BAD_URL},
    {" https://files.example.com/", NET_BAD_URL},
    {"https://files.example.com/ a", NET_BAD_URL},
    {"https://files.example.com/\n", NET_BAD_URL},
    {"https://files.example.com/\r\nX: y", NET_BAD_URL},
    {"https://files.example.com\\@evil.example/", NET_BAD_URL},
    {"https://files.example.com/\xff", NET_BAD_URL},
    /* user info */
    {"https://user@files.example.com/", NET_BAD_URL},
    {"https://user:pass@files.example.com/", NET_BAD_URL},
    {"https://@files.example.com/", NET_BAD_URL},
    {"https://files.example.com:443@evil.example/", NET_BAD_URL},
    {"https://a@b@files.example.com/", NET_BAD_URL},
    /* ports */
    {"https://files.example.com:/", NET_BAD_URL},
    {"https://files.example.com:0/", NET_BAD_URL},
    {"https://files.example.com:22/", NET_BAD_URL},
    {"https://files.example.com:80/", NET_BAD_URL},
    {"https://files.example.com:1023/", NET_BAD_URL},
    {"https://files.example.com:65536/", NET_BAD_URL},
    {"https://files.example.com:99999999999/", NET_BAD_URL},
    {"https://files.example.com:+443/", NET_BAD_URL},
    {"https://files.example.com:443:443/", NET_BAD_URL},
    {"https://files.example.com:443a/", NET_BAD_URL},
    /* literals in all notations */
    {"https://127.0.0.1/", NET_BAD_URL},
    {"https://8.8.8.8/", NET_BAD_URL},
    {"https://127.1/", NET_BAD_URL},
    {"https://127.0.1/", NET_BAD_URL},
    {"https://2130706433/", NET_BAD_URL},
    {"https://0/", NET_BAD_URL},
    {"https://0x7f000001/", NET_BAD_URL},
    {"https://0X7F000001/", NET_BAD_URL},
    {"https://0x7f.0.0.1/", NET_BAD_URL},
    {"https://0x7f.1/", NET_BAD_URL},
    {"https://127.0.0.0x1/", NET_BAD_URL},
    {"https://0177.0.0.1/", NET_BAD_URL},
    {"https://017700000001/", NET_BAD_URL},
    {"https://127.0.0.01/", NET_BAD_URL},
    {"https://1.2.3/", NET_BAD_URL},
    {"https://1.2.3.4.5/", NET_BAD_URL},
    {"https://256.256.256.256/", NET_BAD_URL},
    {"https://example.1/", NET_BAD_URL},
    {"https://example.0x/", NET_BAD_URL},
    {"https://127.0.0.1./", NET_BAD_URL},
    {"https://[::1]/", NET_BAD_URL},
    {"https://[::ffff:127.0.0.1]/", NET_BAD_URL},
    {"https://[2606:4700:4700::1111]/", NET_BAD_URL},
    {"https://[fe80::1%25eth0]/", NET_BAD_URL},
    {"https://[fe80::1%eth0]/", NET_BAD_URL},
    {"https://[::1]:443/", NET_BAD_URL},
    {"https://[::1/", NET_BAD_URL},
    {"https://::1/", NET_BAD_URL},
    {"https://[127.0.0.1]/", NET_BAD_URL},
    {"https://[v1.x]/", NET_BAD_URL},
    {"https://[]/", NET_BAD_URL},
    {"https://\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1/", NET_BAD_URL}, /* full-width 127 */
    {"https://127\xe3\x80\x82"
     "0.0.1/",
        NET_BAD_URL}, /* ideographic full stop */
    {"https://127%2e0%2e0%2e1/", NET_BAD_URL},
    {"https://%31%32%37.0.0.1/", NET_BAD_URL},
    {"https://files%2eexample.com/", NET_BAD_URL},
    {"https://files.example.com./", NET_BAD_URL},
    {"https://files..example.com/", NET_BAD_URL},
    {"https://.example.com/", NET_BAD_URL},
    {"https://b\xc3\xbc"
     "cher.example/",
        NET_BAD_URL},
    {"https://files.exam\xc2\xad"
     "ple.com/",
        NET_BAD_URL}, /* soft hyphen */
    {"https://a!b.example.com/", NET_BAD_URL},
    {"https://*.example.com/", NET_BAD_URL},
    /* names that are never asked for */
    {"https://localhost/", NET_BAD_HOST},
    {"https://LOCALHOST/", NET_BAD_HOST},
    {"https://a.localhost/", NET_BAD_HOST},
    {"https://localhost.localdomain/", NET_BAD_HOST},
    {"https://ip6-localhost/", NET_BAD_HOST},
    {"https://metadata/", NET_BAD_HOST},
    {"https://metadata.google.internal/", NET_BAD_HOST},
    {"https://metadata.azure.internal/", NET_BAD_HOST},
    {"https://instance-data/", NET_BAD_HOST},
    {"https://instance-data.ec2.internal/", NET_BAD_HOST},
    {"https://x.internal/", NET_BAD_HOST},
    {"https://printer.local/", NET_BAD_HOST},
    {"https://nas.home.arpa/", NET_BAD_HOST},
    {"https://1.0.0.127.in-addr.arpa/", NET_BAD_HOST},
    {"https://intranet/", NET_BAD_HOST},
    {"https://intranet:8443/", NET_BAD_HOST},
};

static void url_table(void **state)
{
    struct guard *g = guard_of(*state, NULL, 0);
    char label[80], longest[3000];
    struct net_url url;

    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        enum net_outcome got = net_url_parse(g, str_z(urls[i].text), 0, &url);

        if (got != urls[i].want)
            fail_msg("%s: %s, not %s", urls[i].text, net_outcome_name(got),
                net_outcome_name(urls[i].want));
        if (got == NET_DONE)
            net_url_done(&url);
    }
    memset(label, 'a', 64);
    memcpy(label + 64, ".example", 9);
    assert_int_equal(
        net_url_parse(g, arena_printf(*state, "https://%s/", label), 0, &url), NET_BAD_URL);
    assert_int_equal(
        net_url_parse(g, arena_printf(*state, "https://%s/", label + 1), 0, &url), NET_DONE);
    net_url_done(&url);
    snprintf(longest, sizeof(longest), "https://files.example.com/%2100d", 7);
    for (char *p = longest; *p; p++)
        *p = (char)(*p == ' ' ? 'a' : *p);
    assert_int_equal(net_url_parse(g, (wharf_str){longest, 2049}, 0, &url), NET_BAD_URL);
    longest[2048] = 0;
    assert_int_equal(net_url_parse(g, (wharf_str){longest, 2048}, 0, &url), NET_DONE);
    net_url_done(&url);
    guard_free(g);
}

static void url_flags(void **state)
{
    static const char *const items[] = {
        "127.0.0.1:443", "127.0.0.2", "[::1]:22", "crm:8080", "nas.local"};
    struct guard *g = guard_of(*state, items, 5);
    static const struct {
        const char *text;
        unsigned flags;
        enum net_outcome want;
    } cases[] = {
        {"http://a.example/", NET_HTTP, NET_DONE},
        {"http://a.example:80/", NET_HTTP, NET_DONE},
        {"http://a.example:81/", NET_HTTP, NET_BAD_URL},
        {"https://a.example:80/", 0, NET_BAD_URL},
        {"https://a.example:80/", NET_PORT_80, NET_DONE},
        {"https://a.example/#x", NET_NO_FRAGMENT, NET_BAD_URL},
        {"https://127.0.0.1/", 0, NET_DONE},
        {"https://127.0.0.1:8443/", 0, NET_BAD_URL},
        {"https://127.1/", 0, NET_BAD_URL},
        {"https://2130706433/", 0, NET_BAD_URL},
        {"https://127.0.0.2/", 0, NET_DONE},
        /* the port is opened only by an entry that names it */
        {"https://127.0.0.2:22/", 0, NET_BAD_URL},
        {"https://[::1]:22/", 0, NET_DONE},
        {"https://crm:8080/", 0, NET_DONE},
        {"https://crm/", 0, NET_BAD_HOST},
        {"https://nas.local/", 0, NET_DONE},
        {"https://nas.local./", 0, NET_BAD_URL},
        {"http://10.0.0.1:9000/b", NET_HTTP | NET_TRUSTED, NET_DONE},
        {"http://minio/b", NET_HTTP | NET_TRUSTED, NET_DONE},
    };
    struct net_url url;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum net_outcome got = net_url_parse(g, str_z(cases[i].text), cases[i].flags, &url);

        if (got != cases[i].want)
            fail_msg("%s: %s, not %s", cases[i].text, net_outcome_name(got),
                net_outcome_name(cases[i].want));
        if (got == NET_DONE)
            net_url_done(&url);
    }
    guard_free(g);
}

/* libcurl is given the address that was judged. */
static void url_parts(void **state)
{
    struct guard *g = guard_of(*state, NULL, 0);
    struct net_url url;
    char *text = NULL;

    assert_int_equal(
        net_url_parse(g, WHARF_S("HTTPS://Files.Example.COM:8443/a b"), 0, &url), NET_BAD_URL);
    assert_int_equal(
        net_url_parse(g, WHARF_S("HTTPS://Files.Example.COM:8443/\xc3\xa4?q#frag"), 0, &url),
        NET_DONE);
    assert_string_equal(url.host, "files.example.com");
    assert_int_equal(url.port, 8443);
    assert_true(url.https);
    assert_int_equal(curl_url_get(url.handle, CURLUPART_URL, &text, 0), CURLUE_OK);
    assert_string_equal(text, "https://Files.Example.COM:8443/%c3%a4?q");
    curl_free(text);
    net_url_done(&url);
    guard_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(address_table), UNIT(other_families), UNIT(allow_list),
        UNIT(allow_list_refused), UNIT(url_table), UNIT(url_flags), UNIT(url_parts)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
