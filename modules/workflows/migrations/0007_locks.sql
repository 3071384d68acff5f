-- wharf: phase=expand
-- wharf.lock of runs (docs/spec/08-workflows-and-lua.md section 5): who has the row has the lock, until it ends.

CREATE TABLE workflows.lock (
    organization_id text COLLATE "C" NOT NULL,
    workflow_id text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    token text COLLATE "C" NOT NULL,
    expires_at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, workflow_id, name)
);
SELECT wharf.protect_table('workflows.lock');

-- Of runs that died.
CREATE FUNCTION workflows.expire_locks() RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
    DELETE FROM workflows.lock WHERE expires_at < wharf.now() - interval '1 hour'
$$;

-- True: it is the token's now.
CREATE FUNCTION workflows.take_lock(org text, its_workflow text, its_name text, its_token text, ttl_ms bigint) RETURNS SETOF boolean LANGUAGE sql SECURITY DEFINER
    SET search_path = pg_catalog AS $$
    INSERT INTO workflows.lock AS l (organization_id, workflow_id, name, token, expires_at)
    VALUES (org, its_workflow, its_name, its_token, wharf.now() + make_interval(secs => ttl_ms / 1000.0))
    ON CONFLICT (organization_id, workflow_id, name) DO UPDATE SET token = EXCLUDED.token, expires_at = EXCLUDED.expires_at WHERE l.expires_at <= wharf.now()
    RETURNING true
$$;
