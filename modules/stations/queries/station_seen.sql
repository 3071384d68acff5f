-- Notes that a station was seen, and its session. $1 station, $2 organization, $3 now, $4 agent.
WITH s AS (
    UPDATE stations.print_station
    SET last_seen_at = $3::timestamptz, managed = true, agent = COALESCE($4::jsonb, agent),
        online_since = CASE
            WHEN status = 'online' AND online_since IS NOT NULL THEN online_since
            ELSE $3::timestamptz
        END
    WHERE organization_id = $2::text AND id = $1::text
)
UPDATE stations.print_session
SET seen_at = $3::timestamptz
WHERE organization_id = $2::text AND station_id = $1::text AND ended_at IS NULL
