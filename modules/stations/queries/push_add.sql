-- Queues a push for a station whose driver is enabled. Whoever has a session hears of the signal by
-- the stream; pushed is only what nobody acts on. $1 station, $2 organization, $3 id of the push,
-- $4 job, $5 number of the signal, $6 type, $7 now, $8 drivers that are enabled, $9 seconds that a
-- session has.
INSERT INTO stations.print_push_delivery (
    organization_id, id, station_id, job_id, seq, type, driver, created_at, due_at
)
SELECT $2::text, $3::text, s.id, $4::text, $5::bigint, $6::text, s.push ->> 'driver',
    $7::timestamptz,
    CASE
        WHEN n.id IS NULL THEN $7::timestamptz
        ELSE $7::timestamptz + make_interval(secs => $9::bigint)
    END
FROM stations.print_station s
LEFT JOIN stations.print_session n
    ON n.organization_id = $2::text AND n.station_id = s.id AND n.ended_at IS NULL
WHERE s.organization_id = $2::text
    AND s.id = $1::text
    AND s.push ->> 'driver' = ANY ((SELECT $8::text[])::text[])
    AND COALESCE(s.push ->> 'status', 'unknown') <> 'invalid'
    AND (n.id IS NULL OR $4::text IS NOT NULL)
