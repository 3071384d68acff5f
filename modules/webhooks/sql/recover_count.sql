-- Counts, up to 1,000,001, the events that a recovery brings again to one webhook, by the states
-- its deliveries ended in.
CREATE OR REPLACE FUNCTION webhooks.recover_count(org text, webhook text, states text[], types json,
    since timestamptz, until timestamptz) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT count(*)
        FROM (SELECT DISTINCT d.event_id FROM webhooks.delivery d
        WHERE d.organization_id = org AND d.webhook_id = webhook
        AND d.event_at >= since AND d.event_at < until AND d.status = ANY (states)
        AND d.expires_at > wharf.now()
        AND (types IS NULL OR d.event_type IN (SELECT json_array_elements_text(types)))
        LIMIT 1000001) x
$$;
