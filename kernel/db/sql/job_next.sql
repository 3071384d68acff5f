-- Milliseconds until something becomes due by time alone; NULL: nothing will.
CREATE OR REPLACE FUNCTION wharf.job_next(v_queues text[]) RETURNS bigint LANGUAGE plpgsql STABLE
    SET enable_seqscan = off AS $$
DECLARE
    v_delayed timestamptz;
    v_scheduled timestamptz;
BEGIN
    SELECT j.run_at INTO v_delayed FROM wharf.job j
    WHERE j.state = 'delayed' ORDER BY j.run_at LIMIT 1;
    SELECT min(wharf.job_due_at(s, wharf.now())) INTO v_scheduled
    FROM wharf.job_schedule s WHERE s.queue = ANY (v_queues);
    RETURN (extract(epoch FROM LEAST(v_delayed, v_scheduled) - wharf.now()) * 1000)::bigint;
END
$$;
