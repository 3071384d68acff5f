/* db_meter.c - which connections the database refuses (db/meter.h). */
#include "db/meter.h"
#include "unit.h"

static void refused_until_each_is_connected(void **state)
{
    unsigned one_way = 0, other = 0;

    (void)state;
    assert_false(db_meter_refused());
    db_meter_connected(&one_way, false);
    db_meter_connected(&one_way, false);
    db_meter_connected(&other, true);
    assert_true(db_meter_refused()); /* the other one says nothing of this one */
    db_meter_connected(&other, false);
    db_meter_connected(&one_way, true);
    assert_true(db_meter_refused());
    db_meter_forget_refused();
    assert_false(db_meter_refused());
    db_meter_connected(&other, true); /* was forgotten: not taken off twice */
    db_meter_connected(&one_way, false);
    assert_true(db_meter_refused());
    db_meter_connected(&one_way, true);
    assert_false(db_meter_refused());
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(refused_until_each_is_connected)};

    return cmocka_run_group_tests_name("db_meter", tests, NULL, NULL);
}
