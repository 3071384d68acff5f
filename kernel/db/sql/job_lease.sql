-- Leases up to v_want jobs for a worker and returns them. One call after the other over the whole
-- installation (an advisory lock, held for the one statement), so that limits and lines are judged
-- on the truth. Fair between organizations: they are walked in a circle from v_after on, by the
-- index and not by their jobs, and share v_want; within one, queues of the higher priority come
-- first, equal ones share. An organization that has all it may have is passed by and counts as
-- nobody, else those behind it would wait for its end. So the walk is at most as much longer as
-- there are jobs that run.
-- v_owners says whose each queue is: 0 the server's own, else the number of a plugin that is not
-- shipped. From jobs of such a plugin at most v_rooms[number] are leased, and from those of all
-- such plugins together at most v_strangers (job/job_share.c). A queue without room is passed by as
-- if it were empty.
CREATE OR REPLACE FUNCTION wharf.job_lease(
    v_worker text, v_want integer, v_after text, v_queues text[], v_priorities integer[],
    v_limits integer[], v_owners integer[],
    v_rooms integer[], v_strangers integer)
    RETURNS SETOF wharf.job LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
        SET enable_bitmapscan = off AS $$
DECLARE
    v_now timestamptz;
    v_left integer := v_want;
    v_quota integer := 0;
    v_rank integer := 0;
    v_share integer;
    v_got integer;
    pair record;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM pg_advisory_xact_lock(hashtextextended('wharf.job_lease', 0));
    v_now := wharf.now();
    IF NOT EXISTS (SELECT FROM wharf.job_worker WHERE id = v_worker AND NOT lost) THEN
        RAISE EXCEPTION 'the lease of this worker is over' USING ERRCODE = 'WJ001';
    END IF;
    FOR pair IN SELECT organization_id, id FROM wharf.job
        WHERE state = 'delayed' AND run_at <= v_now ORDER BY run_at LIMIT 1000
        FOR UPDATE SKIP LOCKED LOOP
        UPDATE wharf.job SET state = 'ready'
            WHERE organization_id = pair.organization_id AND id = pair.id;
    END LOOP;
    FOR pair IN
        WITH RECURSIVE q AS (
            SELECT * FROM unnest(v_queues, v_priorities, v_limits, v_owners)
                AS u(queue, priority, most, owner)
            WHERE owner = 0 OR (v_rooms[owner] > 0 AND v_strangers > 0)
        ), walk AS ( -- twice: behind v_after, and up to it; chr(1) makes the next possible text
            SELECT q.queue, q.most, l.lap, l.upto, o.organization_id, o.has_room,
                o.has_room::integer AS n
            FROM q CROSS JOIN (VALUES (0, v_after || chr(1), chr(1114111)),
                (1, '', v_after)) l (lap, start, upto)
                CROSS JOIN LATERAL wharf.job_next_organization(q.queue, q.most, l.start, l.upto) o
            UNION ALL
            SELECT w.queue, w.most, w.lap, w.upto, o.organization_id, o.has_room,
                w.n + o.has_room::integer
            FROM walk w CROSS
                JOIN LATERAL wharf.job_next_organization(w.queue, w.most,
                w.organization_id || chr(1), w.upto) o
            WHERE w.n < v_want
        ), pairs AS (
            SELECT lap, organization_id, queue FROM walk WHERE has_room
        ), chosen AS (
            SELECT organization_id, row_number() OVER (ORDER BY min(lap), organization_id) AS rank,
                count(*) OVER () AS total
            FROM pairs GROUP BY organization_id
        )
        SELECT s.organization_id, s.rank, LEAST(s.total, v_want) AS total, p.queue, q.most, q.owner,
            count(*) OVER (PARTITION BY s.organization_id, q.priority)
                - row_number() OVER (PARTITION BY s.organization_id, q.priority) + 1 AS peers
        FROM chosen s JOIN pairs p ON p.organization_id = s.organization_id
            JOIN q ON q.queue = p.queue
        WHERE s.rank <= v_want
        ORDER BY s.rank, q.priority DESC, peers DESC
    LOOP
        EXIT WHEN v_left <= 0;
        IF pair.rank > v_rank THEN
            v_rank := pair.rank;
            v_quota := GREATEST(1, v_left / (pair.total - pair.rank + 1));
        END IF;
        v_share := LEAST(v_left, (v_quota + pair.peers - 1) / pair.peers);
        IF pair.most > 0 THEN
            v_share := LEAST(v_share,
                pair.most - (SELECT count(*)::integer FROM wharf.job j WHERE j.queue = pair.queue
                AND (j.organization_id || '') = pair.organization_id AND j.state = 'running'));
        END IF;
        IF pair.owner > 0 THEN
            v_share := LEAST(v_share, v_rooms[pair.owner], v_strangers);
        END IF;
        CONTINUE WHEN v_share <= 0;
        RETURN QUERY SELECT *
            FROM wharf.job_take(v_worker, v_now, pair.organization_id, pair.queue, v_share);
        GET DIAGNOSTICS v_got = ROW_COUNT;
        v_left := v_left - v_got;
        v_quota := v_quota - v_got;
        IF pair.owner > 0 THEN
            v_rooms[pair.owner] := v_rooms[pair.owner] - v_got;
            v_strangers := v_strangers - v_got;
        END IF;
    END LOOP;
END
$$;
