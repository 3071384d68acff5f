-- Takes pushes that are due, of all organizations, for its_server: one row for each address that
-- has not answered yet. phones: tokens of FCM are addresses. One whose user has no address any more
-- is over. Of one row's pushes to one user the older one goes first.
CREATE OR REPLACE FUNCTION notifications.push_claim(its_server text, room integer, phones boolean)
    RETURNS TABLE (organization_id text, id text, user_id text,
    event_id text, event_type text, resource_type text, resource_id text, location_id text,
    title text, body text, attempts integer, address text, token text, subscription_id text,
    endpoint text, p256dh text, auth text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz(3) := wharf.now();
BEGIN
    RETURN QUERY
        WITH due AS MATERIALIZED (
            SELECT p.* FROM notifications.push p WHERE p.due_at <= moment
                AND NOT EXISTS (SELECT FROM notifications.push o
                    WHERE o.organization_id = p.organization_id AND o.user_id = p.user_id
                    AND o.resource_type = p.resource_type AND o.resource_id = p.resource_id
                    AND o.number < p.number AND o.server IS NOT NULL AND o.due_at > moment)
            ORDER BY p.due_at, p.number LIMIT room FOR UPDATE SKIP LOCKED
        ), addressed AS MATERIALIZED (
            SELECT due.organization_id, due.id, 'fcm_' || md5(f.token) AS address, f.token,
                NULL AS subscription_id, NULL AS endpoint, NULL AS p256dh, NULL AS auth
            FROM due JOIN wharf.user u ON u.organization_id = due.organization_id
                AND u.id = due.user_id AND u.status = 'active' AND u.deleted_at IS NULL
            CROSS JOIN LATERAL jsonb_array_elements_text(u.fcm_tokens) AS f(token)
            WHERE phones AND NOT due.done ? ('fcm_' || md5(f.token))
            UNION ALL
            SELECT due.organization_id, due.id, s.id, NULL, s.id, s.endpoint, s.p256dh, s.auth
            FROM due JOIN wharf.user u ON u.organization_id = due.organization_id
                AND u.id = due.user_id AND u.status = 'active' AND u.deleted_at IS NULL
            JOIN notifications.push_subscription s ON s.organization_id = due.organization_id
                AND s.user_id = due.user_id AND s.deleted_at IS NULL
            WHERE NOT due.done ? s.id
        ), over AS (
            SELECT due.* FROM due WHERE NOT EXISTS (SELECT FROM addressed a
                WHERE a.organization_id = due.organization_id AND a.id = due.id)
        ), ended AS (
            DELETE FROM notifications.push p USING over
                WHERE p.organization_id = over.organization_id AND p.id = over.id
        ), skipped AS (
            UPDATE notifications.notification n SET status = 'skipped', reason = 'no_device',
                next_attempt_at = NULL, version = n.version + 1, updated_at = moment
            FROM over WHERE n.organization_id = over.organization_id AND n.id = over.id
                AND n.status = 'waiting'
        ), taken AS (
            UPDATE notifications.push p SET server = its_server, attempts = p.attempts + 1,
                first_at = COALESCE(p.first_at, moment), wait_ms = 0,
                due_at = moment + interval '60 seconds'
            FROM due WHERE p.organization_id = due.organization_id AND p.id = due.id
                AND EXISTS (SELECT FROM addressed a
                    WHERE a.organization_id = due.organization_id AND a.id = due.id)
            RETURNING p.*
        ), tried AS (
            UPDATE notifications.notification n SET attempts = t.attempts, version = n.version + 1,
                updated_at = moment
            FROM taken t WHERE n.organization_id = t.organization_id AND n.id = t.id
                AND n.status = 'waiting'
        )
        SELECT t.organization_id, t.id, t.user_id, t.event_id,
            t.event_type, t.resource_type, t.resource_id, t.location_id, t.title, t.body,
            t.attempts, a.address, a.token, a.subscription_id, a.endpoint, a.p256dh, a.auth
        FROM taken t JOIN addressed a
            ON a.organization_id = t.organization_id AND a.id = t.id
        ORDER BY t.number, a.address;
END
$$;
