-- The first page of stations of one name.
\set n random(1, :rows)
SELECT
    t.id, t.name, t.display_name, t.location_id, t.status, t.allow_all_users, t.configuration,
    t.device_id, t.agent, t.last_seen_at, t.online_since, t.push, t.metadata, t.created_at,
    t.updated_at, t.created_by, t.updated_by, p.id AS "printers.id", p.name AS "printers.name",
    p.model AS "printers.model", p.status AS "printers.status",
    p.configuration AS "printers.configuration", p.page_size AS "printers.page_size",
    p.languages AS "printers.languages", p.state_reasons AS "printers.state_reasons",
    p.uri AS "printers.uri", p.created_at AS "printers.created_at",
    p.updated_at AS "printers.updated_at", p.status_changed_at AS "printers.status_changed_at"
FROM (
    SELECT *
    FROM stations.print_station t
    WHERE t.organization_id = :org AND t.deleted_at IS NULL
        AND lower(t.name) = lower('DOCK-' || :n)
    ORDER BY t.created_at DESC, t.id DESC
    LIMIT 21
) t
LEFT JOIN stations.printer p ON p.organization_id = :org AND p.station_id = t.id
    AND p.deleted_at IS NULL
ORDER BY t.created_at DESC, t.id DESC, p.position;
