-- Returns the kernel clock: the database's, moved by the test offset (docs/decisions 9). In
-- plpgsql, whose plan is kept: a function in SQL is parsed and planned anew by each statement that
-- asks for the time.
CREATE OR REPLACE FUNCTION wharf.now() RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
DECLARE
    ahead bigint;
BEGIN
    SELECT s.value::bigint INTO ahead FROM wharf.setting s WHERE s.key = 'clock.offset_seconds';
    RETURN now() + make_interval(secs => COALESCE(ahead, 0));
END
$$;
