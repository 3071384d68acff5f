-- Deletes locks of runs that died.
CREATE OR REPLACE FUNCTION workflows.expire_locks() RETURNS void LANGUAGE sql SECURITY DEFINER
    SET search_path = pg_catalog AS $$
    DELETE FROM workflows.lock WHERE expires_at < wharf.now() - interval '1 hour'
$$;
