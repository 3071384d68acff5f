-- wharf: phase=expand
-- Queued runs: a row of workflows.run is in the queue from queued or waiting to its end (docs/spec/08-workflows-and-lua.md sections 3 and 7).
--
-- What is due of a workflow is found by (workflow_id, due_at, line). Of runs with an order_key only the first that is not over has a due_at
-- before infinity; its end makes the next one due. Adding, claiming and settling of an organization hold one advisory lock to their commit, so that
-- a run that is added behind another one is seen by the end of that one. Who changes rows of workflows.workflow as well takes these first.

ALTER TABLE workflows.workflow ADD COLUMN event_triggers boolean NOT NULL DEFAULT false; -- of the published version
ALTER TABLE workflows.workflow ADD COLUMN retry jsonb;
ALTER TABLE workflows.workflow ADD COLUMN concurrency jsonb;
ALTER TABLE workflows.workflow ADD COLUMN record jsonb;
ALTER TABLE workflows.workflow ADD COLUMN http_hosts jsonb;
ALTER TABLE workflows.workflow ADD COLUMN last_run jsonb;
ALTER TABLE workflows.workflow ADD COLUMN failure_streak bigint NOT NULL DEFAULT 0;
ALTER TABLE workflows.workflow ADD COLUMN failed_count bigint NOT NULL DEFAULT 0; -- since failures were told last
ALTER TABLE workflows.workflow ADD COLUMN failed_told_at timestamptz(3);
ALTER TABLE workflows.workflow ADD COLUMN disabled_reason text;
CREATE INDEX workflow_events ON workflows.workflow (organization_id) WHERE event_triggers AND enabled AND deleted_at IS NULL;

ALTER TABLE workflows.version ADD COLUMN options jsonb NOT NULL DEFAULT '{}'; -- retry, concurrency, record, http_hosts

ALTER TABLE workflows.run ALTER COLUMN started_at DROP NOT NULL;
ALTER TABLE workflows.run ALTER COLUMN finished_at DROP NOT NULL;
ALTER TABLE workflows.run ALTER COLUMN duration_ms DROP NOT NULL;
ALTER TABLE workflows.run ALTER COLUMN queued_ms DROP NOT NULL;
ALTER TABLE workflows.run ALTER COLUMN usage DROP NOT NULL;
ALTER TABLE workflows.run ADD COLUMN line bigint;
ALTER TABLE workflows.run ADD COLUMN due_at timestamptz(3);
ALTER TABLE workflows.run ADD COLUMN order_key text COLLATE "C";
ALTER TABLE workflows.run ADD COLUMN retries bigint NOT NULL DEFAULT 0;
ALTER TABLE workflows.run ADD COLUMN attempts jsonb NOT NULL DEFAULT '[]';
ALTER TABLE workflows.run ADD COLUMN event_id text COLLATE "C";
ALTER TABLE workflows.run ADD COLUMN resource_id text COLLATE "C";
ALTER TABLE workflows.run ADD COLUMN worker text COLLATE "C"; -- running: which job has it, and until when it is believed
ALTER TABLE workflows.run ADD COLUMN lease_until timestamptz(3);
ALTER TABLE workflows.run ADD COLUMN cancel boolean NOT NULL DEFAULT false;
ALTER TABLE workflows.run ADD COLUMN pinned bigint; -- version, when it is not the one that is current at the start
CREATE SEQUENCE workflows.line;
CREATE INDEX run_due ON workflows.run (organization_id, workflow_id, due_at, line) WHERE status IN ('queued', 'waiting');
CREATE INDEX run_order ON workflows.run (organization_id, workflow_id, order_key, line) WHERE order_key IS NOT NULL AND status IN ('queued', 'waiting', 'running');
CREATE INDEX run_running ON workflows.run (organization_id, workflow_id) WHERE status = 'running';

CREATE FUNCTION workflows.hold_queue(org text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true); -- what a crash of the database takes back is run again
    PERFORM pg_advisory_xact_lock(hashtextextended('workflows.queue ' || org, 0));
END
$$;

