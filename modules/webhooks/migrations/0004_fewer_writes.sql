-- wharf: phase=expand
-- Fewer writes for each delivery, and claims whose work does not grow with what waits.
--
-- Plans are made while tables are empty and live long, so nothing is left to them here: rows are found by their whole key (LIMIT 1 takes away every
-- other way), and what was locked is written by its place (ctid). An attempt that runs stands in its queue, whose row is written before the
-- request is sent; its own row is written once, when it is over.

CREATE OR REPLACE FUNCTION webhooks.take(its_server text, r webhooks.runtime, its_lane text, most integer, ids text[], used integer, at timestamptz)
RETURNS webhooks.queue[] LANGUAGE plpgsql AS $$
DECLARE
    got webhooks.queue[];
BEGIN
    IF most <= 0 THEN
        RETURN '{}';
    END IF;
    WITH due AS MATERIALIZED (
        SELECT o.ctid AS place, o.next_attempt_at, o.head_sequence FROM webhooks.queue o
        WHERE o.webhook_id || ' ' || o.lane = r.webhook_id || ' ' || its_lane AND NOT o.in_flight
            AND o.next_attempt_at <= at
        ORDER BY o.next_attempt_at LIMIT most FOR UPDATE SKIP LOCKED
    ), numbered AS MATERIALIZED (
        SELECT due.place, used + (row_number() OVER (ORDER BY due.next_attempt_at, due.head_sequence))::integer AS n FROM due
    ), taken AS (
        UPDATE webhooks.queue q SET in_flight = true, attempts = q.attempts + 1, attempt_id = ids[o.n], started_at = at, server = its_server,
            lease_until = (extract(epoch FROM at) * 1000000)::bigint + 60000000
        FROM numbered o WHERE q.ctid = o.place
        RETURNING q AS q
    )
    SELECT array_agg(t.q) INTO got FROM taken t;
    RETURN COALESCE(got, '{}');
END
$$;

-- As before, but nothing in it is planned anew by each claim.
CREATE OR REPLACE FUNCTION webhooks.serve(its_server text, r webhooks.runtime, room integer, ids text[], used integer, at timestamptz)
RETURNS webhooks.queue[] LANGUAGE plpgsql AS $$
DECLARE
    got webhooks.queue[];
    more webhooks.queue[];
    w record;
    free integer;
    half integer;
    kept integer := 0;
    direct integer;
    batch integer := 0;
    manual integer;
    have double precision;
    again timestamptz;
    left_direct boolean;
