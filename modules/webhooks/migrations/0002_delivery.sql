-- wharf: phase=expand
-- Deliveries, their queues and their attempts (docs/spec/07-events-and-webhooks.md sections 2, 7 and 8).
--
-- A delivery is written when it is made, when an attempt of it is over, and when it is final. That it is in flight stands in its queue, that it
-- is held follows from its webhook: so nobody rewrites a million rows because an endpoint is away.

CREATE TABLE webhooks.delivery (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL, -- of automatic ones that of the event: so the same one is never made twice
    queued_at timestamptz(3) NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    event_at timestamptz(3) NOT NULL,
    webhook_id text COLLATE "C" NOT NULL,
    event_type text COLLATE "C" NOT NULL,
    lane text COLLATE "C" NOT NULL, -- direct, batch; manual: each its own queue
    resource_type text COLLATE "C" NOT NULL,
    resource_id text COLLATE "C" NOT NULL,
    sequence bigint NOT NULL,
    trigger text COLLATE "C" NOT NULL,
    run_id text COLLATE "C" NOT NULL DEFAULT '', -- of a resend or a recovery
    status text COLLATE "C" NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'retrying', 'succeeded', 'failed', 'superseded', 'dropped')),
    reason text COLLATE "C",
    attempts integer NOT NULL DEFAULT 0,
    retries integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz(3),
    superseded integer NOT NULL DEFAULT 0,
    superseded_by text COLLATE "C",
    finished_at timestamptz(3),
    expires_at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, created_at, event_id, webhook_id, run_id)
) PARTITION BY RANGE (created_at);
CREATE TABLE webhooks.delivery_default PARTITION OF webhooks.delivery DEFAULT;
-- Plans are made while tables are empty and then live long. So no two indexes of a table begin with the same columns: those that lists need
-- are over expressions, which the views of 0003 show.
CREATE INDEX delivery_event ON webhooks.delivery ((event_id || ''));
CREATE INDEX delivery_webhook ON webhooks.delivery ((webhook_id || ''));
CREATE INDEX delivery_open ON webhooks.delivery ((webhook_id || ' ' || lane || ' ' || resource_type || ' ' || resource_id), sequence)
    WHERE status IN ('pending', 'retrying');
CREATE INDEX delivery_expires ON webhooks.delivery USING brin (expires_at) WITH (pages_per_range = 32);

-- The head of each queue that has one: the only delivery of it that may be sent.
CREATE TABLE webhooks.queue (
    organization_id text COLLATE "C" NOT NULL,
    webhook_id text COLLATE "C" NOT NULL,
    lane text COLLATE "C" NOT NULL,
    resource_type text COLLATE "C" NOT NULL,
    resource_id text COLLATE "C" NOT NULL,
    head_id text COLLATE "C" NOT NULL,
    head_at timestamptz(3) NOT NULL, -- with the next two the rest of the delivery's key
    head_event text COLLATE "C" NOT NULL,
    head_run text COLLATE "C" NOT NULL,
    head_sequence bigint NOT NULL,
    in_flight boolean NOT NULL DEFAULT false,
    next_attempt_at timestamptz(3) NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    retries integer NOT NULL DEFAULT 0,
    attempt_id text COLLATE "C", -- in flight: who does it, and until when it is believed
    started_at timestamptz(3),
    server text COLLATE "C",
    lease_until bigint, -- microseconds since 1970
    touched bigint NOT NULL DEFAULT 0, -- makes whoever adds to the queue hold the row
    PRIMARY KEY (organization_id, webhook_id, lane, resource_type, resource_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.2, autovacuum_analyze_threshold = 5000);
CREATE INDEX queue_ready ON webhooks.queue ((webhook_id || ' ' || lane), next_attempt_at) WHERE NOT in_flight;
CREATE INDEX queue_lease ON webhooks.queue ((lease_until + 0)) WHERE in_flight;

CREATE TABLE webhooks.attempt (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL, -- when it was begun
    event_id text COLLATE "C" NOT NULL,
    webhook_id text COLLATE "C" NOT NULL,
    delivery_id text COLLATE "C" NOT NULL,
    delivery_at timestamptz(3) NOT NULL, -- with the next one the rest of the delivery's key
    run_id text COLLATE "C" NOT NULL,
    attempt integer NOT NULL,
    trigger text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL DEFAULT 'in_progress' CHECK (status IN ('in_progress', 'success', 'failure', 'rate_limited')),
    counts_as_retry boolean NOT NULL DEFAULT false,
    request json,
    response_status integer,
    response_headers json,
    response_body text,
    body_encoding text COLLATE "C",
    body_truncated boolean,
    error_code text COLLATE "C",
    error_message text,
    retry_after_ms bigint,
    next_attempt_at timestamptz(3),
    finished_at timestamptz(3),
    duration_ms bigint,
    expires_at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, created_at, id)
) PARTITION BY RANGE (created_at);
CREATE TABLE webhooks.attempt_default PARTITION OF webhooks.attempt DEFAULT;
CREATE INDEX attempt_event ON webhooks.attempt ((event_id || ''));
CREATE INDEX attempt_expires ON webhooks.attempt USING brin (expires_at) WITH (pages_per_range = 32);

