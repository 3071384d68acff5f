-- wharf: phase=expand
-- Events after their commit (docs/events.md): their numbers, their bodies, what is tried again.

ALTER TABLE wharf.event
    ADD COLUMN traceparent text COLLATE "C",
    DROP COLUMN sequence, DROP COLUMN steps, DROP COLUMN processed_at;
CREATE INDEX event_resource ON wharf.event (organization_id, resource_id, created_at);
CREATE INDEX event_type ON wharf.event (organization_id, type, created_at);
-- As with wharf.change_log: the youngest index is the one to look rows up by.
ALTER TABLE wharf.event DROP CONSTRAINT event_pkey;
ALTER TABLE wharf.event ADD PRIMARY KEY (organization_id, created_at, id);
INSERT INTO wharf.outbox (organization_id, created_at, event_id)
    SELECT organization_id, created_at, id FROM wharf.event ORDER BY created_at, id;

-- What processing adds, in rows of its own: events are wide, have many indexes, and are never written again.
CREATE TABLE wharf.event_done (
    organization_id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL, -- of the event
    event_id text COLLATE "C" NOT NULL,
    sequence bigint NOT NULL,
    processed_at timestamptz(3) NOT NULL,
    head text NOT NULL, -- the body's bytes up to its data; the body is head, data, previous_attributes and "}"
    steps json NOT NULL
) PARTITION BY RANGE (created_at);
CREATE TABLE wharf.event_done_default PARTITION OF wharf.event_done DEFAULT;
CREATE INDEX event_done_sequence ON wharf.event_done (organization_id, sequence);
ALTER TABLE wharf.event_done ADD PRIMARY KEY (organization_id, created_at, event_id);
SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['wharf.event_done', 'wharf.event_done_default']) AS t;
-- Both together, for people; what was not processed yet has nulls.
CREATE VIEW wharf.event_state WITH (security_invoker = true) AS
    SELECT e.*, d.sequence, d.processed_at, d.head, d.steps FROM wharf.event e
    LEFT JOIN wharf.event_done d ON d.organization_id = e.organization_id AND d.created_at = e.created_at AND d.event_id = e.id;

-- The last number given in each organization.
CREATE TABLE wharf.event_counter (
    organization_id text COLLATE "C" NOT NULL PRIMARY KEY,
    sequence bigint NOT NULL
);

-- Steps that failed and are tried again.
CREATE TABLE wharf.event_retry (
    organization_id text COLLATE "C" NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    event_created_at timestamptz(3) NOT NULL,
    step text COLLATE "C" NOT NULL,
    attempts integer NOT NULL, -- calls that failed
    next_at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, event_id, step)
);
CREATE INDEX event_retry_next ON wharf.event_retry (next_at);

SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['wharf.event_counter', 'wharf.event_retry']) AS t;

-- The deliveries of events to webhooks, as the module that delivers has them: it replaces this empty view by one of its own table, with
-- the same columns. initial: made when the event was processed; attempted: at least one request was made for it.
CREATE VIEW wharf.event_delivery AS
    SELECT ''::text COLLATE "C" AS organization_id, ''::text COLLATE "C" AS event_id, ''::text COLLATE "C" AS webhook_id,
        ''::text COLLATE "C" AS state, false AS initial, false AS attempted
    WHERE false;

-- Takes up to v_most rows of the outbox, of one organization after the other beginning behind v_after, with their events and log lines,
-- and gives both their numbers. The organization stays locked until the end of the transaction, so that numbers become visible in
-- their order and without holes. log_text is what is to be hashed, behind chain_hash or the hash of the line before. The plan is made while
-- tables may be empty and kept for as long as the session: LIMIT 1 and ctid make of each look-up one of one row, whatever is believed then.
CREATE FUNCTION wharf.outbox_claim(v_after text, v_most integer, v_bytes bigint) RETURNS TABLE (
    organization_id text, id text, created_at timestamptz, type text, "timestamp" timestamptz, location_id text, resource_type text,
    resource_id text, batch_id text, actor_type text, actor_id text, actor_name text, request_id text, depth integer, data text,
    previous_attributes text, data_truncated boolean, disable_webhooks boolean, expires_at timestamptz, traceparent text, sequence bigint,
    live_organization text, log_id text, log_at timestamptz, log_text text, log_sequence bigint, chain_hash text)
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    v_organization text := v_after;
    v_left integer := v_most;
    v_got integer;
    v_round integer := 0;
