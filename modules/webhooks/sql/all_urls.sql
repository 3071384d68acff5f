-- Returns all addresses, for the static rules at the start of a server.
CREATE OR REPLACE FUNCTION webhooks.all_urls(after_org text, after_id text)
    RETURNS TABLE (organization_id text, webhook_id text, url text) LANGUAGE sql
    STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT w.organization_id, w.id, w.url FROM webhooks.webhook w WHERE w.deleted_at IS NULL
        AND (w.organization_id, w.id) > (after_org, after_id) ORDER BY 1, 2 LIMIT 1000
$$;
