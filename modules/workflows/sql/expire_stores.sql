-- Deletes up to `most` values of each store of a deleted workflow, and returns how many. Locks end
-- by themselves.
CREATE OR REPLACE FUNCTION workflows.expire_stores(most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
        SET enable_mergejoin = off AS $$
DECLARE
    its record;
    n bigint;
    total bigint := 0;
BEGIN
    FOR its IN SELECT w.organization_id, w.id FROM workflows.workflow w
        WHERE w.deleted_at IS NOT NULL AND EXISTS (SELECT FROM workflows.kv k
        WHERE k.organization_id = w.organization_id AND k.workflow_id = w.id)
            ORDER BY w.organization_id, w.id LOOP
        CONTINUE WHEN workflows.uses_store(its.organization_id, its.id);
        DELETE FROM workflows.kv k
            WHERE k.ctid = ANY (
            ARRAY(SELECT v.ctid FROM workflows.kv v WHERE v.organization_id = its.organization_id
            AND v.workflow_id = its.id LIMIT most));
        GET DIAGNOSTICS n = ROW_COUNT;
        total := total + n;
    END LOOP;
    RETURN total;
END
$$;
