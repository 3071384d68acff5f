-- Takes a lock for a token, when it is free or its time is over. Returns true when the token has
-- it now, else no row.
CREATE OR REPLACE FUNCTION workflows.take_lock(org text, its_workflow text, its_name text,
    its_token text, ttl_ms bigint) RETURNS SETOF boolean LANGUAGE sql SECURITY DEFINER
    SET search_path = pg_catalog AS $$
    INSERT INTO workflows.lock AS l (organization_id, workflow_id, name, token, expires_at)
    VALUES (org, its_workflow, its_name, its_token,
        wharf.now() + make_interval(secs => ttl_ms / 1000.0))
    ON CONFLICT (organization_id, workflow_id, name) DO UPDATE
        SET token = EXCLUDED.token, expires_at = EXCLUDED.expires_at
        WHERE l.expires_at <= wharf.now()
    RETURNING true
$$;
