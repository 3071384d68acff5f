-- wharf: phase=expand
-- Events after their commit (docs/events.md): the order in which they are processed, their numbers, their bodies, what is tried again.

-- Rises in commit order for each resource, whose row is locked when it emits.
CREATE SEQUENCE wharf.outbox_position AS bigint;
ALTER TABLE wharf.event
    ADD COLUMN outbox_position bigint NOT NULL DEFAULT nextval('wharf.outbox_position'),
    ADD COLUMN traceparent text COLLATE "C",
    -- The body's bytes up to its data, made when the event is processed; the body is head, data, previous_attributes and "}".
    ADD COLUMN head text;
CREATE INDEX event_unprocessed ON wharf.event (organization_id, outbox_position) WHERE processed_at IS NULL;
CREATE INDEX event_sequence ON wharf.event (organization_id, sequence) WHERE sequence IS NOT NULL;
CREATE INDEX event_resource ON wharf.event (organization_id, resource_id, created_at DESC, id DESC);
CREATE INDEX event_type ON wharf.event (organization_id, type, created_at DESC, id DESC);

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

-- Takes up to v_most unprocessed events, of one organization after the other beginning behind v_after, and gives them their numbers. The
-- organization stays locked until the end of the transaction, so that numbers become visible in their order and without holes.
CREATE FUNCTION wharf.event_claim(v_after text, v_most integer, v_bytes bigint) RETURNS TABLE (
    organization_id text, id text, created_at timestamptz, type text, "timestamp" timestamptz, location_id text, resource_type text,
    resource_id text, batch_id text, actor_type text, actor_id text, actor_name text, request_id text, depth integer, data text,
    previous_attributes text, data_truncated boolean, disable_webhooks boolean, expires_at timestamptz, traceparent text, sequence bigint,
    live_organization text)
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_column
DECLARE
    v_organization text := v_after;
    v_left integer := v_most;
    v_got integer;
    v_round integer := 0;
BEGIN
    FOR i IN 1 .. 64 LOOP
        EXIT WHEN v_left <= 0;
        SELECT e.organization_id INTO v_organization FROM wharf.event e WHERE e.processed_at IS NULL AND e.organization_id > v_organization
            AND (v_round = 0 OR e.organization_id <= v_after) ORDER BY e.organization_id LIMIT 1;
        IF v_organization IS NULL THEN
            EXIT WHEN v_round = 1 OR v_after = '';
            v_round := 1;
            v_organization := '';
            CONTINUE;
        END IF;
        CONTINUE WHEN NOT pg_try_advisory_xact_lock(hashtextextended('wharf.event:' || v_organization, 0));
        RETURN QUERY WITH c AS MATERIALIZED (
            SELECT e.* FROM wharf.event e WHERE e.organization_id = v_organization AND e.processed_at IS NULL
            ORDER BY e.outbox_position LIMIT v_left FOR UPDATE SKIP LOCKED
        ), sized AS (
            SELECT c.*, row_number() OVER w AS n, sum(pg_column_size(c.data)) OVER w AS bytes FROM c WINDOW w AS (ORDER BY c.outbox_position)
        ), chosen AS (
            SELECT * FROM sized s WHERE s.n = 1 OR s.bytes <= v_bytes
        ), counted AS (
            INSERT INTO wharf.event_counter AS k (organization_id, sequence)
            SELECT v_organization, count(*) FROM chosen HAVING count(*) > 0
            ON CONFLICT (organization_id) DO UPDATE SET sequence = k.sequence + EXCLUDED.sequence
            RETURNING k.sequence - (SELECT count(*) FROM chosen) AS before
        )
        SELECT x.organization_id, x.id, x.created_at, x.type, x."timestamp", x.location_id, x.resource_type, x.resource_id, x.batch_id,
            x.actor_type, x.actor_id, x.actor_name, x.request_id, x.depth, x.data::text, x.previous_attributes::text, x.data_truncated,
            x.disable_webhooks, x.expires_at, x.traceparent, counted.before + x.n,
            (SELECT o.live_organization_id FROM org.organization o WHERE o.organization_id = v_organization AND o.id = v_organization)
        FROM chosen x, counted ORDER BY x.n;
        GET DIAGNOSTICS v_got = ROW_COUNT;
        v_left := v_left - v_got;
    END LOOP;
END
$$;

-- Rows to be deleted when their time has come: an event with a delivery that is not final stays, at most 72 hours more.
CREATE OR REPLACE FUNCTION wharf.expire_events(most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    over timestamptz := wharf.now();
    n integer;
BEGIN
    DELETE FROM wharf.event WHERE (organization_id, created_at, id) IN (
        SELECT e.organization_id, e.created_at, e.id FROM wharf.event e WHERE e.expires_at <= over
            AND (e.expires_at <= over - interval '72 hours' OR NOT EXISTS (SELECT FROM wharf.event_delivery d
                WHERE d.organization_id = e.organization_id AND d.event_id = e.id
                AND d.state IN ('pending', 'in_flight', 'retrying', 'held')))
        LIMIT most);
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END
$$;

-- As before, but partitions of events whose deliveries may still be under way are kept. They are not waited for while others use the tables.
CREATE OR REPLACE FUNCTION wharf.drop_expired_partitions() RETURNS integer LANGUAGE plpgsql SET lock_timeout = '2s' AS $$
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
        SELECT i.inhparent AS parent, c.oid::regclass AS name,
            (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO \(''([^'']+)''\)'))[1]::timestamptz AS ends
        FROM pg_inherits i
        JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent IN ('wharf.change_log'::regclass, 'wharf.request_log'::regclass, 'wharf.event'::regclass)
    LOOP
        CONTINUE WHEN part.ends IS NULL;
        IF part.parent = 'wharf.event'::regclass THEN
            CONTINUE WHEN part.ends > at;
            EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE expires_at > $1 - interval ''72 hours'')', part.name) INTO alive USING at;
        ELSIF part.parent = 'wharf.request_log'::regclass THEN
            alive := part.ends > at - make_interval(days => COALESCE(longest_request, 14));
        ELSE
            -- A row may be sealed after younger ones: a day between keeps what is left one chain.
            alive := part.ends > at - make_interval(days => COALESCE(longest, 365) + 1);
            IF NOT alive THEN
                EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE sequence IS NULL)', part.name) INTO alive;
            END IF;
            IF NOT alive THEN
                EXECUTE format('UPDATE wharf.log_chain c SET base_sequence = l.sequence, base_hash = l.hash FROM ('
                    'SELECT DISTINCT ON (organization_id) organization_id, sequence, hash FROM %s ORDER BY organization_id, sequence DESC) l'
                    ' WHERE c.organization_id = l.organization_id AND l.sequence > c.base_sequence', part.name);
            END IF;
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
