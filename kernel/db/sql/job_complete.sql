-- Marks a job done in the transaction of its own work. False: it is somebody else's by now, and the
-- work must be rolled back.
CREATE OR REPLACE FUNCTION wharf.job_complete(v_worker text, v_organization text, v_id bigint,
    v_fence bigint, v_keep bigint) RETURNS boolean
    LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    j record;
BEGIN
    IF v_keep > 0 THEN
        RETURN wharf.job_leave(v_worker, json_build_array(json_build_object(
            'o', v_organization, 'id', v_id, 'f', v_fence, 's', 'done', 'k', v_keep))) = 1;
    END IF;
    DELETE FROM wharf.job
        WHERE organization_id = v_organization AND id = v_id AND worker = v_worker
        AND fence = v_fence
        AND state = 'running' RETURNING lane, key INTO j;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF j.key <> '' THEN
        PERFORM wharf.job_promote(v_organization, j.lane, j.key);
    END IF;
    RETURN true;
END
$$;
