-- Returns when the next one is due, in milliseconds from now (at most 1,000).
CREATE OR REPLACE FUNCTION stations.push_due() RETURNS integer
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    at timestamptz;
    ms numeric;
BEGIN
    SELECT d.due_at INTO at FROM stations.print_push_delivery d
    WHERE d.status = 'waiting' ORDER BY d.due_at LIMIT 1;
    ms := COALESCE(extract(epoch FROM at - wharf.now()) * 1000, 1000);
    RETURN LEAST(1000, GREATEST(0, ms))::integer;
END
$$;
