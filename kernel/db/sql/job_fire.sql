-- Enqueues the jobs whose period has come, once for the installation by the lock on their row. Of
-- periods that nobody saw one is made up for, the others are left out. A job that still waits is
-- not enqueued a second time.
CREATE OR REPLACE FUNCTION wharf.job_fire(v_queues text[]) RETURNS integer LANGUAGE plpgsql
    SET enable_seqscan = off AS $$
DECLARE
    v_now timestamptz := wharf.now();
    v_count integer := 0;
    v_some integer;
    s record;
BEGIN
    FOR s IN SELECT p.*, wharf.job_due_at(p, v_now) AS due_at FROM wharf.job_schedule p
        WHERE wharf.job_due_at(p, v_now) <= v_now AND queue = ANY (v_queues)
        ORDER BY queue FOR UPDATE SKIP LOCKED LOOP
        INSERT INTO wharf.job (organization_id, queue, lane, key, state, run_at, args, created_at,
            actor_type)
        SELECT o.id, s.queue, s.lane, '@' || s.queue, 'ready', v_now, '{}', v_now, 'system'
        FROM (SELECT '' AS id WHERE NOT s.each_organization
            UNION ALL SELECT organization_id FROM wharf.organization
                WHERE s.each_organization AND deleted_at IS NULL) o
        WHERE NOT EXISTS (SELECT FROM wharf.job w
            WHERE w.lane = s.lane AND w.key = '@' || s.queue AND w.key <> ''
            AND (w.organization_id || '') = o.id AND w.state <> 'running');
        GET DIAGNOSTICS v_some = ROW_COUNT;
        v_count := v_count + v_some;
        UPDATE wharf.job_schedule SET next_at = CASE
            WHEN every_us IS NOT NULL
                THEN s.due_at
                + (floor(extract(epoch FROM v_now - s.due_at) * 1000000 / every_us) + 1)
                * every_us * interval '1 microsecond'
            ELSE wharf.job_next_day(v_now, at_minute) END
        WHERE queue = s.queue;
    END LOOP;
    RETURN v_count;
END
$$;