-- given: [{i id, w workflow, g trigger, t its type, k order key, l location, b who caused it, d depth, x seed, v input as JSON text, e event, r resource,
-- p pinned version, s "skipped" and c its code and message}], in the order in which they are to run.
CREATE FUNCTION workflows.add(org text, given json) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
    at timestamptz(3) := wharf.now();
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('workflows.queue ' || org, 0));
    INSERT INTO workflows.run (organization_id, id, workflow_id, trigger, trigger_type, status, key, attempt, location_id, on_behalf_of, depth, seed,
        input, input_truncated, output_truncated, logs, error, created_at, updated_at, created_by, updated_by, line, due_at, order_key, event_id, resource_id,
        pinned, finished_at)
    SELECT org, o.i, o.w, o.g, o.t, COALESCE(o.s, 'queued'), o.i, 0, o.l, o.b, o.d, o.x,
        CASE WHEN o.v IS NOT NULL THEN ('{"value":' || o.v || '}')::jsonb END, false, false, '[]', o.c::jsonb, at, at, o.b, o.b, nextval('workflows.line'),
        CASE WHEN o.s IS NOT NULL THEN NULL WHEN o.k IS NOT NULL AND (o.nth > 1 OR EXISTS (SELECT FROM workflows.run r WHERE r.organization_id = org
            AND r.workflow_id = o.w AND r.order_key = o.k AND r.status IN ('queued', 'waiting', 'running'))) THEN 'infinity' ELSE at END,
        o.k, o.e, o.r, o.p, CASE WHEN o.s IS NOT NULL THEN at END
    FROM (SELECT g.*, CASE WHEN g.k IS NOT NULL THEN row_number() OVER (PARTITION BY g.w, g.k ORDER BY g.n) END AS nth
        FROM ROWS FROM (json_to_recordset(given) AS (i text, w text, g jsonb, t text, k text, l text, b text, d bigint, x text, v text, e text, r text, p bigint,
            s text, c text)) WITH ORDINALITY AS g (i, w, g, t, k, l, b, d, x, v, e, r, p, s, c, n) ORDER BY g.n) o;
END
$$;

-- The next ones of their lines may run.
CREATE FUNCTION workflows.move_up(org text, ids text[], keys text[], at timestamptz) RETURNS void LANGUAGE sql SET enable_seqscan = off AS $$
    UPDATE workflows.run r SET due_at = at
    FROM (SELECT DISTINCT u.w, u.k FROM unnest(ids, keys) AS u(w, k) WHERE u.k IS NOT NULL) d
    CROSS JOIN LATERAL (SELECT s.ctid AS place FROM workflows.run s WHERE s.organization_id = org AND s.workflow_id = d.w AND s.order_key = d.k
        AND s.status IN ('queued', 'waiting', 'running') ORDER BY s.line LIMIT 1) n
    WHERE r.ctid = n.place AND r.due_at = 'infinity'
$$;

-- What waits of a workflow is over: it was deleted (canceled) or disabled (skipped).
CREATE FUNCTION workflows.drop_waiting(org text, its_workflow text, how text) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
    UPDATE workflows.run SET status = how, finished_at = wharf.now(), updated_at = wharf.now(), due_at = NULL,
        error = jsonb_build_object('code', CASE how WHEN 'skipped' THEN 'workflow.disabled' ELSE 'workflow.deleted' END, 'message',
            CASE how WHEN 'skipped' THEN 'the workflow was disabled' ELSE 'the workflow was deleted' END)
    WHERE organization_id = org AND workflow_id = its_workflow AND status IN ('queued', 'waiting')
$$;

