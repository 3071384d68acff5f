-- Returns the moment before which everything that was queued was held for more than 48 hours in
-- all; NULL: nothing can have been.
CREATE OR REPLACE FUNCTION webhooks.held_since_48h(org text, webhook text, at timestamptz)
    RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
DECLARE
    h record;
    total interval := '0';
BEGIN
    FOR h IN
        SELECT k.held_since AS from_at, at AS until_at FROM webhooks.runtime k
            WHERE k.organization_id = org AND k.webhook_id = webhook AND k.held_since IS NOT NULL
        UNION ALL SELECT o.from_at, o.until_at FROM webhooks.hold o
            WHERE o.organization_id = org AND o.webhook_id = webhook
        ORDER BY 2 DESC
    LOOP
        IF total + (h.until_at - h.from_at) > interval '48 hours' THEN
            RETURN h.until_at - (interval '48 hours' - total);
        END IF;
        total := total + (h.until_at - h.from_at);
    END LOOP;
    RETURN NULL;
END
$$;
