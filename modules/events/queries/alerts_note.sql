-- Notes for everybody who is to be told of events that there is something to tell, once for each
-- event, and lists the lines that have no job yet. $1 organization, $2 events: e id, t type, r
-- resource, a when, o addresses of owners.
WITH e AS (
    SELECT *
    FROM jsonb_to_recordset($2::jsonb) AS x(e text, t text, r text, a timestamptz, o jsonb)
), told AS (
    SELECT e.e, e.t, e.r, e.a, s.email AS address
    FROM e
    JOIN events.subscriber s
        ON s.organization_id = $1
            AND s.deleted_at IS NULL
            AND s.status = 'active'
            AND s.events ? e.t
    UNION
    SELECT e.e, e.t, e.r, e.a, d.address
    FROM e, jsonb_array_elements_text(e.o) d(address)
    WHERE NOT EXISTS (
            SELECT FROM events.muted m
            WHERE m.organization_id = $1 AND m.address = d.address
        )
), fresh AS (
    INSERT INTO events.alert (organization_id, event_id, address, type, resource_id, at)
    SELECT DISTINCT ON (e, address) $1, e, address, t, r, a
    FROM told
    ON CONFLICT DO NOTHING
    RETURNING address, resource_id, type
)
INSERT INTO events.alert_line AS l (organization_id, address, resource_id, type, due)
SELECT DISTINCT $1, address, resource_id, type, true
FROM fresh
ON CONFLICT (organization_id, address, resource_id, type) DO UPDATE
SET due = true
WHERE NOT l.due
RETURNING address, resource_id, type, mailed_at
