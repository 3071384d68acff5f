-- Deletes up to `most` rows of each kind per workflow that are over. Returns how many there were
-- in all.
CREATE OR REPLACE FUNCTION workflows.expire(most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
        SET enable_mergejoin = off AS $$
DECLARE
    at timestamptz(3) := wharf.now();
    its record;
    before timestamptz(3);
    n bigint;
    total bigint := 0;
BEGIN
    FOR its IN SELECT w.organization_id, w.id FROM workflows.workflow w
        ORDER BY w.organization_id, w.id LOOP
        SELECT GREATEST(at - interval '30 days',
            (SELECT r.created_at FROM workflows.run r WHERE r.organization_id = its.organization_id
            AND r.workflow_id = its.id AND r.deleted_at IS NULL
            ORDER BY r.created_at DESC, r.id DESC OFFSET 10000 LIMIT 1)) INTO before;
        DELETE FROM workflows.run d
            WHERE d.ctid = ANY (
            ARRAY(SELECT r.ctid FROM workflows.run r WHERE r.organization_id = its.organization_id
            AND r.workflow_id = its.id AND r.deleted_at IS NULL AND r.created_at <= before
            AND r.status NOT IN ('queued', 'waiting', 'running')
            ORDER BY r.created_at LIMIT most));
        GET DIAGNOSTICS n = ROW_COUNT;
        total := total + n;
    END LOOP;
    DELETE FROM workflows.kv k
        WHERE k.ctid = ANY (
        ARRAY(SELECT v.ctid FROM workflows.kv v WHERE v.expires_at <= at LIMIT most));
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN total + n + workflows.expire_stores(most);
END
$$;
