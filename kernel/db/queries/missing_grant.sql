-- Finds the first table on which the role of plugins has no rights, and says so. $1: the schemas of
-- the plugins, with commas between them.
SELECT format(
    'the role wharf_plugin has no rights on %I.%I; `wharf migrate` gives them anew', n.nspname,
    c.relname
)
FROM pg_namespace n
JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p') AND NOT c.relispartition
CROSS JOIN (SELECT oid FROM pg_roles WHERE rolname = 'wharf_plugin') r
WHERE (
        n.nspname = ANY (string_to_array($1, ','))
        OR (n.nspname = 'wharf' AND obj_description(c.oid, 'pg_class') = 'wharf:served')
    )
    AND NOT (
        has_schema_privilege(r.oid, n.oid, 'USAGE') AND has_table_privilege(r.oid, c.oid, 'SELECT')
    )
ORDER BY n.nspname, c.relname
LIMIT 1
