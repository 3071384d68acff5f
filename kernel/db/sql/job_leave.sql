-- Takes jobs out of the queue for good: [{"o": organization, "id", "f": fence, "s": state, "r":
-- reason, "e": error, "k": seconds to keep}]. With a worker: only those it still holds. Returns how
-- many there were. (Row by row: no plan to go wrong.)
CREATE OR REPLACE FUNCTION wharf.job_leave(v_worker text, v_list json) RETURNS integer
    LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
    v_count integer := 0;
    v_left wharf.job[];
    j wharf.job;
    s record;
BEGIN
    FOR s IN SELECT *
        FROM json_to_recordset(v_list)
        AS s(o text, id bigint, f bigint, s text, r text, e text, k bigint) LOOP
        DELETE FROM wharf.job WHERE organization_id = s.o AND id = s.id
            AND (v_worker IS NULL OR (worker = v_worker AND fence = s.f AND state = 'running'))
            RETURNING * INTO j;
        CONTINUE WHEN NOT FOUND;
        v_count := v_count + 1;
        IF j.key <> '' THEN
            v_left := v_left || j;
        END IF;
        CONTINUE WHEN NOT COALESCE(s.k > 0, false);
        INSERT INTO wharf.job_past (organization_id, id, queue, lane, key, state, reason, args,
            attempts, crashes, progress_done,
            progress_total, error, actor_type, actor_id, request_id, created_at, ended_at,
            expires_at)
        VALUES (j.organization_id, j.id, j.queue, j.lane, j.key, s.s, s.r, j.args,
            j.attempts + (s.r IS NOT DISTINCT FROM 'retries_exhausted')::integer, j.crashes,
            j.progress_done, j.progress_total,
            COALESCE(s.e, j.error), j.actor_type, j.actor_id, j.request_id, j.created_at,
            wharf.now(),
            wharf.now() + make_interval(secs => s.k))
        ON CONFLICT (organization_id, id) DO NOTHING;
    END LOOP;
    FOREACH j IN ARRAY COALESCE(v_left, '{}') LOOP
        PERFORM wharf.job_promote(j.organization_id, j.lane, j.key);
    END LOOP;
    RETURN v_count;
END
$$;
