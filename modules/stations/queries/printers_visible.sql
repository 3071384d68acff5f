-- Lists the visible printers of a location: the station is for all users, for this one, or the
-- caller's own (spec 04 section 5 'Access'). Keys without a user see all. $1 organization, $2
-- location, $3 station or '', $4 actor.
SELECT p.id, p.name, p.model, p.status, s.id, s.status, p.page_size, p.languages,
    COALESCE((p.configuration ->> 'color_print')::boolean, false),
    COALESCE((p.configuration ->> 'double_sided')::boolean, false),
    COALESCE((p.configuration ->> 'spooling')::boolean, false),
    COALESCE((s.configuration ->> 'pooling_enabled')::boolean, false),
    COALESCE((p.configuration ->> 'priority')::bigint, 100),
    CASE
        WHEN COALESCE((s.configuration ->> 'pooling_enabled')::boolean, false) THEN pool.jobs
        ELSE own.jobs
    END,
    COALESCE(
        (
            SELECT (extract(epoch FROM j.created_at) * 1000000)::bigint
            FROM stations.print_job j
            WHERE j.organization_id = $1::text AND j.printer_id = p.id AND j.deleted_at IS NULL
            ORDER BY j.created_at DESC, j.id DESC
            LIMIT 1
        ),
        0
    )
FROM stations.print_station s
JOIN stations.printer p
    ON p.organization_id = $1::text AND p.station_id = s.id AND p.deleted_at IS NULL
LEFT JOIN LATERAL (
    SELECT count(*) AS jobs
    FROM stations.print_job j
    WHERE j.organization_id = $1::text
        AND j.print_station_id = s.id
        AND j.printer_id = p.id
        AND j.status IN ('queued', 'processing')
        AND j.deleted_at IS NULL
) own ON true
LEFT JOIN LATERAL (
    SELECT count(*) AS jobs
    FROM stations.print_job j
    WHERE j.organization_id = $1::text
        AND j.print_station_id = s.id
        AND j.printer_model = p.model
        AND j.status IN ('queued', 'processing')
        AND j.deleted_at IS NULL
) pool ON true
WHERE s.organization_id = $1::text
    AND s.location_id = $2::text
    AND s.deleted_at IS NULL
    AND ($3::text = '' OR s.id = $3::text)
    AND (
        s.allow_all_users
        OR $4::text !~ '^user_'
        OR s.allowed_users ? $4::text
        OR s.device_id = $4::text
    )
ORDER BY s.id, p.position
LIMIT 5000