BEGIN
    SELECT k.status, k.max_concurrency, k.max_rate, k.deleted_at, (SELECT e.paused_until FROM webhooks.endpoint e WHERE e.organization_id = k.organization_id
        AND e.url = k.url AND e.paused_until > at) AS paused INTO w
        FROM webhooks.webhook k WHERE k.organization_id = r.organization_id AND k.id = r.webhook_id;
    IF NOT FOUND OR w.deleted_at IS NOT NULL OR w.status <> 'enabled' OR w.paused IS NOT NULL THEN
        -- Resends are sent whatever else waits, but not to who is disabled or asked for quiet.
        UPDATE webhooks.runtime k SET next_due_at = COALESCE(w.paused, 'infinity'), served_at = clock_timestamp(),
            held_since = COALESCE(k.held_since, at), slow_limit = 1
            WHERE k.organization_id = r.organization_id AND k.webhook_id = r.webhook_id;
        RETURN '{}';
    END IF;
    IF r.held_since IS NOT NULL THEN
        INSERT INTO webhooks.hold (organization_id, webhook_id, from_at, until_at) VALUES (r.organization_id, r.webhook_id, r.held_since, at);
    END IF;
    have := CASE WHEN w.max_rate IS NULL THEN 1e9
        ELSE LEAST(w.max_rate, CASE WHEN r.tokens_at = '-infinity' OR at < r.tokens_at THEN w.max_rate
            ELSE r.tokens + extract(epoch FROM at - r.tokens_at) * w.max_rate END) END;
    free := LEAST(room, LEAST(w.max_concurrency, COALESCE(r.slow_limit, w.max_concurrency))::integer - r.in_flight, floor(have)::integer);
    half := GREATEST(1, w.max_concurrency / 2);
    got := webhooks.take(its_server, r, 'manual', free, ids, used, at);
    manual := cardinality(got);
    free := free - manual;
    IF free > 0 AND r.batch_in_flight < half AND EXISTS (SELECT FROM webhooks.queue q WHERE q.webhook_id || ' ' || q.lane = r.webhook_id || ' batch'
        AND NOT q.in_flight AND q.next_attempt_at <= at) THEN
        kept := LEAST(half - r.batch_in_flight, GREATEST(free / 2, CASE WHEN r.batch_in_flight = 0 AND r.in_flight > 0 THEN 1 ELSE 0 END));
    END IF;
    more := webhooks.take(its_server, r, 'direct', free - kept, ids, used + manual, at);
    direct := cardinality(more);
    got := got || more;
    left_direct := direct = free - kept AND EXISTS (SELECT FROM webhooks.queue q WHERE q.webhook_id || ' ' || q.lane = r.webhook_id || ' direct'
        AND NOT q.in_flight AND q.next_attempt_at <= at);
    free := free - direct;
    IF left_direct THEN
        free := LEAST(free, half - r.batch_in_flight);
    END IF;
    more := webhooks.take(its_server, r, 'batch', free, ids, used + manual + direct, at);
    batch := cardinality(more);
    got := got || more;
    -- The first moment at which something is ready; with the room all used, its return says when.
    SELECT min(n.at) INTO again FROM (VALUES ('direct'), ('batch'), ('manual')) AS l(lane) CROSS JOIN LATERAL (
        SELECT q.next_attempt_at AS at FROM webhooks.queue q WHERE q.webhook_id || ' ' || q.lane = r.webhook_id || ' ' || l.lane AND NOT q.in_flight ORDER BY q.next_attempt_at LIMIT 1) n;
    IF again <= at AND w.max_rate IS NOT NULL AND have - manual - direct - batch < 1 THEN
        again := at + make_interval(secs => (1 - (have - manual - direct - batch)) / w.max_rate);
    ELSIF again <= at AND r.in_flight + manual + direct + batch >= LEAST(w.max_concurrency, COALESCE(r.slow_limit, w.max_concurrency)) THEN
        again := 'infinity';
    END IF;
    UPDATE webhooks.runtime k SET in_flight = k.in_flight + manual + direct + batch, batch_in_flight = k.batch_in_flight + batch,
        next_due_at = COALESCE(again, 'infinity'), served_at = clock_timestamp(), held_since = NULL,
        tokens = LEAST(have, 1e6) - manual - direct - batch, tokens_at = at
        WHERE k.organization_id = r.organization_id AND k.webhook_id = r.webhook_id;
    RETURN got;
END
$$;

-- When the next thing is due, as milliseconds from now (at most 1,000).
CREATE OR REPLACE FUNCTION webhooks.next_due() RETURNS integer LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    due timestamptz;
BEGIN
    SELECT k.next_due_at INTO due FROM webhooks.runtime k WHERE k.next_due_at < 'infinity' ORDER BY k.next_due_at LIMIT 1;
    RETURN LEAST(1000, GREATEST(0, COALESCE(extract(epoch FROM due - wharf.now()) * 1000, 1000)))::integer;
END
$$;

