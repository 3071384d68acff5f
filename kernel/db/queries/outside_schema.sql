-- Finds the first thing that the open transaction changed outside of a plugin's schema: rows of the
-- catalogue that it wrote itself, whatever its file did by whichever words, functions and DO
-- blocks. Schemas of the system are left out: TOAST tables and the like come by themselves. Tables
-- with the comment wharf:offered may be changed. $1: the schema. $2: the catalogues that it wrote;
-- the others are not read, unless PostgreSQL does not count what is written. One column: what was
-- done, to what.
--
-- Rows of transactions that began later and are committed are as young as its own; a server at work
-- makes partitions meanwhile. Its own transaction, subtransactions included, is the only one in
-- progress whose rows it sees.
WITH own AS (
    SELECT
        age(pg_current_xact_id()::xid) AS age,
        pg_current_xact_id()::text::bigint AS id
),
looked AS (
    SELECT CASE WHEN current_setting('track_counts') = 'on' THEN $2::text[] END AS at
),
home AS (
    SELECT oid
    FROM pg_namespace
    WHERE nspname = $1::text OR nspname LIKE 'pg\_%' OR nspname = 'information_schema'
), offered AS (
    SELECT objoid
    FROM pg_description
    WHERE classoid = 'pg_class'::regclass AND description = 'wharf:offered'
), found AS MATERIALIZED (
    SELECT 'changes ' || c.oid::regclass::text AS what, c.xmin AS writer
    FROM pg_class c, own
    WHERE (SELECT ('pg_class' = ANY (at)) IS NOT false FROM looked)
        AND age(c.xmin) <= own.age
        AND c.relnamespace NOT IN (SELECT oid FROM home)
        AND c.oid NOT IN (SELECT objoid FROM offered)
    UNION ALL
    SELECT 'changes columns of ' || c.oid::regclass::text, t.xmin
    FROM pg_attribute t
    JOIN pg_class c ON c.oid = t.attrelid, own
    WHERE (SELECT ('pg_attribute' = ANY (at)) IS NOT false FROM looked)
        AND age(t.xmin) <= own.age
        AND c.relnamespace NOT IN (SELECT oid FROM home)
        AND c.oid NOT IN (SELECT objoid FROM offered)
    UNION ALL
    SELECT 'changes the function ' || p.oid::regprocedure::text, p.xmin
    FROM pg_proc p, own
    WHERE (SELECT ('pg_proc' = ANY (at)) IS NOT false FROM looked)
        AND age(p.xmin) <= own.age AND p.pronamespace NOT IN (SELECT oid FROM home)
    UNION ALL
    SELECT 'puts a trigger on ' || c.oid::regclass::text, g.xmin
    FROM pg_trigger g
    JOIN pg_class c ON c.oid = g.tgrelid, own
    WHERE (SELECT ('pg_trigger' = ANY (at)) IS NOT false FROM looked)
        AND age(g.xmin) <= own.age AND c.relnamespace NOT IN (SELECT oid FROM home)
    UNION ALL
    SELECT 'puts a constraint on ' || c.oid::regclass::text, k.xmin
    FROM pg_constraint k
    JOIN pg_class c ON c.oid = k.conrelid, own
    WHERE (SELECT ('pg_constraint' = ANY (at)) IS NOT false FROM looked)
        AND age(k.xmin) <= own.age AND c.relnamespace NOT IN (SELECT oid FROM home)
    UNION ALL
    SELECT 'changes policies of ' || c.oid::regclass::text, y.xmin
    FROM pg_policy y
    JOIN pg_class c ON c.oid = y.polrelid, own
    WHERE (SELECT ('pg_policy' = ANY (at)) IS NOT false FROM looked)
        AND age(y.xmin) <= own.age AND c.relnamespace NOT IN (SELECT oid FROM home)
    UNION ALL
    SELECT 'changes the schema ' || n.nspname, n.xmin
    FROM pg_namespace n, own
    WHERE (SELECT ('pg_namespace' = ANY (at)) IS NOT false FROM looked)
        AND age(n.xmin) <= own.age AND n.oid NOT IN (SELECT oid FROM home)
    UNION ALL
    SELECT 'changes the extension ' || e.extname, e.xmin
    FROM pg_extension e, own
    WHERE (SELECT ('pg_extension' = ANY (at)) IS NOT false FROM looked) AND age(e.xmin) <= own.age
)
SELECT what
FROM found, own
WHERE pg_xact_status((own.id + own.age - age(writer))::text::xid8) = 'in progress'
ORDER BY 1
LIMIT 1
