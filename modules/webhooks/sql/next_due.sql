-- Returns when the next thing is due, as milliseconds from now (at most 1,000).
CREATE OR REPLACE FUNCTION webhooks.next_due() RETURNS integer
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    due timestamptz;
BEGIN
    SELECT k.next_due_at INTO due FROM webhooks.runtime k WHERE k.next_due_at < 'infinity'
        ORDER BY k.next_due_at LIMIT 1;
    RETURN LEAST(1000,
        GREATEST(0, COALESCE(extract(epoch FROM due - wharf.now()) * 1000, 1000)))::integer;
END
$$;
