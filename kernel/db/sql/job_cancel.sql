-- Cancels a job, for the operator: a waiting one is over at once, a running one is told. Returns
-- what was done: canceled, told, or NULL (no such job).
CREATE OR REPLACE FUNCTION wharf.job_cancel(v_id bigint, v_keep bigint) RETURNS text
    LANGUAGE plpgsql AS $$
DECLARE
    v_job record;
BEGIN
    SELECT organization_id, state INTO v_job FROM wharf.job WHERE id = v_id FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF v_job.state = 'running' THEN
        UPDATE wharf.job SET cancel = true
            WHERE organization_id = v_job.organization_id AND id = v_id;
        RETURN 'told';
    END IF;
    PERFORM wharf.job_leave(NULL, json_build_array(json_build_object(
        'o', v_job.organization_id, 'id', v_id, 's', 'canceled', 'k', v_keep)));
    RETURN 'canceled';
END
$$;
