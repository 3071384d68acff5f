-- wharf: phase=expand
-- Hooks of workflows on writes (docs/spec/08-workflows-and-lua.md section 3).
ALTER TABLE workflows.workflow ADD COLUMN priority bigint NOT NULL DEFAULT 0;
ALTER TABLE workflows.workflow ADD COLUMN on_error text COLLATE "C" NOT NULL DEFAULT 'reject';
ALTER TABLE workflows.workflow ADD COLUMN hook_triggers boolean NOT NULL DEFAULT false; -- of the published version
ALTER TABLE workflows.workflow ADD COLUMN hook_failures bigint NOT NULL DEFAULT 0; -- of before hooks, since hook_failing_at
ALTER TABLE workflows.workflow ADD COLUMN hook_failing_at timestamptz(3);

-- What is left of a before hook that refused or failed, in a transaction of its own: the write's is gone. given: {i id, w workflow, v version, g trigger, s status,
-- l location, b who wrote, d depth, x seed, at, ms, u usage, n input, nt, lg logs, e error}. Answers as tally: 20 in a row where they are 50 within five minutes.
CREATE FUNCTION workflows.note_hook(org text, given json) RETURNS TABLE (workflow_id text, streak bigint, tell bigint, run_id text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    at timestamptz(3) := wharf.now();
    o record;
    before record;
BEGIN
    SELECT * INTO o FROM json_to_record(given) AS r(i text, w text, v bigint, g jsonb, s text, l text, b text, d bigint, x text, at timestamptz, ms bigint, u jsonb,
        n jsonb, nt boolean, lg jsonb, e jsonb);
    INSERT INTO workflows.run (organization_id, id, workflow_id, workflow_version, trigger, trigger_type, status, key, attempt, location_id, on_behalf_of, depth,
        seed, started_at, finished_at, duration_ms, queued_ms, usage, input, input_truncated, output_truncated, logs, error, created_at, updated_at, created_by,
        updated_by)
    VALUES (org, o.i, o.w, o.v, o.g, 'hook', o.s, o.i, 1, o.l, o.b, o.d, o.x, o.at, o.at + o.ms * interval '1 millisecond', o.ms, 0, o.u, o.n, o.nt, false, o.lg,
        o.e, at, at, o.b, o.b);
    IF o.s <> 'failed' THEN
        RETURN;
    END IF;
    SELECT k.hook_failures, k.hook_failing_at, k.failed_count, k.failed_told_at INTO before FROM workflows.workflow k
        WHERE k.organization_id = org AND k.id = o.w FOR UPDATE;
    UPDATE workflows.workflow k SET
        last_run = jsonb_build_object('id', o.i, 'status', 'failed', 'finished_at', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
        hook_failures = CASE WHEN k.hook_failing_at > at - interval '5 minutes' THEN k.hook_failures + 1 ELSE 1 END,
        hook_failing_at = CASE WHEN k.hook_failing_at > at - interval '5 minutes' THEN k.hook_failing_at ELSE at END,
        failed_count = CASE WHEN k.failed_told_at > at - interval '1 minute' THEN k.failed_count + 1 ELSE 0 END,
        failed_told_at = CASE WHEN k.failed_told_at > at - interval '1 minute' THEN k.failed_told_at ELSE at END
    WHERE k.organization_id = org AND k.id = o.w
    RETURNING k.id, CASE WHEN k.hook_failures >= 50 THEN 20 ELSE 0 END,
        CASE WHEN before.failed_told_at > at - interval '1 minute' THEN 0 ELSE before.failed_count + 1 END, o.i
    INTO workflow_id, streak, tell, run_id;
    IF FOUND THEN
        RETURN NEXT;
    END IF;
END
$$;

-- The clock by which runs are due, in microseconds.
CREATE FUNCTION workflows.clock_us() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT (extract(epoch FROM wharf.now()) * 1000000)::bigint
$$;
