-- Milliseconds until something becomes due by time alone; NULL: nothing will.
CREATE OR REPLACE FUNCTION wharf.job_next(v_queues text[]) RETURNS bigint LANGUAGE plpgsql STABLE
    SET enable_seqscan = off AS $$
BEGIN
    RETURN (extract(epoch FROM LEAST((SELECT run_at FROM wharf.job WHERE state = 'delayed' ORDER BY run_at LIMIT 1),
        (SELECT min(wharf.job_due_at(s, wharf.now())) FROM wharf.job_schedule s WHERE queue = ANY ($1))) - wharf.now()) * 1000)::bigint;
END
$$;
