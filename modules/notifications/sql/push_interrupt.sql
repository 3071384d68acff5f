-- Makes due at once what a server that ends did not get done.
CREATE OR REPLACE FUNCTION notifications.push_interrupt(its_server text) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
    UPDATE notifications.push p SET server = NULL, due_at = wharf.now()
        WHERE p.server = its_server
$$;
