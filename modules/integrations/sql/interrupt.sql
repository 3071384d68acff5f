-- A server ends: what it did not get done is due at once.
CREATE OR REPLACE FUNCTION integrations.interrupt(its_server text) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    n integer;
BEGIN
    UPDATE integrations.waiting w SET server = NULL, next_attempt_at = wharf.now() WHERE w.server = its_server;
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END
$$;
