-- wharf: phase=expand
-- Runs end after 30 days, and beyond 10,000 of a workflow; values of the store at their time (docs/spec/08-workflows-and-lua.md sections 5 and 7).

CREATE INDEX kv_expires ON workflows.kv (expires_at) WHERE expires_at IS NOT NULL;

-- Up to `most` rows of each kind per workflow. Answers how many there were in all.
CREATE FUNCTION workflows.expire(most integer) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
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
    RETURN total + n;
END
$$;

-- Ends a run that waits, or tells one that runs; the status as it is then, NULL: it is over.
CREATE FUNCTION workflows.cancel(org text, its_id text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog SET enable_seqscan = off AS $$
DECLARE
    r workflows.run;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('workflows.queue ' || org, 0));
    SELECT * INTO r FROM workflows.run k WHERE k.organization_id = org AND k.id = its_id AND k.status IN ('queued', 'waiting', 'running') FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF r.status = 'running' THEN
        UPDATE workflows.run SET cancel = true WHERE organization_id = org AND id = its_id;
        RETURN 'running';
    END IF;
    UPDATE workflows.run SET status = 'canceled', finished_at = wharf.now(), updated_at = wharf.now(), due_at = NULL,
        error = '{"code": "workflow.canceled", "message": "the run was canceled"}' WHERE organization_id = org AND id = its_id;
    PERFORM workflows.move_up(org, ARRAY[r.workflow_id], ARRAY[r.order_key], wharf.now());
    RETURN 'canceled';
END
$$;
