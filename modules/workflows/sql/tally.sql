-- Counts for their workflows what runs that are over mean. given: [{i id, w workflow, s status,
-- asked: a caller got the answer}] in the order in which they ended; "waiting" and "released" do
-- not count. Runs with a caller are no part of a row of failures: what they are sent is not the
-- workflow's fault, and whoever may call could switch it off. Returns per workflow
-- with a failed run: how many of its runs failed in a row, and how many failures are to be told
-- now (0: told within the last minute).
CREATE OR REPLACE FUNCTION workflows.tally(org text, given json)
    RETURNS TABLE (workflow_id text, streak bigint, tell bigint, run_id text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    one record;
    told bigint;
    its_streak bigint;
BEGIN
    FOR one IN
        SELECT g.w, count(*) FILTER (WHERE g.s = 'failed') AS failed,
            count(*) FILTER (WHERE g.s <> 'failed' AND g.own) AS others,
            count(*) FILTER (WHERE g.s = 'failed' AND g.own) AS own_failed,
            count(*) FILTER (WHERE g.s = 'failed' AND g.own AND g.k > g.good) AS since,
            (array_agg(g.i ORDER BY g.k DESC))[1] AS i,
            (array_agg(g.s ORDER BY g.k DESC))[1] AS s,
            (array_agg(g.i ORDER BY g.k DESC) FILTER (WHERE g.s = 'failed'))[1] AS bad
        FROM (SELECT e.*, e.asked IS NOT TRUE AS own,
            COALESCE(max(e.k) FILTER (WHERE e.s <> 'failed' AND e.asked IS NOT TRUE)
                OVER (PARTITION BY e.w), 0) AS good
            FROM ROWS FROM (json_to_recordset(given)
                AS (i text, w text, s text, asked boolean)) WITH ORDINALITY
                AS e (i, w, s, asked, k)
            WHERE e.s NOT IN ('waiting', 'released')) g
        GROUP BY g.w ORDER BY g.w
    LOOP
        UPDATE workflows.workflow k
            SET last_run = jsonb_build_object('id', one.i, 'status',
            CASE one.s WHEN 'forgotten' THEN 'succeeded' ELSE one.s END,
                'finished_at',
                to_char(wharf.now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
            failure_streak =
            CASE WHEN one.others > 0 THEN one.since ELSE k.failure_streak + one.own_failed END,
            failed_count = CASE
                WHEN one.failed = 0
                OR k.failed_told_at > wharf.now() - interval '1 minute'
                THEN k.failed_count + one.failed ELSE 0 END,
            failed_told_at =
            CASE WHEN one.failed = 0
                OR k.failed_told_at > wharf.now() - interval '1 minute' THEN k.failed_told_at
                ELSE wharf.now() END
        FROM (SELECT o.failed_count, o.failed_told_at FROM workflows.workflow o
            WHERE o.organization_id = org AND o.id = one.w FOR UPDATE) before
        WHERE k.organization_id = org AND k.id = one.w
        RETURNING k.failure_streak,
            CASE WHEN one.failed = 0
            OR before.failed_told_at > wharf.now() - interval '1 minute' THEN 0
            ELSE before.failed_count + one.failed END INTO its_streak, told;
        IF one.failed > 0 AND FOUND THEN
            workflow_id := one.w;
            streak := its_streak;
            tell := told;
            run_id := one.bad;
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;
