-- Takes what the webhook may begin now, and notes when to look again. Its runtime row is locked by
-- the caller. Lanes are looked at once, and nothing in it is planned anew by each claim.
CREATE OR REPLACE FUNCTION webhooks.serve(its_server text, r webhooks.runtime, room integer,
    ids text[], used integer, at timestamptz)
RETURNS webhooks.queue[] LANGUAGE plpgsql AS $$
DECLARE
    got webhooks.queue[];
    more webhooks.queue[];
    w record;
    free integer;
    half integer;
    ready text[];
    kept integer := 0;
    direct integer := 0;
    batch integer := 0;
    manual integer;
    have double precision;
    again timestamptz;
    left_direct boolean;
BEGIN
    SELECT k.status, k.max_concurrency, k.max_rate, k.deleted_at,
        (SELECT e.paused_until FROM webhooks.endpoint e WHERE e.organization_id = k.organization_id
        AND e.url = k.url AND e.paused_until > at) AS paused INTO w
        FROM webhooks.webhook k WHERE k.organization_id = r.organization_id AND k.id = r.webhook_id;
    IF NOT FOUND OR w.deleted_at IS NOT NULL OR w.status <> 'enabled' OR w.paused IS NOT NULL THEN
        -- Resends are sent whatever else waits, but not to who is disabled or asked for quiet.
        UPDATE webhooks.runtime k
            SET next_due_at = COALESCE(w.paused, 'infinity'), served_at = clock_timestamp(),
            held_since = COALESCE(k.held_since, at), slow_limit = 1
            WHERE k.organization_id = r.organization_id AND k.webhook_id = r.webhook_id;
        RETURN '{}';
    END IF;
    IF r.held_since IS NOT NULL THEN
        INSERT INTO webhooks.hold (organization_id, webhook_id, from_at, until_at)
            VALUES (r.organization_id, r.webhook_id, r.held_since, at);
    END IF;
    have := CASE WHEN w.max_rate IS NULL THEN 1e9
        ELSE LEAST(w.max_rate,
            CASE WHEN r.tokens_at = '-infinity' OR at < r.tokens_at THEN w.max_rate
            ELSE r.tokens + extract(epoch FROM at - r.tokens_at) * w.max_rate END) END;
    free := LEAST(room,
        LEAST(w.max_concurrency, COALESCE(r.slow_limit, w.max_concurrency))::integer - r.in_flight,
        floor(have)::integer);
    half := GREATEST(1, w.max_concurrency / 2);
    ready := ARRAY(SELECT l.lane FROM (VALUES ('manual'), ('direct'), ('batch')) AS l(lane)
        WHERE EXISTS (SELECT FROM webhooks.queue q
        WHERE q.webhook_id || ' ' || q.lane = r.webhook_id || ' ' || l.lane AND NOT q.in_flight
            AND q.next_attempt_at <= at));
    got := '{}';
    IF 'manual' = ANY (ready) THEN
        got := webhooks.take(its_server, r, 'manual', free, ids, used, at);
    END IF;
    manual := cardinality(got);
    free := free - manual;
    IF free > 0 AND r.batch_in_flight < half AND 'batch' = ANY (ready) THEN
        kept := LEAST(half - r.batch_in_flight,
            GREATEST(free / 2,
                CASE WHEN r.batch_in_flight = 0 AND r.in_flight > 0 THEN 1 ELSE 0 END));
    END IF;
    IF 'direct' = ANY (ready) THEN
        more := webhooks.take(its_server, r, 'direct', free - kept, ids, used + manual, at);
        direct := cardinality(more);
        got := got || more;
    END IF;
    IF 'batch' = ANY (ready) THEN
        left_direct := direct = free - kept
            AND EXISTS (SELECT FROM webhooks.queue q
            WHERE q.webhook_id || ' ' || q.lane = r.webhook_id || ' direct'
            AND NOT q.in_flight AND q.next_attempt_at <= at);
        free := free - direct;
        IF left_direct THEN
            free := LEAST(free, half - r.batch_in_flight);
        END IF;
        more := webhooks.take(its_server, r, 'batch', free, ids, used + manual + direct, at);
        batch := cardinality(more);
        got := got || more;
    END IF;
    -- The first moment at which something is ready; with the room all used, its return says when.
    SELECT min(n.at) INTO again FROM (VALUES ('direct'), ('batch'), ('manual')) AS l(lane) CROSS
        JOIN LATERAL (
        SELECT q.next_attempt_at AS at FROM webhooks.queue q
            WHERE q.webhook_id || ' ' || q.lane = r.webhook_id || ' ' || l.lane AND NOT q.in_flight
            ORDER BY q.next_attempt_at LIMIT 1) n;
    IF again <= at AND w.max_rate IS NOT NULL AND have - manual - direct - batch < 1 THEN
        again := at + make_interval(secs => (1 - (have - manual - direct - batch)) / w.max_rate);
    ELSIF again <= at
        AND r.in_flight + manual + direct + batch
        >= LEAST(w.max_concurrency, COALESCE(r.slow_limit, w.max_concurrency)) THEN
        again := 'infinity';
    END IF;
    UPDATE webhooks.runtime k
        SET in_flight = k.in_flight + manual + direct + batch,
        batch_in_flight = k.batch_in_flight + batch,
        next_due_at = COALESCE(again, 'infinity'), served_at = clock_timestamp(), held_since = NULL,
        tokens = LEAST(have, 1e6) - manual - direct - batch, tokens_at = at
        WHERE k.organization_id = r.organization_id AND k.webhook_id = r.webhook_id;
    RETURN got;
END
$$;
