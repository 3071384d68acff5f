-- Makes due at once what a server that ends did not get done. Returns how many.
CREATE OR REPLACE FUNCTION integrations.interrupt(its_server text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    n integer;
BEGIN
    UPDATE integrations.waiting w SET server = NULL, next_attempt_at = wharf.now()
        WHERE w.server = its_server;
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END
$$;
