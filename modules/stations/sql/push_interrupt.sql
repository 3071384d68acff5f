-- Makes due at once what a server that ends did not get done.
CREATE OR REPLACE FUNCTION stations.push_interrupt(its_server text) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
    UPDATE stations.print_push_delivery d SET server = NULL, due_at = wharf.now()
        WHERE d.status = 'waiting' AND d.server = its_server
$$;