-- Takes up to `most` due runs of one workflow: of that whose first one is due for longest among those that may run one more at a time.
CREATE FUNCTION workflows.claim(org text, its_worker text, most integer) RETURNS TABLE (
    id text, workflow_id text, version bigint, attempt bigint, retries bigint, trigger text, trigger_type text, location_id text, on_behalf_of text, depth bigint,
    seed text, event_id text, input text, created_us bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
    SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    at timestamptz(3) := wharf.now();
    w record;
BEGIN
    PERFORM workflows.hold_queue(org);
    at := wharf.now();
    FOR w IN
        SELECT k.id, k.enabled, k.deleted_at, k.published_version, h.due_at FROM workflows.workflow k CROSS JOIN LATERAL (
            SELECT r.due_at FROM workflows.run r WHERE r.organization_id = org AND r.workflow_id = k.id AND r.status IN ('queued', 'waiting')
                ORDER BY r.due_at, r.line LIMIT 1) h
        WHERE k.organization_id = org AND h.due_at <= at ORDER BY h.due_at
    LOOP
        IF w.deleted_at IS NOT NULL OR NOT w.enabled THEN
            PERFORM workflows.drop_waiting(org, w.id, CASE WHEN w.enabled THEN 'canceled' ELSE 'skipped' END);
            CONTINUE;
        END IF;
        CONTINUE WHEN (SELECT count(DISTINCT r.worker) FROM workflows.run r WHERE r.organization_id = org AND r.workflow_id = w.id AND r.status = 'running')
            >= COALESCE((SELECT (v.options #>> '{concurrency,max}')::bigint FROM workflows.version v WHERE v.organization_id = org
                AND v.workflow_id = w.id AND v.number = w.published_version), 5);
        RETURN QUERY WITH taken AS (
            UPDATE workflows.run r SET status = 'running', worker = its_worker, lease_until = at + interval '3 minutes', attempt = r.attempt + 1,
                workflow_version = COALESCE(r.pinned, w.published_version), started_at = at
            WHERE r.ctid = ANY (ARRAY(SELECT s.ctid FROM workflows.run s WHERE s.organization_id = org AND s.workflow_id = w.id
                AND s.status IN ('queued', 'waiting') AND s.due_at <= at ORDER BY s.due_at, s.line LIMIT most FOR UPDATE))
            RETURNING r.*)
        SELECT t.id, t.workflow_id, t.workflow_version, t.attempt, t.retries, t.trigger::text, t.trigger_type, t.location_id, t.on_behalf_of, t.depth, t.seed,
            t.event_id, (t.input -> 'value')::text, (extract(epoch FROM t.created_at) * 1000000)::bigint
        FROM taken t ORDER BY t.due_at, t.line;
        RETURN;
    END LOOP;
END
$$;

-- What runs that are over mean for their workflows. given: [{i id, w workflow, s status}] in the order in which they ended; "waiting" and "released" do
-- not count. Answers per workflow with a failed run: how many of its runs failed in a row, and how many failures are to be told now (0: told within the last
-- minute).
CREATE FUNCTION workflows.tally(org text, given json) RETURNS TABLE (workflow_id text, streak bigint, tell bigint, run_id text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    one record;
    told bigint;
    its_streak bigint;
BEGIN
    FOR one IN
        SELECT g.w, count(*) FILTER (WHERE g.s = 'failed') AS failed, count(*) FILTER (WHERE g.s <> 'failed') AS others,
            count(*) FILTER (WHERE g.s = 'failed' AND g.k > g.good) AS since, (array_agg(g.i ORDER BY g.k DESC))[1] AS i,
            (array_agg(g.s ORDER BY g.k DESC))[1] AS s,
            (array_agg(g.i ORDER BY g.k DESC) FILTER (WHERE g.s = 'failed'))[1] AS bad
        FROM (SELECT e.*, COALESCE(max(e.k) FILTER (WHERE e.s <> 'failed') OVER (PARTITION BY e.w), 0) AS good
            FROM ROWS FROM (json_to_recordset(given) AS (i text, w text, s text)) WITH ORDINALITY AS e (i, w, s, k)
            WHERE e.s NOT IN ('waiting', 'released')) g
        GROUP BY g.w ORDER BY g.w
    LOOP
        UPDATE workflows.workflow k SET last_run = jsonb_build_object('id', one.i, 'status', CASE one.s WHEN 'forgotten' THEN 'succeeded' ELSE one.s END,
                'finished_at', to_char(wharf.now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
            failure_streak = CASE WHEN one.others > 0 THEN one.since ELSE k.failure_streak + one.failed END,
            failed_count = CASE WHEN one.failed = 0 OR k.failed_told_at > wharf.now() - interval '1 minute' THEN k.failed_count + one.failed ELSE 0 END,
            failed_told_at = CASE WHEN one.failed = 0 OR k.failed_told_at > wharf.now() - interval '1 minute' THEN k.failed_told_at ELSE wharf.now() END
        FROM (SELECT o.failed_count, o.failed_told_at FROM workflows.workflow o WHERE o.organization_id = org AND o.id = one.w FOR UPDATE) before
        WHERE k.organization_id = org AND k.id = one.w
        RETURNING k.failure_streak, CASE WHEN one.failed = 0 OR before.failed_told_at > wharf.now() - interval '1 minute' THEN 0
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

-- given: as above and [{n attempt, at, f (its end), ms, q queued milliseconds, u usage, o output, ot, l logs, e error, a the attempt as it is shown, z milliseconds to wait, again: it failed}];
-- s may also be "waiting", "released" (never begun) and "forgotten" (over, and not to be kept). Answers as tally.
CREATE FUNCTION workflows.settle(org text, its_worker text, given json) RETURNS TABLE (workflow_id text, streak bigint, tell bigint, run_id text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
    SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz(3);
    ids text[];
    keys text[];
BEGIN
    RETURN QUERY SELECT * FROM workflows.tally(org, given);
    PERFORM workflows.hold_queue(org);
    moment := wharf.now();
    WITH g AS MATERIALIZED (
        SELECT * FROM json_to_recordset(given) AS e(i text, w text, n bigint, s text, at timestamptz, f timestamptz, ms bigint, q bigint, u jsonb, o jsonb, ot boolean,
            l jsonb, e jsonb, a jsonb, z bigint, again boolean)
    ), kept AS (
        UPDATE workflows.run r SET status = CASE g.s WHEN 'released' THEN 'queued' ELSE g.s END, worker = NULL, lease_until = NULL, updated_at = moment,
            attempt = CASE g.s WHEN 'released' THEN r.attempt - 1 ELSE r.attempt END,
            started_at = CASE g.s WHEN 'released' THEN NULL ELSE g.at END, finished_at = g.f, duration_ms = g.ms, queued_ms = g.q, usage = g.u, output = g.o,
            output_truncated = COALESCE(g.ot, false), logs = COALESCE(g.l, '[]'), error = g.e,
            attempts = CASE WHEN g.a IS NULL THEN r.attempts ELSE r.attempts || g.a END,
            retries = r.retries + CASE WHEN g.again THEN 1 ELSE 0 END,
            due_at = CASE g.s WHEN 'released' THEN r.due_at WHEN 'waiting' THEN moment + g.z * interval '1 millisecond' END,
            input_truncated = g.s NOT IN ('released', 'waiting') AND octet_length(r.input::text) > 65536,
            input = CASE WHEN g.s NOT IN ('released', 'waiting') AND octet_length(r.input::text) > 65536 THEN NULL ELSE r.input END
        FROM g WHERE g.s <> 'forgotten' AND r.organization_id = org AND r.id = g.i AND r.status = 'running' AND r.worker = its_worker AND r.attempt = g.n
        RETURNING r.workflow_id, r.order_key, g.s
    ), gone AS (
        DELETE FROM workflows.run r USING g WHERE g.s = 'forgotten' AND r.organization_id = org AND r.id = g.i AND r.status = 'running'
            AND r.worker = its_worker AND r.attempt = g.n RETURNING r.workflow_id, r.order_key, g.s
    ), over AS (
        SELECT * FROM kept WHERE s NOT IN ('released', 'waiting') UNION ALL SELECT * FROM gone
    )
    SELECT array_agg(o.workflow_id), array_agg(o.order_key) INTO ids, keys FROM over o WHERE o.order_key IS NOT NULL;
    PERFORM workflows.move_up(org, ids, keys, moment);
END
$$;

-- The job runs again: what it had is not over. Runs that were begun and those that were not can't be told apart.
CREATE FUNCTION workflows.give_back(org text, its_worker text) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
    UPDATE workflows.run SET status = 'waiting', worker = NULL, lease_until = NULL, due_at = wharf.now()
    WHERE organization_id = org AND status = 'running' AND worker = its_worker
$$;

-- Runs whose lease is over wait again, but for those that brought down a server often enough. Answers the organizations that have due runs.
CREATE FUNCTION workflows.sweep() RETURNS SETOF text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog SET enable_seqscan = off AS $$
DECLARE
    at timestamptz(3) := wharf.now();
    lost record;
BEGIN
    FOR lost IN UPDATE workflows.run SET status = CASE WHEN attempt < 20 THEN 'waiting' ELSE 'failed' END, worker = NULL, lease_until = NULL,
            due_at = CASE WHEN attempt < 20 THEN at END, finished_at = CASE WHEN attempt < 20 THEN NULL ELSE at END, updated_at = at,
            error = CASE WHEN attempt < 20 THEN NULL ELSE '{"code": "workflow.failed", "message": "the server ended while it ran, twenty times"}'::jsonb END
        WHERE status = 'running' AND lease_until < at RETURNING organization_id, workflow_id, order_key, status
    LOOP
        IF lost.status = 'failed' THEN
            PERFORM workflows.move_up(lost.organization_id, ARRAY[lost.workflow_id], ARRAY[lost.order_key], at);
        END IF;
    END LOOP;
    RETURN QUERY SELECT DISTINCT organization_id FROM workflows.run WHERE status IN ('queued', 'waiting') AND due_at <= at;
END
$$;
