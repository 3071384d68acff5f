-- Adds notifications of users, in the order of their events, and what is to be pushed of them; an
-- older one about the same row that was not sent yet is replaced. Those that are there already are
-- left alone: the step may be made again. Returns how many were skipped. $1 organization, $2 rows:
-- i id, u user, e event, t its type, y and r type and id of the resource, l its location, o its
-- locations, g language, n title, b body, s status, w reason, d when it is due, x when it expires,
-- $3 now.
WITH given AS MATERIALIZED (
    SELECT *
    FROM json_to_recordset($2::json) AS x(i text, u text, e text, t text, y text, r text, l text,
        o jsonb, g text, n text, b text, s text, w text, d timestamptz, x timestamptz)
), made AS (
    INSERT INTO notifications.notification (
        organization_id, id, kind, channel, event_id, event_type, resource_type, resource_id,
        location_id, user_id, language, title, body, status, reason, next_attempt_at,
        access_locations, created_at, updated_at, created_by, updated_by, expires_at
    )
    SELECT $1::text, g.i, 'user', 'push', g.e, g.t, g.y, g.r, g.l, g.u, g.g, g.n, g.b, g.s, g.w,
        g.d, wharf.recorded_locations(g.o, g.l), $3::timestamptz, $3::timestamptz, 'sys', 'sys', g.x
    FROM given g
    ORDER BY g.i
    ON CONFLICT DO NOTHING
    RETURNING id, status
), older AS (
    DELETE FROM notifications.push p
    USING given g
    JOIN made ON made.id = g.i
    WHERE g.s = 'waiting'
        AND p.organization_id = $1::text
        AND p.user_id = g.u
        AND p.resource_type = g.y
        AND p.resource_id = g.r
        AND (p.server IS NULL OR p.due_at <= $3::timestamptz)
    RETURNING p.id
), replaced AS (
    UPDATE notifications.notification o
    SET status = 'skipped', reason = 'replaced', next_attempt_at = NULL, version = o.version + 1,
        updated_at = $3::timestamptz
    FROM older
    WHERE o.organization_id = $1::text AND o.id = older.id AND o.status = 'waiting'
    RETURNING o.id
), queued AS (
    INSERT INTO notifications.push (
        organization_id, id, user_id, event_id, event_type, resource_type, resource_id, location_id,
        title, body, due_at
    )
    SELECT $1::text, g.i, g.u, g.e, g.t, g.y, g.r, g.l, g.n, g.b, g.d
    FROM given g
    JOIN made ON made.id = g.i
    WHERE g.s = 'waiting'
    ORDER BY g.i
)
SELECT (SELECT count(*) FROM replaced) + (SELECT count(*) FROM made WHERE status = 'skipped')
