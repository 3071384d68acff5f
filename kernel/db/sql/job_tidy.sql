-- Forgets what was kept long enough, in small pieces; repairs lines whose first job was taken away
-- by hand. Returns rows forgotten.
CREATE OR REPLACE FUNCTION wharf.job_tidy() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_count integer;
BEGIN
    DELETE FROM wharf.job_past p
        USING (SELECT organization_id, id FROM wharf.job_past WHERE expires_at < wharf.now()
        ORDER BY expires_at LIMIT 5000) old
    WHERE p.organization_id = old.organization_id AND p.id = old.id;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    DELETE FROM wharf.job_worker WHERE lost AND lease_until < wharf.now() - interval '1 day';
    UPDATE wharf.job j SET state = 'ready'
    FROM (SELECT DISTINCT ON (lane, key, organization_id || '') organization_id, id FROM wharf.job
        WHERE key <> ''
        ORDER BY lane, key, organization_id || '', state <> 'running', id + 0) f
    WHERE j.organization_id = f.organization_id AND j.id = f.id AND j.state = 'blocked';
    RETURN v_count;
END
$$;
