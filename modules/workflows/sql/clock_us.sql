-- Returns the clock by which runs are due, in microseconds.
CREATE OR REPLACE FUNCTION workflows.clock_us() RETURNS bigint LANGUAGE sql SECURITY DEFINER
    SET search_path = pg_catalog AS $$
    SELECT (extract(epoch FROM wharf.now()) * 1000000)::bigint
$$;
