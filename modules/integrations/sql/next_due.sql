-- Returns when the next thing is due, as milliseconds from now (at most 1,000).
CREATE OR REPLACE FUNCTION integrations.next_due() RETURNS integer
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    at timestamptz;
    ms numeric;
BEGIN
    SELECT w.next_attempt_at INTO at FROM integrations.waiting w ORDER BY w.next_attempt_at LIMIT 1;
    ms := COALESCE(extract(epoch FROM at - wharf.now()) * 1000, 1000);
    RETURN LEAST(1000, GREATEST(0, ms))::integer;
END
$$;
