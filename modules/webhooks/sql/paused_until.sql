-- Returns until when an endpoint is paused; NULL: it is not.
CREATE OR REPLACE FUNCTION webhooks.paused_until(org text, its_url text) RETURNS timestamptz(3)
    LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT e.paused_until FROM webhooks.endpoint e
        WHERE e.organization_id = org AND e.url = its_url AND e.paused_until > wharf.now()
    );
END
$$;
