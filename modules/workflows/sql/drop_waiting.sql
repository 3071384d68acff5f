-- Ends what waits of a workflow: it was deleted (canceled) or disabled (skipped).
CREATE OR REPLACE FUNCTION workflows.drop_waiting(org text, its_workflow text, how text)
    RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
    UPDATE workflows.run
        SET status = how, finished_at = wharf.now(), updated_at = wharf.now(), due_at = NULL,
        error = jsonb_build_object('code',
            CASE how WHEN 'skipped' THEN 'workflow.disabled' ELSE 'workflow.deleted' END, 'message',
            CASE how WHEN 'skipped' THEN 'the workflow was disabled'
                ELSE 'the workflow was deleted' END)
    WHERE organization_id = org AND workflow_id = its_workflow AND status IN ('queued', 'waiting')
$$;
