-- Lists what was applied. The fifth column: was it by a server of a newer version than $1?
SELECT plugin, number, name, sha256, false AS newer, server FROM wharf.migration
UNION ALL
SELECT plugin, 0, name, sha256,
       string_to_array(substring(server FROM '^[0-9.]*[0-9]'), '.')::int[]
           > string_to_array($1, '.')::int[],
       server
FROM wharf.repeatable
