-- Notes a before hook that refused or failed, in a transaction of its own: the write's is gone.
-- given: {i id, w workflow, v version, g trigger, s status, l location, b who wrote, d depth, x
-- seed, at, ms, u usage, n input, nt, lg logs, e error}. hook_failures and hook_failing_at are how
-- many there are within five minutes, and the first of them. Answers as tally: 20 in a row where
-- they are 50 within five minutes; -1 where that is told for the first time of a hook that refuses
-- what it fails on (oe on_error): what it guards would be open if it were switched off.
CREATE OR REPLACE FUNCTION workflows.note_hook(org text, given json)
    RETURNS TABLE (workflow_id text, streak bigint, tell bigint, run_id text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    at timestamptz(3) := wharf.now();
    o record;
    before record;
    times timestamptz(3)[];
BEGIN
    SELECT * INTO o
        FROM json_to_record(given)
        AS r(i text, w text, v bigint, g jsonb, s text, l text, b text, d bigint, x text,
        at timestamptz, ms bigint, u jsonb,
        n jsonb, nt boolean, lg jsonb, e jsonb, oe text);
    INSERT INTO workflows.run (organization_id, id, workflow_id, workflow_version, trigger,
        trigger_type, status, key, attempt, location_id, on_behalf_of, depth,
        seed, started_at, finished_at, duration_ms, queued_ms, usage, input, input_truncated,
        output_truncated, logs, error, created_at, updated_at, created_by,
        updated_by)
    VALUES (org, o.i, o.w, o.v, o.g, 'hook', o.s, o.i, 1, o.l, o.b, o.d, o.x, o.at,
        o.at + o.ms * interval '1 millisecond', o.ms, 0, o.u, o.n, o.nt, false, o.lg,
        o.e, at, at, o.b, o.b);
    IF o.s <> 'failed' THEN
        RETURN;
    END IF;
    SELECT CASE WHEN k.hook_failing_at IS NULL THEN '{}' ELSE k.hook_failed_at END AS times,
        k.failed_count, k.failed_told_at, k.failing_since INTO before FROM workflows.workflow k
        WHERE k.organization_id = org AND k.id = o.w FOR UPDATE;
    times := ARRAY(SELECT l.t
        FROM (SELECT t FROM unnest(before.times || at) AS t
            WHERE t > at - interval '5 minutes' AND t <= at + interval '1 minute' ORDER BY t DESC
            LIMIT 50) l
        ORDER BY l.t);
    UPDATE workflows.workflow k SET
        last_run = jsonb_build_object('id', o.i, 'status', 'failed', 'finished_at',
            to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
        failing_since = CASE WHEN cardinality(times) >= 50 AND o.oe IS DISTINCT FROM 'ignore'
            THEN coalesce(k.failing_since, at) ELSE k.failing_since END,
        hook_failures = cardinality(times), hook_failing_at = times[1], hook_failed_at = times,
        failed_count = CASE WHEN k.failed_told_at > at - interval '1 minute' THEN k.failed_count + 1
            ELSE 0 END,
        failed_told_at =
        CASE WHEN k.failed_told_at > at - interval '1 minute' THEN k.failed_told_at ELSE at END
    WHERE k.organization_id = org AND k.id = o.w
    RETURNING k.id, CASE WHEN k.hook_failures < 50 THEN 0
            WHEN o.oe IS NOT DISTINCT FROM 'ignore' THEN 20
            WHEN before.failing_since IS NULL THEN -1 ELSE 0 END,
        CASE WHEN before.failed_told_at > at - interval '1 minute' THEN 0
            ELSE before.failed_count + 1 END, o.i
    INTO workflow_id, streak, tell, run_id;
    IF FOUND THEN
        RETURN NEXT;
    END IF;
END
$$;
