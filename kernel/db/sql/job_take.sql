-- Takes up to v_want ready jobs of one queue and organization, oldest first. Those found behind
-- another of their line are marked blocked, so that nobody looks at them again before it is their
-- turn; that is done only while the job in front is locked, else it might leave at this moment
-- without seeing the mark.
CREATE OR REPLACE FUNCTION wharf.job_take(v_worker text, v_now timestamptz, v_organization text,
    v_queue text, v_want integer)
    RETURNS SETOF wharf.job LANGUAGE plpgsql AS $$
DECLARE
    v_left integer := v_want;
    v_look integer := v_want;
    v_after bigint := 0;
    v_last bigint;
    v_seen integer;
    v_ids bigint[];
BEGIN
    FOR i IN 1 .. 16 LOOP
        WITH c AS MATERIALIZED (
            SELECT id, lane, key FROM wharf.job
            WHERE state = 'ready' AND queue = v_queue AND (organization_id || '') = v_organization
                AND (id + 0) > v_after
            ORDER BY (id + 0) LIMIT v_look FOR UPDATE SKIP LOCKED
        ), v AS MATERIALIZED (
            SELECT c.id, NULLIF(
                CASE WHEN c.key <> ''
                    THEN (SELECT p.id FROM wharf.job p WHERE p.lane = c.lane AND p.key = c.key
                AND p.key <> '' AND (p.organization_id || '') = v_organization
                ORDER BY (p.state <> 'running'), (p.id + 0) LIMIT 1) END, c.id) AS behind
            FROM c
        ), held AS MATERIALIZED (
            SELECT id FROM wharf.job WHERE organization_id = v_organization
                AND id = ANY (
                    ARRAY(SELECT DISTINCT behind FROM v
                    WHERE behind IS NOT NULL)) FOR KEY SHARE SKIP LOCKED
        ), blocked AS (
            UPDATE wharf.job SET state = 'blocked' WHERE organization_id = v_organization
                AND id = ANY (
                    ARRAY(SELECT id FROM v WHERE behind = ANY (ARRAY(SELECT id FROM held))))
        )
        SELECT (array_agg(id ORDER BY id) FILTER (WHERE behind IS NULL))[1:v_left], max(id),
            count(*) INTO v_ids, v_last, v_seen FROM v;
        IF cardinality(v_ids) > 0 THEN
            RETURN QUERY WITH u AS (
                UPDATE wharf.job
                    SET state = 'running', worker = v_worker, fence = fence + 1, leased_at = v_now,
                    progress_done = NULL,
                    progress_total = NULL
                WHERE organization_id = v_organization AND id = ANY (v_ids) RETURNING *)
                SELECT * FROM u ORDER BY id;
            v_left := v_left - cardinality(v_ids);
        END IF;
        EXIT WHEN v_left <= 0 OR v_seen < v_look;
        v_after := v_last;
        v_look := LEAST(4 * v_look + 32, 512);
    END LOOP;
END
$$;
