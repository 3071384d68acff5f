-- Tells whether deliveries of a webhook wait, since it is not enabled or its endpoint is paused.
CREATE OR REPLACE FUNCTION webhooks.is_held(org text, webhook text) RETURNS boolean
    LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT w.status <> 'enabled' OR webhooks.paused_until(w.organization_id, w.url) IS NOT NULL
        FROM webhooks.webhook w WHERE w.organization_id = org AND w.id = webhook
    );
END
$$;
