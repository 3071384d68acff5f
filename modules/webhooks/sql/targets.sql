-- Returns what attempts need of webhooks, as it is now.
CREATE OR REPLACE FUNCTION webhooks.targets(orgs text[], ids text[])
RETURNS TABLE (
    organization_id text, webhook_id text, version bigint, url text, sealed_headers text,
    secrets text, timeout_ms bigint, retry_mode text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    RETURN QUERY
        SELECT w.organization_id, w.id, w.version, w.url, w.sealed_headers, w.secrets, w.timeout_ms,
            w.retry_mode
        FROM unnest(orgs, ids) AS x(o, i)
        JOIN webhooks.webhook w ON w.organization_id = x.o AND w.id = x.i;
END
$$;
