-- Gives back jobs that were running when their worker crashed. Parks them the second time, or as
-- often as their queue is told to bear (docs/reference/plugin-abi.md section 11, docs/decisions
-- 21). Returns how many were parked.
CREATE OR REPLACE FUNCTION wharf.job_crashed(v_worker text, v_ids bigint[], v_queues text[],
    v_limits integer[], v_keep bigint) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_list json;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('wharf.job_lease', 0));
    DELETE FROM wharf.job_worker WHERE id = v_worker;
    IF NOT FOUND THEN
        RETURN 0; -- another process was first
    END IF;
    UPDATE wharf.job SET crashes = crashes + 1, error = 'the worker process crashed'
        WHERE id = ANY (v_ids);
    SELECT json_agg(
        json_build_object('o', organization_id, 'id', id, 's', 'parked', 'r', 'worker_crash', 'k',
            v_keep)) INTO v_list
    FROM wharf.job
        WHERE id = ANY (v_ids)
        AND crashes >= COALESCE(v_limits[array_position(v_queues, queue)], 2);
    RETURN CASE WHEN v_list IS NULL THEN 0 ELSE wharf.job_leave(NULL, v_list) END;
END
$$;
