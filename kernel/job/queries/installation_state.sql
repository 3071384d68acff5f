-- Tells of the whole installation what waits, and of the database its size and its connections.
SELECT name, waiting, age_ms FROM wharf.count_backlogs()
UNION ALL
SELECT '', pg_database_size(current_database()), 0
UNION ALL
SELECT NULL, (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
       current_setting('max_connections')::bigint
           - current_setting('superuser_reserved_connections')::bigint