-- Something of this webhook became ready. Rows, not an update of runtime: they are seen when the deliveries are, and nobody waits for anybody.
CREATE TABLE webhooks.poke (
    organization_id text COLLATE "C" NOT NULL,
    webhook_id text COLLATE "C" NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- A recovery that is running.
CREATE TABLE webhooks.recovery (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    webhook_id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    finished_at timestamptz(3),
    matched bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX recovery_one ON webhooks.recovery (organization_id, webhook_id) WHERE finished_at IS NULL;

SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['webhooks.delivery', 'webhooks.delivery_default', 'webhooks.queue',
    'webhooks.attempt', 'webhooks.attempt_default', 'webhooks.poke', 'webhooks.recovery']) AS t;
SELECT wharf.ensure_partitions(wharf.now());

-- ---- how it is shown ----

CREATE FUNCTION webhooks.is_held(org text, webhook text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT w.status <> 'enabled' OR webhooks.paused_until(w.organization_id, w.url) IS NOT NULL FROM webhooks.webhook w
    WHERE w.organization_id = org AND w.id = webhook
$$;
CREATE FUNCTION webhooks.state_of(d webhooks.delivery) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN d.status NOT IN ('pending', 'retrying') THEN d.status
        WHEN EXISTS (SELECT FROM webhooks.queue q WHERE q.organization_id = d.organization_id AND q.webhook_id = d.webhook_id AND q.lane = d.lane
            AND q.resource_type = d.resource_type AND q.resource_id = d.resource_id AND q.in_flight AND q.head_id = d.id) THEN 'in_flight'
        WHEN webhooks.is_held(d.organization_id, d.webhook_id) THEN 'held'
        ELSE d.status END
$$;
CREATE OR REPLACE VIEW wharf.event_delivery AS
    SELECT d.organization_id, d.event_id || '' AS event_id, d.webhook_id || '' AS webhook_id, webhooks.state_of(d) COLLATE "C" AS state, d.trigger = 'automatic' AS initial,
        (d.attempts > 0 OR EXISTS (SELECT FROM webhooks.attempt a WHERE a.event_id || '' = d.event_id AND a.delivery_id = d.id)) AS attempted
    FROM webhooks.delivery d;

-- ---- adding ----

-- Brings the head of every queue of a webhook that is not in flight to its first open delivery, and takes queues away that have none.
CREATE FUNCTION webhooks.mend_queues(org text, webhook text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM webhooks.queue q WHERE q.organization_id = org AND q.webhook_id = webhook AND NOT q.in_flight
        AND NOT EXISTS (SELECT FROM webhooks.delivery d WHERE d.webhook_id || ' ' || d.lane || ' ' || d.resource_type || ' ' || d.resource_id
            = webhook || ' ' || q.lane || ' ' || q.resource_type || ' ' || q.resource_id AND d.status IN ('pending', 'retrying'));
    UPDATE webhooks.queue q SET head_id = n.id, head_at = n.created_at, head_event = n.event_id, head_run = n.run_id,
        head_sequence = n.sequence, attempts = n.attempts, retries = n.retries,
        next_attempt_at = COALESCE(n.next_attempt_at, n.queued_at)
    FROM webhooks.queue o CROSS JOIN LATERAL (
        SELECT d.* FROM webhooks.delivery d WHERE d.webhook_id || ' ' || d.lane || ' ' || d.resource_type || ' ' || d.resource_id
            = webhook || ' ' || o.lane || ' ' || o.resource_type || ' ' || o.resource_id AND d.status IN ('pending', 'retrying')
        ORDER BY d.sequence, d.created_at LIMIT 1) n
    WHERE o.organization_id = org AND o.webhook_id = webhook AND NOT o.in_flight AND n.id <> o.head_id
        AND q.organization_id = org AND q.webhook_id = webhook AND q.lane = o.lane AND q.resource_type = o.resource_type
        AND q.resource_id = o.resource_id;
END
$$;

-- Of what was just added to queues of webhooks that supersede: older ones of the same type that are not under way make room.
CREATE FUNCTION webhooks.supersede(org text, given json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    at timestamptz := wharf.now();
    g record;
    newest webhooks.delivery;
    n bigint;
    before bigint;
    latest timestamptz;
BEGIN
    FOR g IN
        SELECT DISTINCT x.w, x.l, x.rt, x.r, x.y FROM json_to_recordset(given) AS x(w text, l text, rt text, r text, y text, su boolean)
        WHERE x.su ORDER BY 1, 2, 3, 4, 5
    LOOP
        SELECT d.* INTO newest FROM webhooks.delivery d WHERE d.webhook_id || ' ' || d.lane || ' ' || d.resource_type || ' ' || d.resource_id
            = g.w || ' ' || g.l || ' ' || g.rt || ' ' || g.r AND d.status IN ('pending', 'retrying') AND d.event_type = g.y
        ORDER BY d.sequence DESC, d.created_at DESC LIMIT 1;
        CONTINUE WHEN NOT FOUND;
        WITH gone AS (
            UPDATE webhooks.delivery d SET status = 'superseded', superseded_by = newest.event_id, finished_at = at
            WHERE d.webhook_id || ' ' || d.lane || ' ' || d.resource_type || ' ' || d.resource_id
            = g.w || ' ' || g.l || ' ' || g.rt || ' ' || g.r
                AND d.status IN ('pending', 'retrying') AND d.event_type = g.y AND d.id <> newest.id
                AND NOT EXISTS (SELECT FROM webhooks.queue q WHERE q.organization_id = org AND q.webhook_id = g.w AND q.lane = g.l
                    AND q.resource_type = g.rt AND q.resource_id = g.r AND q.in_flight AND q.head_id = d.id)
            RETURNING d.superseded, d.next_attempt_at)
        SELECT count(*), COALESCE(sum(gone.superseded), 0), max(gone.next_attempt_at) INTO n, before, latest FROM gone;
        CONTINUE WHEN n = 0;
        UPDATE webhooks.delivery d SET superseded = d.superseded + n + before, next_attempt_at = GREATEST(d.next_attempt_at, latest)
            WHERE d.organization_id = org AND d.created_at = newest.created_at AND d.event_id = newest.event_id AND d.webhook_id = g.w
                AND d.run_id = newest.run_id;
        UPDATE webhooks.queue q SET head_id = h.id, head_at = h.created_at, head_event = h.event_id, head_run = h.run_id,
            head_sequence = h.sequence, attempts = h.attempts, retries = h.retries, next_attempt_at = GREATEST(h.next_attempt_at, h.queued_at)
        FROM (SELECT d.* FROM webhooks.delivery d WHERE d.webhook_id || ' ' || d.lane || ' ' || d.resource_type || ' ' || d.resource_id
            = g.w || ' ' || g.l || ' ' || g.rt || ' ' || g.r AND d.status IN ('pending', 'retrying')
            ORDER BY d.sequence, d.created_at LIMIT 1) h
        WHERE q.organization_id = org AND q.webhook_id = g.w AND q.lane = g.l AND q.resource_type = g.rt AND q.resource_id = g.r
            AND NOT q.in_flight;
    END LOOP;
END
$$;

-- New deliveries and their queues. given: [{i: id, t: created_at, e: event, et: its created_at, w: webhook, y: type, l: lane, rt, r: resource,
-- s: sequence, g: trigger, n: run, x: expires_at, su: supersedes}]. Returns how many were new.
CREATE FUNCTION webhooks.add(org text, given json) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    at timestamptz(3) := wharf.now();
    added bigint;
BEGIN
    WITH x AS (
        SELECT * FROM json_to_recordset(given) AS x(i text, t timestamptz, e text, et timestamptz, w text, y text, l text, rt text, r text,
            s bigint, g text, n text, x timestamptz)
    ), new AS (
        INSERT INTO webhooks.delivery (organization_id, id, created_at, queued_at, event_id, event_at, webhook_id, event_type, lane, resource_type,
            resource_id, sequence, trigger, run_id, expires_at)
        SELECT org, x.i, x.t, at, x.e, x.et, x.w, x.y, x.l, x.rt, x.r, x.s, x.g, x.n, x.x FROM x
        ON CONFLICT DO NOTHING
        RETURNING id, created_at, event_id, run_id, webhook_id, lane, resource_type, resource_id, sequence
    ), heads AS (
        SELECT DISTINCT ON (webhook_id, lane, resource_type, resource_id) * FROM new
        ORDER BY webhook_id, lane, resource_type, resource_id, sequence, created_at
    ), queued AS (
        INSERT INTO webhooks.queue AS q (organization_id, webhook_id, lane, resource_type, resource_id, head_id, head_at, head_event,
            head_run, head_sequence, next_attempt_at)
        SELECT org, h.webhook_id, h.lane, h.resource_type, h.resource_id, h.id, h.created_at, h.event_id, h.run_id, h.sequence, at FROM heads h
        ORDER BY h.webhook_id, h.lane, h.resource_type, h.resource_id
        ON CONFLICT (organization_id, webhook_id, lane, resource_type, resource_id) DO UPDATE SET touched = q.touched + 1,
            head_id = CASE WHEN NOT q.in_flight AND EXCLUDED.head_sequence < q.head_sequence THEN EXCLUDED.head_id ELSE q.head_id END,
            head_at = CASE WHEN NOT q.in_flight AND EXCLUDED.head_sequence < q.head_sequence THEN EXCLUDED.head_at ELSE q.head_at END,
            head_event = CASE WHEN NOT q.in_flight AND EXCLUDED.head_sequence < q.head_sequence THEN EXCLUDED.head_event ELSE q.head_event END,
            head_run = CASE WHEN NOT q.in_flight AND EXCLUDED.head_sequence < q.head_sequence THEN EXCLUDED.head_run ELSE q.head_run END,
            attempts = CASE WHEN NOT q.in_flight AND EXCLUDED.head_sequence < q.head_sequence THEN 0 ELSE q.attempts END,
            retries = CASE WHEN NOT q.in_flight AND EXCLUDED.head_sequence < q.head_sequence THEN 0 ELSE q.retries END,
            next_attempt_at = CASE WHEN NOT q.in_flight AND EXCLUDED.head_sequence < q.head_sequence THEN at ELSE q.next_attempt_at END,
            head_sequence = CASE WHEN q.in_flight THEN q.head_sequence ELSE LEAST(q.head_sequence, EXCLUDED.head_sequence) END
    ), poked AS (
        INSERT INTO webhooks.poke (organization_id, webhook_id) SELECT DISTINCT org, h.webhook_id FROM heads h
    )
    SELECT count(*) INTO added FROM new;
    IF EXISTS (SELECT FROM json_to_recordset(given) AS x(su boolean) WHERE x.su) THEN
        PERFORM webhooks.supersede(org, given);
    END IF;
    RETURN added;
END
$$;

-- ---- claiming ----

-- Heads of one lane that are due go into flight, with the rows of their attempts. ids: for attempts, from the one behind `used` on.
CREATE FUNCTION webhooks.take(its_server text, r webhooks.runtime, its_lane text, most integer, ids text[], used integer, at timestamptz)
RETURNS webhooks.queue[] LANGUAGE plpgsql AS $$
DECLARE
    got webhooks.queue[];
BEGIN
    IF most <= 0 THEN
        RETURN '{}';
    END IF;
    WITH due AS MATERIALIZED (
        SELECT o.resource_type, o.resource_id, o.next_attempt_at, o.head_sequence FROM webhooks.queue o
        WHERE o.webhook_id || ' ' || o.lane = r.webhook_id || ' ' || its_lane AND NOT o.in_flight
            AND o.next_attempt_at <= at
        ORDER BY o.next_attempt_at LIMIT most FOR UPDATE SKIP LOCKED
    ), numbered AS (
        SELECT due.*, used + (row_number() OVER (ORDER BY due.next_attempt_at, due.head_sequence))::integer AS n FROM due
    ), taken AS (
        UPDATE webhooks.queue q SET in_flight = true, attempts = q.attempts + 1, attempt_id = ids[o.n], started_at = at, server = its_server,
            lease_until = (extract(epoch FROM at) * 1000000)::bigint + 60000000
        FROM numbered o WHERE q.organization_id = r.organization_id AND q.webhook_id = r.webhook_id AND q.lane = its_lane
            AND q.resource_type = o.resource_type AND q.resource_id = o.resource_id
        RETURNING q AS q
    ), written AS (
        INSERT INTO webhooks.attempt (organization_id, id, created_at, event_id, webhook_id, delivery_id, delivery_at, run_id, attempt,
            trigger, expires_at)
        SELECT d.organization_id, (t.q).attempt_id, at, d.event_id, d.webhook_id, d.id, d.created_at, d.run_id, (t.q).attempts, d.trigger, d.expires_at
        FROM taken t JOIN webhooks.delivery d ON d.organization_id = r.organization_id AND d.created_at = (t.q).head_at
            AND d.event_id = (t.q).head_event AND d.webhook_id = r.webhook_id AND d.run_id = (t.q).head_run
    )
    SELECT array_agg(t.q) INTO got FROM taken t;
    RETURN COALESCE(got, '{}');
END
$$;

-- What the webhook may begin now, and when to look again. Its runtime row is locked by the caller.
CREATE FUNCTION webhooks.serve(its_server text, r webhooks.runtime, room integer, ids text[], used integer, at timestamptz)
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
    SELECT k.status, k.max_concurrency, k.max_rate, k.deleted_at, webhooks.paused_until(k.organization_id, k.url) AS paused INTO w
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

-- Takes what can be sent now, at most one delivery for each of the ids (of attempts). Webhooks take turns; each gets an equal share of what
-- there is room for, and what one does not need goes to the others at the next call. wait_ms of the first row: until something is due.
CREATE FUNCTION webhooks.claim(its_server text, ids text[]) RETURNS TABLE (
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
        JOIN webhooks.delivery d ON d.organization_id = q.organization_id AND d.created_at = q.head_at AND d.event_id = q.head_event
            AND d.webhook_id = q.webhook_id AND d.run_id = q.head_run
        JOIN webhooks.webhook w ON w.organization_id = q.organization_id AND w.id = q.webhook_id
        LEFT JOIN wharf.event e ON e.organization_id = d.organization_id AND e.created_at = d.event_at AND e.id = d.event_id
        LEFT JOIN wharf.event_done h ON h.organization_id = d.organization_id AND h.created_at = d.event_at AND h.event_id = d.event_id;
END
$$;

-- When the next thing is due, as milliseconds from now (at most 1,000).
CREATE FUNCTION webhooks.next_due() RETURNS integer LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT LEAST(1000, GREATEST(0, COALESCE(extract(epoch FROM min(k.next_due_at) - wharf.now()) * 1000, 1000)))::integer
    FROM (SELECT o.next_due_at FROM webhooks.runtime o WHERE o.next_due_at < 'infinity' ORDER BY o.next_due_at LIMIT 1) k
$$;

-- ---- what became of it ----

-- The attempts that are over: outcomes, next heads, figures. given: [{a: attempt, o, w, l, rt, r: its queue, st: its status, f: the delivery's final
-- state or null, fr: why, n: wait in ms, c: counts as a retry, h: counts for health, p: the pause a 429 asks for (ms, 0: none said), u: url, rf:
-- refused, rq: request, rs, rh, rb, re, rt2: the answer, ec, em: error, ms: duration}]. Returns the attempts that could not be settled because
-- somebody holds their queue at the moment (busy: try again); those that are no longer ours are neither settled nor returned.
CREATE TYPE webhooks.outcome AS (a text, o text, w text, l text, rt text, r text, st text, f text, fr text, n bigint, c boolean, h boolean,
    p bigint, u text, rf boolean, rq text, rs integer, rh text, rb text, re text, rtr boolean, ec text, em text, ms bigint);
CREATE FUNCTION webhooks.complete(its_server text, given json) RETURNS TABLE (busy text) LANGUAGE plpgsql SECURITY DEFINER
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
    SELECT array_agg(l.attempt_id) INTO mine FROM (
        SELECT q.attempt_id FROM unnest(reports) AS x
        JOIN webhooks.queue q ON q.organization_id = x.o AND q.webhook_id = x.w AND q.lane = x.l AND q.resource_type = x.rt
            AND q.resource_id = x.r AND q.attempt_id = x.a AND q.server = its_server
        FOR UPDATE OF q SKIP LOCKED) l;
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
        SELECT y.*, q.head_id, q.head_at, q.head_event, q.head_run, q.started_at, q.attempts, q.retries,
            CASE WHEN y.f IS NOT NULL THEN NULL::timestamptz
                WHEN y.st = 'rate_limited' THEN COALESCE(webhooks.paused_until(y.o, y.u), at + interval '1 second')
                ELSE at + y.n * interval '1 millisecond' END AS again
        FROM unnest(reports) AS y
        JOIN webhooks.queue q ON q.organization_id = y.o AND q.webhook_id = y.w AND q.lane = y.l AND q.resource_type = y.rt AND q.resource_id = y.r
    ), attempts AS (
        UPDATE webhooks.attempt a SET status = x.st, counts_as_retry = x.c, request = x.rq::json, response_status = x.rs, response_headers = x.rh::json,
            response_body = x.rb, body_encoding = x.re, body_truncated = x.rtr, error_code = x.ec, error_message = x.em, finished_at = at,
            duration_ms = x.ms, next_attempt_at = x.again,
            retry_after_ms = CASE WHEN x.again IS NOT NULL THEN GREATEST(0, round(extract(epoch FROM x.again - at) * 1000)) END
        FROM x WHERE a.organization_id = x.o AND a.created_at = x.started_at AND a.id = x.a
    ), deliveries AS (
        UPDATE webhooks.delivery d SET status = COALESCE(x.f, 'retrying'), reason = x.fr, attempts = x.attempts,
            retries = x.retries + (x.c AND x.f IS NULL)::integer, next_attempt_at = x.again,
            finished_at = CASE WHEN x.f IS NOT NULL THEN at END
        FROM x WHERE d.organization_id = x.o AND d.created_at = x.head_at AND d.event_id = x.head_event AND d.webhook_id = x.w
            AND d.run_id = x.head_run
    ), following AS MATERIALIZED (
        SELECT x.o, x.w, x.l, x.rt, x.r, n.* FROM x LEFT JOIN LATERAL (
            SELECT d.id, d.created_at, d.event_id, d.run_id, d.sequence, d.attempts, d.retries, d.next_attempt_at FROM webhooks.delivery d
            WHERE d.webhook_id || ' ' || d.lane || ' ' || d.resource_type || ' ' || d.resource_id = x.w || ' ' || x.l || ' ' || x.rt || ' ' || x.r
                                AND d.status IN ('pending', 'retrying') AND d.id <> x.head_id ORDER BY d.sequence, d.created_at LIMIT 1) n ON true
        WHERE x.f IS NOT NULL
    ), ended AS (
        DELETE FROM webhooks.queue q USING following g WHERE g.id IS NULL AND q.organization_id = g.o AND q.webhook_id = g.w AND q.lane = g.l
            AND q.resource_type = g.rt AND q.resource_id = g.r
    ), advanced AS (
        UPDATE webhooks.queue q SET in_flight = false, head_id = g.id, head_at = g.created_at, head_event = g.event_id, head_run = g.run_id,
            head_sequence = g.sequence, attempts = g.attempts,
            retries = g.retries, next_attempt_at = COALESCE(g.next_attempt_at, at), attempt_id = NULL
        FROM following g WHERE g.id IS NOT NULL AND q.organization_id = g.o AND q.webhook_id = g.w AND q.lane = g.l AND q.resource_type = g.rt AND q.resource_id = g.r
    ), again AS (
        UPDATE webhooks.queue q SET in_flight = false, retries = x.retries + x.c::integer, next_attempt_at = x.again, attempt_id = NULL
        FROM x WHERE x.f IS NULL AND q.organization_id = x.o AND q.webhook_id = x.w AND q.lane = x.l AND q.resource_type = x.rt
            AND q.resource_id = x.r
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

-- 429s stop their endpoint: all webhooks with that url. Of several answers to one burst the longest pause counts, and one doubling.
CREATE FUNCTION webhooks.pause(reports webhooks.outcome[], at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    e record;
    old webhooks.endpoint;
    times integer;
    wait_ms bigint;
BEGIN
    FOR e IN
        SELECT x.o, x.u, max(x.p) AS asked, bool_or(x.st = 'rate_limited') AS limited
        FROM unnest(reports) AS x GROUP BY x.o, x.u ORDER BY x.o, x.u
    LOOP
        IF NOT e.limited THEN
            UPDATE webhooks.endpoint k SET streak = 0 WHERE k.organization_id = e.o AND k.url = e.u AND k.streak > 0
                AND COALESCE(k.paused_until, '-infinity') <= at;
            CONTINUE;
        END IF;
        INSERT INTO webhooks.endpoint (organization_id, url) VALUES (e.o, e.u) ON CONFLICT DO NOTHING;
        SELECT * INTO old FROM webhooks.endpoint k WHERE k.organization_id = e.o AND k.url = e.u FOR UPDATE;
        times := CASE WHEN old.paused_until > at THEN GREATEST(1, old.streak) ELSE old.streak + 1 END;
        wait_ms := CASE WHEN e.asked > 0 THEN e.asked ELSE LEAST(900000, 30000 * power(2, LEAST(times, 10) - 1)::bigint) END;
        UPDATE webhooks.endpoint k SET streak = times,
            paused_until = GREATEST(COALESCE(k.paused_until, '-infinity'), at + wait_ms * interval '1 millisecond')
            WHERE k.organization_id = e.o AND k.url = e.u;
        UPDATE webhooks.runtime k SET held_since = COALESCE(k.held_since, at), slow_limit = 1, next_due_at = LEAST(k.next_due_at, at)
            FROM (SELECT o.organization_id, o.webhook_id FROM webhooks.webhook w
                JOIN webhooks.runtime o ON o.organization_id = w.organization_id AND o.webhook_id = w.id
                WHERE w.organization_id = e.o AND w.url = e.u ORDER BY 1, 2 FOR UPDATE OF o) l
            WHERE k.organization_id = l.organization_id AND k.webhook_id = l.webhook_id;
    END LOOP;
END
$$;

-- Attempts whose server ended, or ends now (its_server: its own), are over; their deliveries are sent again, and no retry is used up.
CREATE FUNCTION webhooks.interrupt(its_server text) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    at timestamptz(3) := wharf.now();
    n integer;
BEGIN
    WITH late AS MATERIALIZED (
        SELECT q.* FROM webhooks.queue q WHERE q.in_flight AND (q.lease_until + 0 < (extract(epoch FROM at) * 1000000)::bigint OR q.server = its_server)
        ORDER BY q.lease_until + 0 LIMIT 1000 FOR UPDATE SKIP LOCKED
    ), attempts AS (
        UPDATE webhooks.attempt a SET status = 'failure', error_code = 'interrupted', finished_at = at, next_attempt_at = at, retry_after_ms = 0,
            error_message = 'The server ended while the request was running; it is sent again'
        FROM late WHERE a.organization_id = late.organization_id AND a.created_at = late.started_at AND a.id = late.attempt_id
    ), deliveries AS (
        UPDATE webhooks.delivery d SET attempts = late.attempts FROM late
        WHERE d.organization_id = late.organization_id AND d.created_at = late.head_at AND d.event_id = late.head_event
            AND d.webhook_id = late.webhook_id AND d.run_id = late.head_run
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

-- ---- dropping ----

-- Waiting deliveries of a webhook come to nothing (queued_before: those that were queued before); requests that run finish.
CREATE FUNCTION webhooks.drop_waiting(org text, webhook text, why text, queued_before timestamptz) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    at timestamptz(3) := wharf.now();
    n bigint;
BEGIN
    PERFORM FROM webhooks.queue q WHERE q.organization_id = org AND q.webhook_id = webhook
        ORDER BY q.lane, q.resource_type, q.resource_id FOR UPDATE;
    UPDATE webhooks.delivery d SET status = 'dropped', reason = why, finished_at = at, next_attempt_at = NULL
        WHERE d.organization_id = org AND d.webhook_id || '' = webhook AND d.status IN ('pending', 'retrying')
            AND (queued_before IS NULL OR d.queued_at < queued_before)
            AND NOT EXISTS (SELECT FROM webhooks.queue q WHERE q.organization_id = org AND q.webhook_id = webhook AND q.lane = d.lane
                AND q.resource_type = d.resource_type AND q.resource_id = d.resource_id AND q.in_flight AND q.head_id = d.id);
    GET DIAGNOSTICS n = ROW_COUNT;
    IF n > 0 THEN
        PERFORM webhooks.mend_queues(org, webhook);
    END IF;
    RETURN n;
END
$$;

-- What was queued before was held for more than 48 hours in all; NULL: nothing can have been.
CREATE FUNCTION webhooks.held_since_48h(org text, webhook text, at timestamptz) RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
DECLARE
    h record;
    total interval := '0';
BEGIN
    FOR h IN
        SELECT k.held_since AS from_at, at AS until_at FROM webhooks.runtime k
            WHERE k.organization_id = org AND k.webhook_id = webhook AND k.held_since IS NOT NULL
        UNION ALL SELECT o.from_at, o.until_at FROM webhooks.hold o WHERE o.organization_id = org AND o.webhook_id = webhook
        ORDER BY 2 DESC
    LOOP
        IF total + (h.until_at - h.from_at) > interval '48 hours' THEN
            RETURN h.until_at - (interval '48 hours' - total);
        END IF;
        total := total + (h.until_at - h.from_at);
    END LOOP;
    RETURN NULL;
END
$$;

-- Once a minute: what was held too long, or belongs to who was disabled two days ago. Returns how many deliveries were dropped.
CREATE FUNCTION webhooks.drop_overdue() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    at timestamptz := wharf.now();
    w record;
    n bigint := 0;
BEGIN
    FOR w IN
        SELECT k.organization_id AS org, k.id, k.deleted_at IS NOT NULL AS gone,
            k.status = 'disabled' AND k.disabled_at <= at - interval '48 hours' AS over,
            webhooks.held_since_48h(k.organization_id, k.id, at) AS queued_before
        FROM webhooks.webhook k JOIN webhooks.runtime r ON r.organization_id = k.organization_id AND r.webhook_id = k.id
        WHERE EXISTS (SELECT FROM webhooks.queue q WHERE q.organization_id = k.organization_id AND q.webhook_id = k.id)
            AND (k.deleted_at IS NOT NULL OR r.held_since IS NOT NULL OR k.status <> 'enabled'
                OR EXISTS (SELECT FROM webhooks.hold h WHERE h.organization_id = k.organization_id AND h.webhook_id = k.id))
    LOOP
        IF w.gone THEN -- an event was processed while it was deleted
            n := n + webhooks.drop_waiting(w.org, w.id, 'webhook_deleted', NULL);
        ELSIF w.over THEN
            n := n + webhooks.drop_waiting(w.org, w.id, 'webhook_disabled_48h', NULL);
        ELSIF w.queued_before IS NOT NULL THEN
            n := n + webhooks.drop_waiting(w.org, w.id, 'held_too_long', w.queued_before);
        END IF;
    END LOOP;
    DELETE FROM webhooks.hold h WHERE h.until_at < at - interval '40 days';
    DELETE FROM webhooks.bucket b WHERE b.minute < at - interval '49 hours';
    RETURN n;
END
$$;

-- Deletes up to `most` rows of each kind whose event has expired; returns how many there were.
CREATE FUNCTION webhooks.expire(most integer) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    at timestamptz := wharf.now();
    a integer;
    d integer;
BEGIN
    DELETE FROM webhooks.attempt WHERE (organization_id, created_at, id) IN (
        SELECT o.organization_id, o.created_at, o.id FROM webhooks.attempt o WHERE o.expires_at <= at AND o.status <> 'in_progress' LIMIT most);
    GET DIAGNOSTICS a = ROW_COUNT;
    DELETE FROM webhooks.delivery WHERE (organization_id, created_at, event_id, webhook_id, run_id) IN (
        SELECT o.organization_id, o.created_at, o.event_id, o.webhook_id, o.run_id FROM webhooks.delivery o
        WHERE o.expires_at <= at AND o.status NOT IN ('pending', 'retrying') LIMIT most);
    GET DIAGNOSTICS d = ROW_COUNT;
    PERFORM wharf.drop_partitions('webhooks.attempt'::regclass, at - interval '400 days');
    PERFORM wharf.drop_partitions('webhooks.delivery'::regclass, at - interval '400 days');
    RETURN a + d;
END
$$;

-- ---- health (section 10) ----

-- What the figures say of an enabled webhook: disable, suspend, degrade, recover (no longer degraded); NULL: nothing new.
CREATE FUNCTION webhooks.judge(org text, webhook text, after_failure boolean) RETURNS text LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog AS $$
DECLARE
    at timestamptz := wharf.now();
    w record;
    hour record;
    today record;
    yesterday record;
    bad boolean;
BEGIN
    SELECT k.status, k.degraded_at, r.hour_since, r.degraded_raised_at, k.deleted_at INTO w FROM webhooks.webhook k
        JOIN webhooks.runtime r ON r.organization_id = k.organization_id AND r.webhook_id = k.id
        WHERE k.organization_id = org AND k.id = webhook;
    IF NOT FOUND OR w.deleted_at IS NOT NULL OR w.status <> 'enabled' THEN
        RETURN NULL;
    END IF;
    SELECT * INTO today FROM webhooks.sums(org, webhook, at - interval '24 hours', at);
    bad := today.failure * 10 > (today.success + today.failure) * 3;
    IF bad AND today.failure > 500 THEN
        SELECT * INTO yesterday FROM webhooks.sums(org, webhook, at - interval '48 hours', at - interval '24 hours');
        IF yesterday.failure * 10 > (yesterday.success + yesterday.failure) * 3 AND yesterday.failure > 500 THEN
            RETURN 'disable';
        END IF;
    END IF;
    IF after_failure THEN
        SELECT * INTO hour FROM webhooks.sums(org, webhook,
            GREATEST(at - interval '60 minutes', date_trunc('minute', w.hour_since) - interval '1 microsecond'), at);
        IF hour.failure >= 50 AND hour.success = 0 THEN
            RETURN 'suspend';
        END IF;
    END IF;
    IF bad AND today.failure > 100 THEN
        RETURN CASE WHEN w.degraded_at IS NULL OR w.degraded_raised_at <= at - interval '24 hours' THEN 'degrade' END;
    END IF;
    RETURN CASE WHEN w.degraded_at IS NOT NULL THEN 'recover' END;
END
$$;

-- Who is to be looked at each minute, whose suspension is over, whose url was refused for a day.
CREATE FUNCTION webhooks.due_for_care() RETURNS TABLE (organization_id text, webhook_id text, care text) LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog AS $$
    SELECT w.organization_id, w.id, 'enable' FROM webhooks.webhook w
        WHERE w.status = 'suspended' AND w.deleted_at IS NULL AND w.enable_at <= wharf.now()
    UNION ALL
    SELECT w.organization_id, w.id, webhooks.judge(w.organization_id, w.id, false) FROM webhooks.webhook w
        WHERE w.status = 'enabled' AND w.deleted_at IS NULL AND (w.degraded_at IS NOT NULL OR EXISTS (SELECT FROM webhooks.bucket b
            WHERE b.organization_id = w.organization_id AND b.webhook_id = w.id AND b.minute > wharf.now() - interval '24 hours' AND b.failure > 0))
    UNION ALL
    SELECT w.organization_id, w.id, 'invalid_url' FROM webhooks.webhook w JOIN webhooks.runtime r ON r.organization_id = w.organization_id
        AND r.webhook_id = w.id WHERE w.deleted_at IS NULL AND r.refused >= 10 AND r.refused_since <= wharf.now() - interval '24 hours'
$$;

-- All addresses, for the static rules at the start of a server.
CREATE FUNCTION webhooks.all_urls(after_org text, after_id text) RETURNS TABLE (organization_id text, webhook_id text, url text) LANGUAGE sql
    STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT w.organization_id, w.id, w.url FROM webhooks.webhook w WHERE w.deleted_at IS NULL
        AND (w.organization_id, w.id) > (after_org, after_id) ORDER BY 1, 2 LIMIT 1000
$$;

-- What attempts need of webhooks, as it is now.
CREATE FUNCTION webhooks.targets(orgs text[], ids text[]) RETURNS TABLE (organization_id text, webhook_id text, version bigint, url text,
    sealed_headers text, secrets text, timeout_ms bigint, retry_mode text) LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT w.organization_id, w.id, w.version, w.url, w.sealed_headers, w.secrets, w.timeout_ms, w.retry_mode
    FROM unnest(orgs, ids) AS x(o, i) JOIN webhooks.webhook w ON w.organization_id = x.o AND w.id = x.i
$$;
