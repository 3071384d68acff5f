-- Lists the columns of all tables but the system's: table, column, type, and whether resources may
-- be served of it.
SELECT (n.nspname || '.' || c.relname) COLLATE "C", a.attname::text COLLATE "C", t.typname,
    n.nspname <> 'wharf' OR obj_description(c.oid, 'pg_class') IS NOT DISTINCT FROM 'wharf:served'
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attnum > 0
    AND NOT a.attisdropped
    AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
    AND n.nspname !~ '^(pg_|information_schema)'
ORDER BY 1, 2
