-- Returns when the next push is due, in milliseconds from now (at most 1,000).
CREATE OR REPLACE FUNCTION notifications.push_due() RETURNS integer
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    at timestamptz;
    ms numeric;
BEGIN
    SELECT p.due_at INTO at FROM notifications.push p ORDER BY p.due_at LIMIT 1;
    ms := COALESCE(extract(epoch FROM at - wharf.now()) * 1000, 1000);
    RETURN LEAST(1000, GREATEST(0, ms))::integer;
END
$$;
