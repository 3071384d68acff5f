-- Settles attempts that are over: outcomes, next heads, figures. given: [{a: attempt, o, w, l, rt,
-- r: its queue, st: its status, f: the delivery's final state or null, fr: why, n: wait in ms, c:
-- counts as a retry, h: counts for health, p: the pause a 429 asks for (ms, 0: none said), u: url,
-- rf: refused, rq: request, rs, rh, rb, re, rt2: the answer, ec, em: error, ms: duration}]. Returns
-- the attempts that could not be settled because somebody holds their queue at the moment (busy:
-- try again); those that belong to others by now are neither settled nor returned. Locked rows are
-- found again by their place, and an attempt is written without a look for one like it: whose queue
-- is in flight with an attempt, that attempt has no row yet.
CREATE OR REPLACE FUNCTION webhooks.complete(its_server text, given json) RETURNS TABLE (busy text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
        SET enable_bitmapscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    at timestamptz(3) := wharf.now();
    reports webhooks.outcome[] := ARRAY(SELECT g
        FROM json_populate_recordset(NULL::webhooks.outcome, given) g);
    mine text[];
    places tid[];
    earliest timestamptz;
    latest timestamptz;
    soon timestamptz := at + interval '1 day';
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    -- attempt_id is null in queues that are not in flight.
    -- Locked by a statement of their own: what comes after sees what others had added to these
    -- queues before.
    SELECT array_agg(l.attempt_id ORDER BY x.at), array_agg(l.place ORDER BY x.at), min(l.head_at),
        max(l.head_at) INTO mine, places, earliest, latest
        FROM (SELECT y.*, row_number() OVER () AS at FROM unnest(reports) AS y) AS x
        CROSS JOIN LATERAL (SELECT q.attempt_id, q.ctid AS place, q.head_at FROM webhooks.queue q
            WHERE q.organization_id = x.o AND q.webhook_id = x.w
            AND q.lane = x.l AND q.resource_type = x.rt AND q.resource_id = x.r
            AND q.attempt_id = x.a AND q.server = its_server
            LIMIT 1 FOR UPDATE SKIP LOCKED) l;
    IF mine IS NULL OR cardinality(mine) < cardinality(reports) THEN
        RETURN QUERY SELECT q.attempt_id FROM unnest(reports) AS x
            JOIN webhooks.queue q ON q.organization_id = x.o AND q.webhook_id = x.w AND q.lane = x.l
                AND q.resource_type = x.rt
                AND q.resource_id = x.r AND q.attempt_id = x.a AND q.server = its_server
            WHERE mine IS NULL OR x.a <> ALL (mine);
        reports := ARRAY(SELECT x FROM unnest(reports) AS x WHERE x.a = ANY (mine));
    END IF;
    IF mine IS NULL THEN
        RETURN;
    END IF;
    PERFORM webhooks.pause(reports, at);
    WITH x AS MATERIALIZED (
        SELECT y.*, q.head_id, q.head_at, q.head_event, q.head_run, q.started_at, q.attempts,
            q.retries,
            CASE WHEN y.f IS NOT NULL THEN NULL::timestamptz
                WHEN y.st = 'rate_limited'
                    THEN COALESCE(webhooks.paused_until(y.o, y.u), at + interval '1 second')
                ELSE at + y.n * interval '1 millisecond' END AS again
        FROM ROWS FROM (unnest(reports), unnest(places))
            AS y(a, o, w, l, rt, r, st, f, fr, n, c, h, p, u, rf, rq, rs, rh, rb, re, rtr, ec, em,
            ms, place)
        CROSS JOIN LATERAL (SELECT k.* FROM webhooks.queue k WHERE k.ctid = y.place) q
    ), deliveries AS (
        UPDATE webhooks.delivery d
            SET status = COALESCE(x.f, 'retrying'), reason = x.fr, attempts = x.attempts,
            retries = x.retries + (x.c AND x.f IS NULL)::integer, next_attempt_at = x.again,
            finished_at = CASE WHEN x.f IS NOT NULL THEN at END
        FROM x WHERE d.organization_id = x.o AND d.created_at = x.head_at
            AND d.event_id = x.head_event AND d.webhook_id = x.w
            AND d.run_id = x.head_run AND d.created_at BETWEEN earliest AND latest
        RETURNING d.trigger, d.expires_at, x.*
    ), attempts AS (
        INSERT INTO webhooks.attempt AS a (organization_id, id, created_at, event_id, webhook_id,
            delivery_id, delivery_at, run_id, attempt, trigger,
            status, counts_as_retry, request, response_status, response_headers, response_body,
            body_encoding, body_truncated, error_code,
            error_message, retry_after_ms, next_attempt_at, finished_at, duration_ms, expires_at)
        SELECT v.o, v.a, v.started_at, v.head_event, v.w, v.head_id, v.head_at, v.head_run,
            v.attempts, v.trigger, v.st, v.c, v.rq::json, v.rs,
            v.rh::json, v.rb, v.re, v.rtr, v.ec, v.em,
            CASE WHEN v.again IS NOT NULL
                THEN GREATEST(0, round(extract(epoch FROM v.again - at) * 1000)) END, v.again, at,
                v.ms, v.expires_at
        FROM deliveries v
    ), following AS MATERIALIZED (
        SELECT x.place, n.* FROM x LEFT JOIN LATERAL (
            SELECT d.id, d.created_at, d.event_id, d.run_id, d.sequence, d.attempts, d.retries,
                d.next_attempt_at FROM webhooks.delivery d
            WHERE d.webhook_id || ' ' || d.lane || ' ' || d.resource_type || ' ' || d.resource_id
                = x.w || ' ' || x.l || ' ' || x.rt || ' ' || x.r
                AND d.status IN ('pending', 'retrying') AND d.id <> x.head_id
                AND d.created_at <= soon
            ORDER BY d.sequence, d.created_at LIMIT 1) n ON true
        WHERE x.f IS NOT NULL
    ), ended AS (
        DELETE FROM webhooks.queue q USING following g WHERE g.id IS NULL AND q.ctid = g.place
    ), advanced AS (
        UPDATE webhooks.queue q
            SET in_flight = false, head_id = g.id, head_at = g.created_at, head_event = g.event_id,
            head_run = g.run_id,
            head_sequence = g.sequence, attempts = g.attempts,
            retries = g.retries, next_attempt_at = COALESCE(g.next_attempt_at, at),
            attempt_id = NULL
        FROM following g WHERE g.id IS NOT NULL AND q.ctid = g.place
    ), again AS (
        UPDATE webhooks.queue q
            SET in_flight = false, retries = x.retries + x.c::integer, next_attempt_at = x.again,
            attempt_id = NULL
        FROM x WHERE x.f IS NULL AND q.ctid = x.place
    ), sums AS MATERIALIZED (
        SELECT x.o, x.w, count(*)::integer AS n,
            (count(*) FILTER (WHERE x.l = 'batch'))::integer AS batch,
            count(*) FILTER (WHERE x.st = 'success') AS good,
            count(*) FILTER (WHERE x.st = 'failure') AS bad,
            count(*) FILTER (WHERE x.st = 'success' AND x.h) AS success,
            count(*) FILTER (WHERE x.st = 'failure' AND x.h) AS failure,
            count(*) FILTER (WHERE x.st = 'rate_limited' AND x.h) AS limited,
            count(*) FILTER (WHERE x.rf) AS refused
        FROM x GROUP BY x.o, x.w
    ), buckets AS (
        INSERT INTO webhooks.bucket AS b (organization_id, webhook_id, minute, success, failure,
            rate_limited)
        SELECT s.o, s.w, date_trunc('minute', at), s.success, s.failure, s.limited FROM sums s
        WHERE s.success + s.failure + s.limited > 0 ORDER BY s.o, s.w
        ON CONFLICT (organization_id, webhook_id, minute) DO UPDATE
            SET success = b.success + EXCLUDED.success,
            failure = b.failure + EXCLUDED.failure,
            rate_limited = b.rate_limited + EXCLUDED.rate_limited
    ), locked AS MATERIALIZED (
        SELECT k.organization_id, k.webhook_id, w.max_concurrency FROM sums s
        JOIN webhooks.runtime k ON k.organization_id = s.o AND k.webhook_id = s.w
        JOIN webhooks.webhook w ON w.organization_id = s.o AND w.id = s.w
        ORDER BY k.organization_id, k.webhook_id FOR UPDATE OF k
    )
    UPDATE webhooks.runtime k
        SET in_flight = GREATEST(0, k.in_flight - s.n),
        batch_in_flight = GREATEST(0, k.batch_in_flight - s.batch),
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
