-- Reads what a backup says of itself: each schema that is ours with its last migration, the moment,
-- and the id of the master key.
SELECT
    n.nspname,
    coalesce((SELECT max(number) FROM wharf.migration m WHERE m.plugin = n.nspname), 0),
    to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    coalesce((SELECT value FROM wharf.setting WHERE key = 'master_key.id'), '')
FROM pg_namespace n
WHERE n.nspname IN (
        SELECT 'wharf' UNION SELECT plugin FROM wharf.migration
        UNION SELECT plugin FROM wharf.repeatable
    )
ORDER BY n.nspname <> 'wharf', n.nspname
