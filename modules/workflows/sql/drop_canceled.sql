-- Ends waiting runs that are to be canceled, and lets those behind them run. Runs under the lock
-- of the queue.
CREATE OR REPLACE FUNCTION workflows.drop_canceled(org text, moment timestamptz) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
        SET enable_bitmapscan = off AS $$
DECLARE
    ids text[];
    keys text[];
BEGIN
    WITH gone AS (
        UPDATE workflows.run r
            SET status = 'canceled', finished_at = moment, updated_at = moment, due_at = NULL,
            error = '{"code": "workflow.canceled", "message": "the run was canceled"}'
        WHERE r.organization_id = org AND r.cancel AND r.status IN ('queued', 'waiting')
            RETURNING r.workflow_id, r.order_key
    )
    SELECT array_agg(g.workflow_id), array_agg(g.order_key) INTO ids, keys FROM gone g;
    IF ids IS NOT NULL THEN
        PERFORM workflows.move_up(org, ids, keys, moment);
    END IF;
END
$$;
