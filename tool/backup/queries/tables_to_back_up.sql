-- Lists the tables of the schemas that are ours, as names that SQL takes.
SELECT format('%I.%I', n.nspname, c.relname)
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p')
    AND n.nspname IN (
        SELECT 'wharf' UNION SELECT plugin FROM wharf.migration
        UNION SELECT plugin FROM wharf.repeatable
    )
ORDER BY 1
