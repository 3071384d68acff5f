-- Returns the next events of a recovery behind a sequence, at most `most`, as
-- webhooks.recover_count counts them.
CREATE OR REPLACE FUNCTION webhooks.recover_next(org text, webhook text, states text[], types json,
    since timestamptz, until timestamptz, after bigint,
    most integer) RETURNS TABLE (event_id text, sequence bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT DISTINCT d.event_id, d.sequence FROM webhooks.delivery d
        WHERE d.organization_id = org AND d.webhook_id = webhook
        AND d.event_at >= since AND d.event_at < until AND d.status = ANY (states)
        AND d.expires_at > wharf.now() AND d.sequence > after
        AND (types IS NULL OR d.event_type IN (SELECT json_array_elements_text(types)))
    ORDER BY d.sequence LIMIT most
$$;
