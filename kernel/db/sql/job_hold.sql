-- Tells whether this worker holds the job; then it is locked until the end of the transaction.
CREATE OR REPLACE FUNCTION wharf.job_hold(v_worker text, v_organization text, v_id bigint,
    v_fence bigint) RETURNS boolean LANGUAGE plpgsql
    SET enable_seqscan = off AS $$
BEGIN
    PERFORM FROM wharf.job
        WHERE organization_id = v_organization AND id = v_id AND worker = v_worker
        AND fence = v_fence
        AND state = 'running' FOR NO KEY UPDATE;
    RETURN FOUND;
END
$$;
