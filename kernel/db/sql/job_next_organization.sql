-- Returns the first organization from v_from on, and not behind v_upto, that has ready jobs of
-- this queue ('': the server's own); has_room: fewer than v_most of them run (0: it may have any
-- number). Takes one step of the index, whatever waits. A query, so that it is made part of the
-- one that asks.
CREATE OR REPLACE FUNCTION wharf.job_next_organization(v_queue text, v_most integer, v_from text,
    v_upto text)
    RETURNS TABLE (organization_id text, has_room boolean) LANGUAGE sql STABLE AS $$
    SELECT (j.organization_id || ''), v_most <= 0
        OR (SELECT count(*) FROM wharf.job r WHERE r.queue = v_queue
        AND (r.organization_id || '') = (j.organization_id || '') AND r.state = 'running') < v_most
    FROM wharf.job j
        WHERE j.state = 'ready' AND j.queue = v_queue AND (j.organization_id || '') >= v_from
        AND (j.organization_id || '') <= v_upto ORDER BY (j.organization_id || '') LIMIT 1
$$;
