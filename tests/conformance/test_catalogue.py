"""What every tenant table promises, read from PostgreSQL's catalogue (docs/architecture.md 'Data')."""
from resources import DEFINITIONS, types, x

# of the installation, not of organizations
EXCEPT = {"wharf.token", "wharf.setting", "wharf.migration", "wharf.repeatable", "wharf.job_worker", "wharf.job_schedule", "wharf.hook_plan"}


def tenant_tables(server):
    rows = server.sql("SELECT n.nspname || '.' || c.relname, c.relrowsecurity, c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
                      " WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'public')")
    return [r for r in rows if r[0] not in EXCEPT]


def test_row_level_security_is_on(server):
    tables = tenant_tables(server)
    assert len(tables) > 10
    assert [t[0] for t in tables if not t[1]] == []


def test_unique_constraints_begin_with_the_organization(server):
    bad = []
    for name, _, oid in tenant_tables(server):
        for index, column in server.sql("SELECT i.indexrelid::regclass::text, a.attname FROM pg_index i LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid"
                                        " AND a.attnum = i.indkey[0] WHERE i.indrelid = %s AND i.indisunique", oid):
            if column != "organization_id":
                bad.append((name, index, column))
    assert bad == []


def test_ids_have_the_c_collation(server):
    rows = server.sql("SELECT c.table_schema || '.' || c.table_name, c.column_name, c.collation_name FROM information_schema.columns c"
                      " JOIN information_schema.tables t USING (table_schema, table_name)"
                      " WHERE c.table_schema NOT IN ('pg_catalog', 'information_schema', 'public') AND t.table_type = 'BASE TABLE'"
                      " AND c.data_type = 'text' AND (c.column_name IN ('id', 'organization_id') OR c.column_name LIKE '%%\\_id')")
    assert len(rows) > 20 and [r for r in rows if r[2] != "C"] == []


def test_times_have_milliseconds(server):
    rows = server.sql("SELECT table_schema || '.' || table_name, column_name, datetime_precision FROM information_schema.columns"
                      " WHERE data_type = 'timestamp with time zone' AND table_schema NOT IN ('pg_catalog', 'information_schema', 'public')")
    assert len(rows) > 20 and [r for r in rows if r[2] != 3] == []


def test_filters_of_sorted_texts_have_statistics(server):
    """The planner takes none from an index in another collation, guesses that two hundred values are all there are, and walks all rows in the list's order."""
    indexed = set(server.sql("SELECT indrelid::regclass::text, (regexp_matches(pg_get_indexdef(indexrelid), 'lower\\((\\w+)\\) COLLATE \"C\"', 'g'))[1] FROM pg_index"))
    known = {(table, column) for table, expressions in server.sql("SELECT stxrelid::regclass::text, pg_get_statisticsobjdef_expressions(oid) FROM pg_statistic_ext")
             for column in (e.removeprefix("lower(").removesuffix(")") for e in expressions or [])}
    wanted = {(x(r)["table"], name) for r, d in DEFINITIONS.items() if x(r).get("table") for name, p in d["properties"].items()
              if p.get("x-wharf", {}).get("filter") and p["x-wharf"].get("sort") and "enum" not in p and "string" in types(p)}
    assert len(wanted & indexed) > 8 and (wanted & indexed) - known == set()
