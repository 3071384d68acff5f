-- Returns when the next thing is due, as milliseconds from now (at most 1,000).
CREATE OR REPLACE FUNCTION integrations.next_due() RETURNS integer LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    RETURN LEAST(1000, GREATEST(0, COALESCE(extract(epoch FROM (SELECT w.next_attempt_at
        FROM integrations.waiting w ORDER BY w.next_attempt_at LIMIT 1) - wharf.now()) * 1000, 1000)))::integer;
END
$$;