BEGIN
    FOR i IN 1 .. 64 LOOP
        EXIT WHEN v_left <= 0;
        SELECT o.organization_id INTO v_organization FROM wharf.outbox o WHERE o.organization_id > v_organization
            AND (v_round = 0 OR o.organization_id <= v_after) ORDER BY o.organization_id LIMIT 1;
        IF v_organization IS NULL THEN
            EXIT WHEN v_round = 1 OR v_after = '';
            v_round := 1;
            v_organization := '';
            CONTINUE;
        END IF;
        CONTINUE WHEN NOT pg_try_advisory_xact_lock(hashtextextended('wharf.event:' || v_organization, 0));
        RETURN QUERY WITH q AS MATERIALIZED (
            SELECT o.ctid AS tid, o.position, o.created_at, o.event_id, o.log_id FROM wharf.outbox o WHERE o.organization_id = v_organization
            ORDER BY o.position LIMIT v_left
        ), joined AS MATERIALIZED (
            SELECT q.tid, q.position, q.created_at AS at, l.id AS line, l.text, e.*
            FROM q
            LEFT JOIN LATERAL (SELECT * FROM wharf.event x WHERE x.organization_id = v_organization AND x.created_at = q.created_at
                AND x.id = q.event_id LIMIT 1) e ON true
            LEFT JOIN LATERAL (SELECT x.id, wharf.canonical_log(x) AS text FROM wharf.change_log x WHERE x.organization_id = v_organization AND x.created_at = q.created_at
                AND x.id = q.log_id LIMIT 1) l ON true
        ), sized AS (
            SELECT j.*, row_number() OVER w AS n, sum(pg_column_size(j.data)) OVER w AS bytes,
                count(j.id) OVER w AS nth_event, count(j.line) OVER w AS nth_line
            FROM joined j WINDOW w AS (ORDER BY j.position)
        ), chosen AS MATERIALIZED (
            SELECT * FROM sized s WHERE s.n = 1 OR s.bytes IS NULL OR s.bytes <= v_bytes
        ), taken AS (
            DELETE FROM wharf.outbox o WHERE o.ctid = ANY (ARRAY(SELECT x.tid FROM chosen x))
        ), counted AS (
            INSERT INTO wharf.event_counter AS k (organization_id, sequence)
            SELECT v_organization, count(x.id) FROM chosen x HAVING count(x.id) > 0
            ON CONFLICT (organization_id) DO UPDATE SET sequence = k.sequence + EXCLUDED.sequence
            RETURNING k.sequence - (SELECT count(x.id) FROM chosen x) AS before
        ), chained AS (
            INSERT INTO wharf.log_chain AS k (organization_id, sequence)
            SELECT v_organization, count(x.line) FROM chosen x HAVING count(x.line) > 0
            ON CONFLICT (organization_id) DO UPDATE SET sequence = k.sequence + EXCLUDED.sequence
            RETURNING k.sequence - (SELECT count(x.line) FROM chosen x) AS before, encode(k.hash, 'hex') AS hash
        )
        SELECT v_organization, x.id, x.created_at, x.type, x."timestamp", x.location_id, x.resource_type, x.resource_id, x.batch_id,
            x.actor_type, x.actor_id, x.actor_name, x.request_id, x.depth, x.data::text, x.previous_attributes::text, x.data_truncated,
            x.disable_webhooks, x.expires_at, x.traceparent, counted.before + x.nth_event,
            (SELECT o.live_organization_id FROM org.organization o WHERE o.organization_id = v_organization AND o.id = v_organization),
            x.line, x.at, x.text, chained.before + x.nth_line, chained.hash
        FROM chosen x LEFT JOIN counted ON true LEFT JOIN chained ON true ORDER BY x.n;
        GET DIAGNOSTICS v_got = ROW_COUNT;
        v_left := v_left - v_got;
    END LOOP;
END
$$;

