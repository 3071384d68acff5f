-- Ends a run that waits, or tells one that runs; the status as it is then, NULL: it is over.
CREATE OR REPLACE FUNCTION workflows.cancel(org text, its_id text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog SET enable_seqscan = off AS $$
DECLARE
    r workflows.run;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('workflows.queue ' || org, 0));
    SELECT * INTO r FROM workflows.run k
        WHERE k.organization_id = org AND k.id = its_id
        AND k.status IN ('queued', 'waiting', 'running') FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF r.status = 'running' THEN
        UPDATE workflows.run SET cancel = true WHERE organization_id = org AND id = its_id;
        RETURN 'running';
    END IF;
    UPDATE workflows.run
        SET status = 'canceled', finished_at = wharf.now(), updated_at = wharf.now(), due_at = NULL,
        error = '{"code": "workflow.canceled", "message": "the run was canceled"}'
        WHERE organization_id = org AND id = its_id;
    PERFORM workflows.move_up(org, ARRAY[r.workflow_id], ARRAY[r.order_key], wharf.now());
    RETURN 'canceled';
END
$$;