CREATE OR REPLACE FUNCTION webhooks.claim(its_server text, ids text[]) RETURNS TABLE (
    organization_id text, webhook_id text, version bigint, attempt_id text, started_at timestamptz, lane text, resource_type text,
    resource_id text, delivery_id text, delivery_at timestamptz, event_id text, event_type text, sequence bigint, attempt integer,
    retries integer, trigger text, superseded integer, traceparent text, body text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
    SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    at timestamptz(3) := wharf.now();
    r webhooks.runtime;
    room integer := COALESCE(array_length(ids, 1), 0);
    used integer := 0;
    waiting integer;
    share integer;
    taken webhooks.queue[] := '{}';
    more webhooks.queue[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    WITH gone AS (
        DELETE FROM webhooks.poke p WHERE p.ctid = ANY (ARRAY(SELECT o.ctid FROM webhooks.poke o LIMIT 1000 FOR UPDATE SKIP LOCKED))
        RETURNING p.organization_id, p.webhook_id
    ), who AS (
        SELECT DISTINCT g.organization_id, g.webhook_id FROM gone g
    ), locked AS (
        SELECT k.organization_id, k.webhook_id FROM who JOIN webhooks.runtime k ON k.organization_id = who.organization_id
            AND k.webhook_id = who.webhook_id ORDER BY 1, 2 FOR UPDATE OF k
    )
    UPDATE webhooks.runtime k SET next_due_at = LEAST(k.next_due_at, at) FROM locked l
        WHERE k.organization_id = l.organization_id AND k.webhook_id = l.webhook_id;
    SELECT count(*) INTO waiting FROM (SELECT FROM webhooks.runtime k WHERE k.next_due_at <= at LIMIT 64) o;
    FOR r IN
        SELECT k.* FROM webhooks.runtime k WHERE k.next_due_at <= at ORDER BY k.served_at LIMIT 64 FOR UPDATE SKIP LOCKED
    LOOP
        EXIT WHEN room - used <= 0;
        share := GREATEST(1, (room - used) / GREATEST(1, waiting));
        more := webhooks.serve(its_server, r, share, ids, used, at);
        used := used + cardinality(more);
        taken := taken || more;
        waiting := waiting - 1;
    END LOOP;
    IF used = 0 THEN
        RETURN;
    END IF;
    RETURN QUERY
        SELECT q.organization_id, q.webhook_id, w.version, q.attempt_id, q.started_at::timestamptz, q.lane, q.resource_type, q.resource_id, d.id,
            d.created_at::timestamptz, d.event_id, d.event_type, d.sequence, q.attempts, q.retries, d.trigger, d.superseded, e.traceparent,
            CASE WHEN w.payload = 'thin' THEN h.head || '{"id":' || to_json(e.resource_id)::text || ',"object":' || to_json(e.resource_type)::text
                || ',"location_id":' || COALESCE(to_json(e.location_id)::text, 'null') || '}}'
            ELSE h.head || e.data::text || ',"previous_attributes":' || COALESCE(e.previous_attributes::text, 'null') || '}' END
        FROM unnest(taken) AS q
        CROSS JOIN LATERAL (SELECT * FROM webhooks.delivery k WHERE k.organization_id = q.organization_id AND k.created_at = q.head_at
            AND k.event_id = q.head_event AND k.webhook_id = q.webhook_id AND k.run_id = q.head_run LIMIT 1) d
        CROSS JOIN LATERAL (SELECT k.version, k.payload FROM webhooks.webhook k WHERE k.organization_id = q.organization_id
            AND k.id = q.webhook_id LIMIT 1) w
        LEFT JOIN LATERAL (SELECT * FROM wharf.event k WHERE k.organization_id = d.organization_id AND k.created_at = d.event_at
            AND k.id = d.event_id LIMIT 1) e ON true
        LEFT JOIN LATERAL (SELECT k.head FROM wharf.event_done k WHERE k.organization_id = d.organization_id AND k.created_at = d.event_at
            AND k.event_id = d.event_id LIMIT 1) h ON true;
END
$$;

CREATE OR REPLACE FUNCTION webhooks.complete(its_server text, given json) RETURNS TABLE (busy text) LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    at timestamptz(3) := wharf.now();
    reports webhooks.outcome[] := ARRAY(SELECT g FROM json_populate_recordset(NULL::webhooks.outcome, given) g);
    mine text[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    -- attempt_id is null in queues that are not in flight.
    -- Locked by a statement of their own: what comes after sees what others had added to these queues before.
    SELECT array_agg(l.attempt_id) INTO mine FROM unnest(reports) AS x
        CROSS JOIN LATERAL (SELECT q.attempt_id FROM webhooks.queue q WHERE q.organization_id = x.o AND q.webhook_id = x.w AND q.lane = x.l
            AND q.resource_type = x.rt AND q.resource_id = x.r AND q.attempt_id = x.a AND q.server = its_server
            LIMIT 1 FOR UPDATE SKIP LOCKED) l;
    IF mine IS NULL OR cardinality(mine) < cardinality(reports) THEN
        RETURN QUERY SELECT q.attempt_id FROM unnest(reports) AS x
            JOIN webhooks.queue q ON q.organization_id = x.o AND q.webhook_id = x.w AND q.lane = x.l AND q.resource_type = x.rt
                AND q.resource_id = x.r AND q.attempt_id = x.a AND q.server = its_server
            WHERE mine IS NULL OR x.a <> ALL (mine);
        reports := ARRAY(SELECT x FROM unnest(reports) AS x WHERE x.a = ANY (mine));
    END IF;
    IF mine IS NULL THEN
        RETURN;
    END IF;
    PERFORM webhooks.pause(reports, at);
    WITH x AS MATERIALIZED (
        SELECT y.*, q.place, q.head_id, q.head_at, q.head_event, q.head_run, q.started_at, q.attempts, q.retries,
            CASE WHEN y.f IS NOT NULL THEN NULL::timestamptz
                WHEN y.st = 'rate_limited' THEN COALESCE(webhooks.paused_until(y.o, y.u), at + interval '1 second')
                ELSE at + y.n * interval '1 millisecond' END AS again
        FROM unnest(reports) AS y
        CROSS JOIN LATERAL (SELECT k.ctid AS place, k.* FROM webhooks.queue k WHERE k.organization_id = y.o AND k.webhook_id = y.w
            AND k.lane = y.l AND k.resource_type = y.rt AND k.resource_id = y.r LIMIT 1) q
    ), deliveries AS (
        UPDATE webhooks.delivery d SET status = COALESCE(x.f, 'retrying'), reason = x.fr, attempts = x.attempts,
            retries = x.retries + (x.c AND x.f IS NULL)::integer, next_attempt_at = x.again,
            finished_at = CASE WHEN x.f IS NOT NULL THEN at END
        FROM x WHERE d.organization_id = x.o AND d.created_at = x.head_at AND d.event_id = x.head_event AND d.webhook_id = x.w
            AND d.run_id = x.head_run
        RETURNING d.trigger, d.expires_at, x.*
    ), attempts AS (
        INSERT INTO webhooks.attempt AS a (organization_id, id, created_at, event_id, webhook_id, delivery_id, delivery_at, run_id, attempt, trigger,
            status, counts_as_retry, request, response_status, response_headers, response_body, body_encoding, body_truncated, error_code,
            error_message, retry_after_ms, next_attempt_at, finished_at, duration_ms, expires_at)
        SELECT v.o, v.a, v.started_at, v.head_event, v.w, v.head_id, v.head_at, v.head_run, v.attempts, v.trigger, v.st, v.c, v.rq::json, v.rs,
            v.rh::json, v.rb, v.re, v.rtr, v.ec, v.em,
            CASE WHEN v.again IS NOT NULL THEN GREATEST(0, round(extract(epoch FROM v.again - at) * 1000)) END, v.again, at, v.ms, v.expires_at
        FROM deliveries v
        ON CONFLICT (organization_id, created_at, id) DO UPDATE SET status = EXCLUDED.status, finished_at = EXCLUDED.finished_at
    ), following AS MATERIALIZED (
        SELECT x.place, n.* FROM x LEFT JOIN LATERAL (
            SELECT d.id, d.created_at, d.event_id, d.run_id, d.sequence, d.attempts, d.retries, d.next_attempt_at FROM webhooks.delivery d
            WHERE d.webhook_id || ' ' || d.lane || ' ' || d.resource_type || ' ' || d.resource_id = x.w || ' ' || x.l || ' ' || x.rt || ' ' || x.r
                AND d.status IN ('pending', 'retrying') AND d.id <> x.head_id ORDER BY d.sequence, d.created_at LIMIT 1) n ON true
        WHERE x.f IS NOT NULL
    ), ended AS (
        DELETE FROM webhooks.queue q USING following g WHERE g.id IS NULL AND q.ctid = g.place
    ), advanced AS (
        UPDATE webhooks.queue q SET in_flight = false, head_id = g.id, head_at = g.created_at, head_event = g.event_id, head_run = g.run_id,
            head_sequence = g.sequence, attempts = g.attempts,
            retries = g.retries, next_attempt_at = COALESCE(g.next_attempt_at, at), attempt_id = NULL
        FROM following g WHERE g.id IS NOT NULL AND q.ctid = g.place
    ), again AS (
        UPDATE webhooks.queue q SET in_flight = false, retries = x.retries + x.c::integer, next_attempt_at = x.again, attempt_id = NULL
        FROM x WHERE x.f IS NULL AND q.ctid = x.place
    ), sums AS MATERIALIZED (
        SELECT x.o, x.w, count(*)::integer AS n, (count(*) FILTER (WHERE x.l = 'batch'))::integer AS batch,
            count(*) FILTER (WHERE x.st = 'success') AS good, count(*) FILTER (WHERE x.st = 'failure') AS bad,
            count(*) FILTER (WHERE x.st = 'success' AND x.h) AS success, count(*) FILTER (WHERE x.st = 'failure' AND x.h) AS failure,
            count(*) FILTER (WHERE x.st = 'rate_limited' AND x.h) AS limited, count(*) FILTER (WHERE x.rf) AS refused
        FROM x GROUP BY x.o, x.w
    ), buckets AS (
        INSERT INTO webhooks.bucket AS b (organization_id, webhook_id, minute, success, failure, rate_limited)
        SELECT s.o, s.w, date_trunc('minute', at), s.success, s.failure, s.limited FROM sums s
        WHERE s.success + s.failure + s.limited > 0 ORDER BY s.o, s.w
        ON CONFLICT (organization_id, webhook_id, minute) DO UPDATE SET success = b.success + EXCLUDED.success,
            failure = b.failure + EXCLUDED.failure, rate_limited = b.rate_limited + EXCLUDED.rate_limited
    ), locked AS MATERIALIZED (
        SELECT k.organization_id, k.webhook_id, w.max_concurrency FROM sums s
        JOIN webhooks.runtime k ON k.organization_id = s.o AND k.webhook_id = s.w
        JOIN webhooks.webhook w ON w.organization_id = s.o AND w.id = s.w
        ORDER BY k.organization_id, k.webhook_id FOR UPDATE OF k
    )
    UPDATE webhooks.runtime k SET in_flight = GREATEST(0, k.in_flight - s.n), batch_in_flight = GREATEST(0, k.batch_in_flight - s.batch),
        -- A slow start doubles with each success.
        slow_limit = CASE WHEN s.good = 0 OR k.slow_limit IS NULL THEN k.slow_limit
            WHEN k.slow_limit * power(2, LEAST(s.good, 10)) >= l.max_concurrency THEN NULL
            ELSE k.slow_limit * power(2, LEAST(s.good, 10))::integer END,
        last_success_at = CASE WHEN s.good > 0 THEN at ELSE k.last_success_at END,
        last_failure_at = CASE WHEN s.bad > 0 THEN at ELSE k.last_failure_at END,
        refused_since = CASE WHEN s.refused < s.n THEN NULL ELSE COALESCE(k.refused_since, at) END,
        refused = CASE WHEN s.refused < s.n THEN 0 ELSE k.refused + s.refused::integer END,
        next_due_at = LEAST(k.next_due_at, at)
    FROM sums s JOIN locked l ON l.organization_id = s.o AND l.webhook_id = s.w
    WHERE k.organization_id = s.o AND k.webhook_id = s.w;
END
$$;

CREATE OR REPLACE FUNCTION webhooks.interrupt(its_server text) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    at timestamptz(3) := wharf.now();
    n integer;
BEGIN
    WITH late AS MATERIALIZED (
        SELECT q.* FROM webhooks.queue q WHERE q.in_flight AND (q.lease_until + 0 < (extract(epoch FROM at) * 1000000)::bigint OR q.server = its_server)
        ORDER BY q.lease_until + 0 LIMIT 1000 FOR UPDATE SKIP LOCKED
    ), deliveries AS (
        UPDATE webhooks.delivery d SET attempts = late.attempts FROM late
        WHERE d.organization_id = late.organization_id AND d.created_at = late.head_at AND d.event_id = late.head_event
            AND d.webhook_id = late.webhook_id AND d.run_id = late.head_run
        RETURNING d.trigger, d.expires_at, late.organization_id AS o, late.attempt_id AS i, late.started_at, late.head_event, late.webhook_id AS w,
            late.head_id, late.head_at, late.head_run, late.attempts AS n
    ), attempts AS (
        INSERT INTO webhooks.attempt AS a (organization_id, id, created_at, event_id, webhook_id, delivery_id, delivery_at, run_id, attempt, trigger,
            status, error_code, error_message, retry_after_ms, next_attempt_at, finished_at, expires_at)
        SELECT v.o, v.i, v.started_at, v.head_event, v.w, v.head_id, v.head_at, v.head_run, v.n, v.trigger, 'failure', 'interrupted',
            'The server ended while the request was running; it is sent again', 0, at, at, v.expires_at
        FROM deliveries v
        ON CONFLICT (organization_id, created_at, id) DO UPDATE SET status = EXCLUDED.status, error_code = EXCLUDED.error_code,
            error_message = EXCLUDED.error_message, retry_after_ms = 0, next_attempt_at = at, finished_at = at
    ), queues AS (
        UPDATE webhooks.queue q SET in_flight = false, attempt_id = NULL, next_attempt_at = at FROM late
        WHERE q.organization_id = late.organization_id AND q.webhook_id = late.webhook_id AND q.lane = late.lane
            AND q.resource_type = late.resource_type AND q.resource_id = late.resource_id
    ), sums AS MATERIALIZED (
        SELECT late.organization_id, late.webhook_id, count(*)::integer AS n, (count(*) FILTER (WHERE late.lane = 'batch'))::integer AS batch
        FROM late GROUP BY 1, 2
    ), locked AS MATERIALIZED (
        SELECT k.organization_id, k.webhook_id FROM sums s JOIN webhooks.runtime k ON k.organization_id = s.organization_id
            AND k.webhook_id = s.webhook_id ORDER BY 1, 2 FOR UPDATE OF k
    ), runtimes AS (
        UPDATE webhooks.runtime k SET in_flight = GREATEST(0, k.in_flight - s.n), batch_in_flight = GREATEST(0, k.batch_in_flight - s.batch),
            next_due_at = LEAST(k.next_due_at, at)
        FROM sums s JOIN locked l ON l.organization_id = s.organization_id AND l.webhook_id = s.webhook_id
        WHERE k.organization_id = s.organization_id AND k.webhook_id = s.webhook_id
    )
    SELECT count(*) INTO n FROM late;
    RETURN n;
END
$$;

-- ---- how it is shown ----

CREATE OR REPLACE VIEW webhooks.delivery_entry WITH (security_invoker = true) AS
SELECT d.organization_id, d.id, d.created_at, d.created_at AS updated_at, NULL::text AS created_by, NULL::text AS updated_by,
    NULL::timestamptz(3) AS deleted_at, 1::bigint AS version, d.webhook_id || '' AS webhook_id,
    d.event_id || '' AS event_id, d.event_type AS type,
    CASE WHEN d.lane = 'manual' THEN 'direct' ELSE d.lane END AS lane, d.resource_type, d.resource_id, d.sequence, d.trigger,
    webhooks.state_of(d) AS status, d.reason, d.attempts::bigint AS attempts, d.retries::bigint AS retries, d.next_attempt_at,
    d.superseded::bigint AS superseded, d.superseded_by, d.finished_at,
    COALESCE((SELECT jsonb_build_object('id', q.attempt_id, 'attempt', q.attempts, 'status', 'in_progress', 'response_status', NULL, 'error', NULL,
            'started_at', to_char(q.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'duration_ms', NULL)
        FROM webhooks.queue q WHERE q.organization_id = d.organization_id AND q.webhook_id = d.webhook_id AND q.lane = d.lane
            AND q.resource_type = d.resource_type AND q.resource_id = d.resource_id AND q.in_flight AND q.head_id = d.id),
    (SELECT jsonb_build_object('id', a.id, 'attempt', a.attempt, 'status', a.status, 'response_status', a.response_status, 'error', a.error_code,
            'started_at', to_char(a.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'duration_ms', a.duration_ms)
        FROM webhooks.attempt a WHERE a.organization_id = d.organization_id AND a.event_id || '' = d.event_id AND a.delivery_id = d.id
        ORDER BY a.attempt DESC LIMIT 1)) AS last_attempt
FROM webhooks.delivery d WHERE d.expires_at > wharf.now();


CREATE OR REPLACE VIEW webhooks.attempt_entry WITH (security_invoker = true) AS
SELECT a.organization_id, a.id, a.created_at, a.created_at AS updated_at, NULL::text AS created_by, NULL::text AS updated_by,
    NULL::timestamptz(3) AS deleted_at, 1::bigint AS version, a.event_id || '' AS event_id, a.webhook_id, a.delivery_id, a.attempt::bigint AS attempt, a.trigger,
    a.status, a.counts_as_retry,
    (SELECT webhooks.state_of(d) FROM webhooks.delivery d WHERE d.organization_id = a.organization_id AND d.created_at = a.delivery_at
        AND d.event_id = a.event_id AND d.webhook_id = a.webhook_id AND d.run_id = a.run_id) AS delivery_status,
    a.request::jsonb AS request,
    CASE WHEN a.response_status IS NOT NULL THEN jsonb_strip_nulls(jsonb_build_object('status', a.response_status, 'headers', a.response_headers,
        'body', a.response_body, 'body_encoding', a.body_encoding, 'body_truncated', a.body_truncated)) END AS response,
    CASE WHEN a.error_code IS NOT NULL THEN jsonb_build_object('code', a.error_code, 'message', a.error_message) END AS error,
    a.retry_after_ms, a.next_attempt_at, a.created_at AS started_at, a.finished_at, a.duration_ms
FROM webhooks.attempt a WHERE a.expires_at > wharf.now()
UNION ALL
SELECT d.organization_id, q.attempt_id, q.started_at, q.started_at, NULL, NULL, NULL::timestamptz(3), 1, d.event_id || '', d.webhook_id, d.id, q.attempts::bigint,
    d.trigger, 'in_progress' COLLATE "C", false, 'in_flight', NULL, NULL, NULL, NULL, NULL::timestamptz(3), q.started_at, NULL::timestamptz(3), NULL
FROM webhooks.delivery d JOIN webhooks.queue q ON q.organization_id = d.organization_id AND q.webhook_id = d.webhook_id AND q.lane = d.lane
    AND q.resource_type = d.resource_type AND q.resource_id = d.resource_id AND q.in_flight AND q.head_id = d.id
WHERE d.expires_at > wharf.now();

CREATE OR REPLACE VIEW wharf.event_delivery AS
    SELECT d.organization_id, d.event_id || '' AS event_id, d.webhook_id || '' AS webhook_id, webhooks.state_of(d) COLLATE "C" AS state, d.trigger = 'automatic' AS initial,
        (d.attempts > 0 OR EXISTS (SELECT FROM webhooks.queue q WHERE q.organization_id = d.organization_id AND q.webhook_id = d.webhook_id
            AND q.lane = d.lane AND q.resource_type = d.resource_type AND q.resource_id = d.resource_id AND q.in_flight AND q.head_id = d.id)) AS attempted
    FROM webhooks.delivery d;