-- Rows to be deleted when their time has come: an event with a delivery that is not final stays, at most 72 hours more.
CREATE FUNCTION wharf.expire_events(most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    over timestamptz := wharf.now();
    n integer;
BEGIN
    WITH gone AS (
        DELETE FROM wharf.event WHERE (organization_id, created_at, id) IN (
            SELECT e.organization_id, e.created_at, e.id FROM wharf.event e WHERE e.expires_at <= over
                AND (e.expires_at <= over - interval '72 hours' OR NOT EXISTS (SELECT FROM wharf.event_delivery d
                    WHERE d.organization_id = e.organization_id AND d.event_id = e.id
                    AND d.state IN ('pending', 'in_flight', 'retrying', 'held')))
            LIMIT most)
        RETURNING organization_id, created_at, id
    ), done AS (
        DELETE FROM wharf.event_done WHERE (organization_id, created_at, event_id) IN (SELECT * FROM gone)
    )
    SELECT count(*) INTO n FROM gone;
    RETURN n;
END
$$;

-- Drops the partitions in which everything is over for everybody; those of events while no delivery may still be under way. They are not
-- waited for while others use the tables. Seals and what processing added follow their log lines and events.
CREATE FUNCTION wharf.drop_expired_partitions() RETURNS integer LANGUAGE plpgsql SET lock_timeout = '2s' AS $$
DECLARE
    at timestamptz := wharf.now();
    longest integer;
    longest_request integer;
    part record;
    alive boolean;
    dropped integer := 0;
BEGIN
    SELECT max(wharf.log_days(settings, 'retain_days', 365)), max(wharf.log_days(settings, 'request_retain_days', 14))
        INTO longest, longest_request FROM org.organization;
    FOR part IN
        SELECT c.oid::regclass AS name, p.kind,
            (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''([^'']+)''\)'))[1]::timestamptz AS begins,
            (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO \(''([^'']+)''\)'))[1]::timestamptz AS ends
        FROM unnest(ARRAY['change_log', 'request_log', 'event', 'log_seal', 'event_done']) WITH ORDINALITY AS p(kind, n)
        JOIN pg_inherits i ON i.inhparent = ('wharf.' || p.kind)::regclass
        JOIN pg_class c ON c.oid = i.inhrelid
        ORDER BY p.n
    LOOP
        CONTINUE WHEN part.ends IS NULL;
        IF part.kind = 'event' THEN
            CONTINUE WHEN part.ends > at;
            EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE expires_at > $1 - interval ''72 hours'')', part.name) INTO alive USING at;
        ELSIF part.kind = 'request_log' THEN
            alive := part.ends > at - make_interval(days => COALESCE(longest_request, 14));
        ELSIF part.kind = 'change_log' THEN
            -- A row may be sealed after younger ones: a day between keeps what is left one chain.
            alive := part.ends > at - make_interval(days => COALESCE(longest, 365) + 1)
                OR EXISTS (SELECT FROM wharf.outbox o WHERE o.log_id IS NOT NULL AND o.created_at < part.ends);
            IF NOT alive THEN
                UPDATE wharf.log_chain c SET base_sequence = l.sequence, base_hash = l.hash FROM (
                    SELECT DISTINCT ON (s.organization_id) s.organization_id, s.sequence, s.hash FROM wharf.log_seal s
                    WHERE s.created_at >= part.begins AND s.created_at < part.ends ORDER BY s.organization_id, s.sequence DESC) l
                    WHERE c.organization_id = l.organization_id AND l.sequence > c.base_sequence;
            END IF;
        ELSE
            CONTINUE WHEN part.ends > at;
            EXECUTE format('SELECT EXISTS (SELECT FROM wharf.%I WHERE created_at >= $1 AND created_at < $2)',
                CASE part.kind WHEN 'log_seal' THEN 'change_log' ELSE 'event' END) INTO alive USING part.begins, part.ends;
        END IF;
        CONTINUE WHEN alive;
        EXECUTE format('DROP TABLE %s', part.name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END
$$;

-- Streams that are opened by a token look for the key that made it.
CREATE INDEX token_key ON wharf.token (id) WHERE kind = 'api_key';

SELECT wharf.ensure_partitions(now());
