-- Returns all addresses, for the static rules at the start of a server; by_settings: suspended
-- since a setting is off.
CREATE OR REPLACE FUNCTION webhooks.all_urls(after_org text, after_id text)
    RETURNS TABLE (organization_id text, webhook_id text, url text, by_settings boolean)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT w.organization_id, w.id, w.url, w.status_reason IS NOT DISTINCT FROM 'settings'
        FROM webhooks.webhook w WHERE w.deleted_at IS NULL
        AND (w.organization_id, w.id) > (after_org, after_id) ORDER BY 1, 2 LIMIT 1000
$$;
