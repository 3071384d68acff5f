-- Returns the webhooks that are to be looked at each minute, whose suspension is over, or whose
-- url was refused for a day.
CREATE OR REPLACE FUNCTION webhooks.due_for_care()
    RETURNS TABLE (organization_id text, webhook_id text, care text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog AS $$
    SELECT w.organization_id, w.id, 'enable' FROM webhooks.webhook w
        WHERE w.status = 'suspended' AND w.deleted_at IS NULL AND w.enable_at <= wharf.now()
    UNION ALL
    SELECT w.organization_id, w.id, webhooks.judge(w.organization_id, w.id, false)
        FROM webhooks.webhook w
        WHERE w.status = 'enabled' AND w.deleted_at IS NULL
            AND (w.degraded_at IS NOT NULL OR EXISTS (SELECT FROM webhooks.bucket b
            WHERE b.organization_id = w.organization_id AND b.webhook_id = w.id
                AND b.minute > wharf.now() - interval '24 hours' AND b.failure > 0))
    UNION ALL
    SELECT w.organization_id, w.id, 'invalid_url' FROM webhooks.webhook w
        JOIN webhooks.runtime r ON r.organization_id = w.organization_id
        AND r.webhook_id = w.id
        WHERE w.deleted_at IS NULL AND r.refused >= 10
        AND r.refused_since <= wharf.now() - interval '24 hours'
$$;
