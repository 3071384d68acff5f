-- Tells whether a run still uses the store of a workflow. The store of a deleted one goes with
-- it (docs/spec/08-workflows-and-lua.md sections 1 and 5): at once, or when its last run is
-- over, with whatever such a run left.
CREATE OR REPLACE FUNCTION workflows.uses_store(org text, its_workflow text) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog
    SET enable_seqscan = off AS $$
    SELECT EXISTS (SELECT FROM workflows.run r
        WHERE r.organization_id = org AND r.workflow_id = its_workflow AND r.status = 'running')
        OR EXISTS (SELECT FROM workflows.run r
            WHERE r.organization_id = org AND r.workflow_id = its_workflow
            AND r.status IN ('queued', 'waiting'))
$$;
