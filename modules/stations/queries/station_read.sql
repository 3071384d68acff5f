-- Reads a station, with its open session. $1 station, $2 organization, $3 actor.
SELECT s.id, s.location_id, s.status, s.device_id, s.managed, s.draining,
    COALESCE((s.configuration ->> 'max_inflight')::bigint, 8),
    COALESCE((s.configuration ->> 'pooling_enabled')::boolean, false), n.id, s.device_token,
    s.push ->> 'driver', s.push ->> 'status',
    s.allow_all_users OR $3::text !~ '^user_' OR s.allowed_users ? $3::text
FROM stations.print_station s
LEFT JOIN stations.print_session n
    ON n.organization_id = $2::text AND n.station_id = s.id AND n.ended_at IS NULL
WHERE s.organization_id = $2::text AND s.id = $1::text AND s.deleted_at IS NULL
