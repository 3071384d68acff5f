-- wharf: phase=expand
-- The store of a workflow that was deleted goes with it (docs/spec/08-workflows-and-lua.md sections 1 and 5): at once, or when its last run is over, which still
-- uses it, and whatever such a run left.

CREATE FUNCTION workflows.uses_store(org text, its_workflow text) RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog
    SET enable_seqscan = off AS $$
    SELECT EXISTS (SELECT FROM workflows.run r WHERE r.organization_id = org AND r.workflow_id = its_workflow AND r.status = 'running')
        OR EXISTS (SELECT FROM workflows.run r WHERE r.organization_id = org AND r.workflow_id = its_workflow AND r.status IN ('queued', 'waiting'))
$$;

CREATE FUNCTION workflows.drop_store(org text, its_workflow text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
    SET enable_seqscan = off AS $$
BEGIN
    IF workflows.uses_store(org, its_workflow) THEN
        RETURN;
    END IF;
    DELETE FROM workflows.kv k WHERE k.organization_id = org AND k.workflow_id = its_workflow;
    DELETE FROM workflows.lock l WHERE l.organization_id = org AND l.workflow_id = its_workflow;
END
$$;

-- Of deleted workflows, up to `most` rows of each; locks end by themselves.
CREATE FUNCTION workflows.expire_stores(most integer) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    its record;
    n bigint;
    total bigint := 0;
BEGIN
    FOR its IN SELECT w.organization_id, w.id FROM workflows.workflow w WHERE w.deleted_at IS NOT NULL AND EXISTS (SELECT FROM workflows.kv k
        WHERE k.organization_id = w.organization_id AND k.workflow_id = w.id) ORDER BY w.organization_id, w.id LOOP
        CONTINUE WHEN workflows.uses_store(its.organization_id, its.id);
        DELETE FROM workflows.kv k WHERE k.ctid = ANY (ARRAY(SELECT v.ctid FROM workflows.kv v WHERE v.organization_id = its.organization_id
            AND v.workflow_id = its.id LIMIT most));
        GET DIAGNOSTICS n = ROW_COUNT;
        total := total + n;
    END LOOP;
    RETURN total;
END
$$;

CREATE OR REPLACE FUNCTION workflows.expire(most integer) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    at timestamptz(3) := wharf.now();
    its record;
    before timestamptz(3);
    n bigint;
    total bigint := 0;
BEGIN
    FOR its IN SELECT w.organization_id, w.id FROM workflows.workflow w ORDER BY w.organization_id, w.id LOOP
        SELECT GREATEST(at - interval '30 days', (SELECT r.created_at FROM workflows.run r WHERE r.organization_id = its.organization_id
            AND r.workflow_id = its.id AND r.deleted_at IS NULL ORDER BY r.created_at DESC, r.id DESC OFFSET 10000 LIMIT 1)) INTO before;
        DELETE FROM workflows.run d WHERE d.ctid = ANY (ARRAY(SELECT r.ctid FROM workflows.run r WHERE r.organization_id = its.organization_id
            AND r.workflow_id = its.id AND r.deleted_at IS NULL AND r.created_at <= before AND r.status NOT IN ('queued', 'waiting', 'running')
            ORDER BY r.created_at LIMIT most));
        GET DIAGNOSTICS n = ROW_COUNT;
        total := total + n;
    END LOOP;
    DELETE FROM workflows.kv k WHERE k.ctid = ANY (ARRAY(SELECT v.ctid FROM workflows.kv v WHERE v.expires_at <= at LIMIT most));
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN total + n + workflows.expire_stores(most);
END
$$;
