-- Lists the jobs that may begin now: of each printer that has room, in the order of its queue; of
-- pools, for each printer that has none open. $1 organization, $2 station, $3 what it may still
-- take, $4 printers that are asked for, or empty, $5 now.
WITH free AS (
    SELECT p.id, p.name, p.model, p.position, p.status,
        CASE WHEN COALESCE((p.configuration ->> 'spooling')::boolean, false) THEN 8 ELSE 1 END - (
            SELECT count(*)
            FROM stations.print_job o
            WHERE o.organization_id = $1::text AND o.printer_id = p.id AND o.status = 'processing'
        ) AS room
    FROM stations.printer p
    WHERE p.organization_id = $1::text
        AND p.station_id = $2::text
        AND p.deleted_at IS NULL
        AND ($4::text[] = '{}' OR p.id = ANY ((SELECT $4::text[])::text[]))
)
SELECT j.id, f.id, f.name, f.model, j.priority
FROM free f
CROSS JOIN LATERAL (
    SELECT q.id, q.priority
    FROM stations.print_job q
    WHERE q.organization_id = $1::text
        AND q.print_station_id = $2::text
        AND q.status = 'queued'
        AND q.deleted_at IS NULL
        AND q.printer_id = f.id
        AND q.expires_at > $5::timestamptz
    ORDER BY q.priority DESC, q.id
    LIMIT GREATEST(f.room, 0)
) j
UNION ALL
SELECT j.id, f.id, f.name, f.model, j.priority
FROM (
    SELECT f.*, row_number() OVER (PARTITION BY f.model ORDER BY f.position) AS turn
    FROM free f
    WHERE f.room > 0 AND f.status NOT IN ('offline', 'error')
) f
JOIN LATERAL (
    SELECT q.id, q.priority, row_number() OVER (ORDER BY q.priority DESC, q.id) AS turn
    FROM stations.print_job q
    WHERE q.organization_id = $1::text
        AND q.print_station_id = $2::text
        AND q.status = 'queued'
        AND q.deleted_at IS NULL
        AND q.pool
        AND q.printer_id IS NULL
        AND q.printer_model = f.model
        AND q.expires_at > $5::timestamptz
    ORDER BY q.priority DESC, q.id
    LIMIT 100
) j ON j.turn = f.turn
ORDER BY 5 DESC, 1
LIMIT $3::bigint
