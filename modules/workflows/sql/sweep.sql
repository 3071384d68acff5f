-- Makes runs whose lease is over wait again, but for those that brought down a server often
-- enough. Returns the organizations that have due runs.
CREATE OR REPLACE FUNCTION workflows.sweep() RETURNS SETOF text LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog SET enable_seqscan = off AS $$
DECLARE
    at timestamptz(3) := wharf.now();
    lost record;
BEGIN
    FOR lost IN UPDATE workflows.run
        SET status = CASE WHEN attempt < 20 THEN 'waiting' ELSE 'failed' END,
            worker = NULL, lease_until = NULL,
            due_at = CASE WHEN attempt < 20 THEN at END,
            finished_at = CASE WHEN attempt < 20 THEN NULL ELSE at END, updated_at = at,
            error = CASE WHEN attempt < 20 THEN NULL
                ELSE '{"code": "workflow.failed", "message": "the server ended while it ran,'
                    ' twenty times"}'::jsonb END
        WHERE status = 'running' AND lease_until < at
        RETURNING organization_id, workflow_id, order_key, status
    LOOP
        IF lost.status = 'failed' THEN
            PERFORM workflows.move_up(lost.organization_id, ARRAY[lost.workflow_id],
                ARRAY[lost.order_key], at);
        END IF;
    END LOOP;
    RETURN QUERY SELECT DISTINCT organization_id FROM workflows.run
        WHERE status IN ('queued', 'waiting') AND due_at <= at;
END
$$;
