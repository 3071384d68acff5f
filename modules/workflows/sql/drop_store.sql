-- Deletes the values and locks of a workflow's store, unless a run still uses it.
CREATE OR REPLACE FUNCTION workflows.drop_store(org text, its_workflow text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
    SET enable_seqscan = off AS $$
BEGIN
    IF workflows.uses_store(org, its_workflow) THEN
        RETURN;
    END IF;
    DELETE FROM workflows.kv k WHERE k.organization_id = org AND k.workflow_id = its_workflow;
    DELETE FROM workflows.lock l WHERE l.organization_id = org AND l.workflow_id = its_workflow;
END
$$;
