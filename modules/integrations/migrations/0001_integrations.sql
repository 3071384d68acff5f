-- wharf: phase=expand
-- Integrations, their secrets, and the logs of what went out and came in (docs/spec/07-events-and-webhooks.md section 12).

CREATE TABLE integrations.integration (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    direction text COLLATE "C" NOT NULL CHECK (direction IN ('incoming', 'outgoing')),
    name text NOT NULL,
    provider text,
    events jsonb,
    location_ids jsonb,
    filter jsonb,
    workflow_id text COLLATE "C",
    url text COLLATE "C",
    method text COLLATE "C",
    headers jsonb NOT NULL DEFAULT '{}', -- names; the values are in sealed_headers
    sealed_headers text COLLATE "C",
    auth jsonb,
    enabled boolean NOT NULL DEFAULT true,
    failing boolean NOT NULL DEFAULT false, -- the last request ended in an error
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX integration_created ON integrations.integration (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX integration_updated ON integrations.integration (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX integration_search_name ON integrations.integration USING gin (lower(name) public.gin_trgm_ops);

CREATE TABLE integrations.secret (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    integration_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL, -- sealed
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX secret_key ON integrations.secret (organization_id, integration_id, key) WHERE deleted_at IS NULL;

-- What went out. created_at is the time that the id carries.
CREATE TABLE integrations.outgoing (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    integration_id text COLLATE "C" NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    resource_id text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'success', 'error', 'skipped')),
    request jsonb,
    response jsonb,
    error jsonb,
    attempts bigint NOT NULL DEFAULT 0,
    duration_ms bigint,
    next_attempt_at timestamptz(3),
    expires_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, created_at, id)
) PARTITION BY RANGE (created_at);
CREATE TABLE integrations.outgoing_default PARTITION OF integrations.outgoing DEFAULT;
CREATE INDEX outgoing_event ON integrations.outgoing (organization_id, event_id, integration_id);
CREATE INDEX outgoing_integration ON integrations.outgoing (organization_id, integration_id, created_at);
CREATE INDEX outgoing_expires ON integrations.outgoing USING brin (expires_at) WITH (pages_per_range = 32);

-- What came in.
CREATE TABLE integrations.incoming (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    integration_id text COLLATE "C" NOT NULL,
    event_id text COLLATE "C",
    resource_id text COLLATE "C",
    status text COLLATE "C" NOT NULL CHECK (status IN ('pending', 'success', 'error', 'skipped')),
    request jsonb NOT NULL,
    headers jsonb NOT NULL,
    proof text COLLATE "C", -- sealed: what a refused request offered, for another try
    response jsonb,
    error jsonb,
    attempts bigint NOT NULL DEFAULT 1,
    duration_ms bigint,
    expires_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, created_at, id)
) PARTITION BY RANGE (created_at);
CREATE TABLE integrations.incoming_default PARTITION OF integrations.incoming DEFAULT;
CREATE INDEX incoming_integration ON integrations.incoming (organization_id, integration_id, created_at);
CREATE INDEX incoming_expires ON integrations.incoming USING brin (expires_at) WITH (pages_per_range = 32);

-- Requests that are still to be made. One that runs has a server, and is due again when its lease is over.
CREATE TABLE integrations.waiting (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL, -- with organization and id the key of its row in outgoing
    integration_id text COLLATE "C" NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    next_attempt_at timestamptz(3) NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    retries integer NOT NULL DEFAULT 0,
    server text COLLATE "C",
    PRIMARY KEY (organization_id, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX waiting_due ON integrations.waiting ((integration_id || ''), next_attempt_at);
CREATE INDEX waiting_next ON integrations.waiting (next_attempt_at);
CREATE INDEX waiting_runs ON integrations.waiting ((integration_id || ' runs')) WHERE server IS NOT NULL;

-- Ids of accepted requests, so that one that is sent again is not taken twice.
CREATE TABLE integrations.seen (
    organization_id text COLLATE "C" NOT NULL,
    integration_id text COLLATE "C" NOT NULL,
    webhook_id text COLLATE "C" NOT NULL,
    incoming_id text COLLATE "C" NOT NULL,
    at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, integration_id, webhook_id)
);
CREATE INDEX seen_at ON integrations.seen (at);

-- Errors of the last day, and when they were last told of.
CREATE TABLE integrations.failure (
    organization_id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('outgoing_integration', 'incoming_webhook')),
    at timestamptz(3) NOT NULL,
    id text COLLATE "C" NOT NULL
);
CREATE INDEX failure_at ON integrations.failure (organization_id, kind, at);
CREATE TABLE integrations.notice (
    organization_id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, kind)
);

SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['integrations.integration', 'integrations.secret', 'integrations.outgoing',
    'integrations.outgoing_default', 'integrations.incoming', 'integrations.incoming_default', 'integrations.waiting', 'integrations.seen',
    'integrations.failure', 'integrations.notice']) AS t;
SELECT wharf.ensure_partitions(wharf.now());

-- Takes what is due: of each integration that has something at most as much as brings it to `each` requests at a time, `room` in all.
CREATE FUNCTION integrations.claim(its_server text, room integer, each integer) RETURNS TABLE (organization_id text, id text,
    integration_id text, event_id text, attempts integer, retries integer, url text, method text, sealed_headers text, usable boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
#variable_conflict use_column
DECLARE
    at timestamptz(3) := wharf.now();
    its_integration text;
    free integer;
    got integer;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    FOR its_integration IN
        -- A skip scan: each integration with something to do is one look into the index.
        WITH RECURSIVE list AS (
            (SELECT w.integration_id || '' AS i FROM integrations.waiting w ORDER BY w.integration_id || '' LIMIT 1)
            UNION ALL
            SELECT (SELECT w.integration_id || '' FROM integrations.waiting w WHERE w.integration_id || '' > list.i
                ORDER BY w.integration_id || '' LIMIT 1)
            FROM list WHERE list.i IS NOT NULL)
        SELECT list.i FROM list WHERE list.i IS NOT NULL ORDER BY random()
    LOOP
        EXIT WHEN room <= 0;
        SELECT LEAST(room, each - count(*)) INTO free FROM integrations.waiting w
            WHERE w.integration_id || ' runs' = its_integration || ' runs' AND w.server IS NOT NULL AND w.next_attempt_at > at;
        CONTINUE WHEN free <= 0;
        RETURN QUERY
            WITH due AS MATERIALIZED (
                SELECT w.organization_id, w.id FROM integrations.waiting w
                WHERE w.integration_id || '' = its_integration AND w.next_attempt_at <= at
                ORDER BY w.next_attempt_at LIMIT free FOR UPDATE SKIP LOCKED
            ), taken AS (
                UPDATE integrations.waiting w SET server = its_server, attempts = w.attempts + 1, next_attempt_at = at + interval '60 seconds'
                FROM due WHERE w.organization_id = due.organization_id AND w.id = due.id
                RETURNING w.*
            )
            SELECT t.organization_id, t.id, t.integration_id, t.event_id, t.attempts, t.retries, i.url, i.method, i.sealed_headers,
                i.enabled AND i.deleted_at IS NULL
            FROM taken t JOIN integrations.integration i ON i.organization_id = t.organization_id AND i.id = t.integration_id;
        GET DIAGNOSTICS got = ROW_COUNT;
        room := room - got;
    END LOOP;
END
$$;

-- When the next thing is due, as milliseconds from now (at most 1,000).
CREATE FUNCTION integrations.next_due() RETURNS integer LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT LEAST(1000, GREATEST(0, COALESCE(extract(epoch FROM (SELECT w.next_attempt_at
        FROM integrations.waiting w ORDER BY w.next_attempt_at LIMIT 1) - wharf.now()) * 1000, 1000)))::integer
$$;

-- Attempts that are over. given: [{o: organization, i: id, st: status, n: wait in ms when it is pending, c: counts as a retry, rq, rs, er: request,
-- response and error, ms: duration}]. What somebody else has taken since is left to him. Returns those that ended in an error.
CREATE FUNCTION integrations.complete(its_server text, given json) RETURNS TABLE (organization_id text, id text) LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog AS $$
#variable_conflict use_column
DECLARE
    at timestamptz(3) := wharf.now();
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    RETURN QUERY
        WITH x AS MATERIALIZED (
            SELECT y.*, w.created_at, w.integration_id, w.attempts FROM json_to_recordset(given) AS y(o text, i text, st text, n bigint, c boolean,
                rq jsonb, rs jsonb, er jsonb, ms bigint)
            JOIN integrations.waiting w ON w.organization_id = y.o AND w.id = y.i AND w.server = its_server
            ORDER BY y.o, y.i FOR UPDATE OF w
        ), logged AS (
            UPDATE integrations.outgoing g SET status = x.st, request = COALESCE(x.rq, g.request), response = x.rs, error = x.er,
                attempts = x.attempts, duration_ms = x.ms, updated_at = at,
                next_attempt_at = CASE WHEN x.st = 'pending' THEN at + x.n * interval '1 millisecond' END
            FROM x WHERE g.organization_id = x.o AND g.created_at = x.created_at AND g.id = x.i
        ), later AS (
            UPDATE integrations.waiting w SET server = NULL, next_attempt_at = at + x.n * interval '1 millisecond',
                retries = w.retries + x.c::integer
            FROM x WHERE x.st = 'pending' AND w.organization_id = x.o AND w.id = x.i
        ), gone AS (
            DELETE FROM integrations.waiting w USING x WHERE x.st <> 'pending' AND w.organization_id = x.o AND w.id = x.i
        ), failed AS (
            INSERT INTO integrations.failure (organization_id, kind, at, id) SELECT x.o, 'outgoing_integration', at, x.i FROM x WHERE x.st = 'error'
        ), states AS (
            UPDATE integrations.integration k SET failing = s.bad FROM (
                SELECT x.o, x.integration_id AS i, bool_or(x.st = 'error') AS bad FROM x WHERE x.st IN ('success', 'error') GROUP BY 1, 2 ORDER BY 1, 2) s
            WHERE k.organization_id = s.o AND k.id = s.i AND k.failing <> s.bad
        )
        SELECT x.o, x.i FROM x WHERE x.st = 'error';
END
$$;

-- A server ends: what it did not get done is due at once.
CREATE FUNCTION integrations.interrupt(its_server text) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    n integer;
BEGIN
    UPDATE integrations.waiting w SET server = NULL, next_attempt_at = wharf.now() WHERE w.server = its_server;
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END
$$;

-- Deletes up to `most` rows of each log that have expired, and what is only of use for a day; returns how many there were.
CREATE FUNCTION integrations.expire(most integer) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    over timestamptz := wharf.now();
    n integer;
    total integer := 0;
BEGIN
    DELETE FROM integrations.outgoing WHERE (organization_id, created_at, id) IN (
        SELECT o.organization_id, o.created_at, o.id FROM integrations.outgoing o WHERE o.expires_at <= over AND NOT EXISTS (
            SELECT FROM integrations.waiting w WHERE w.organization_id = o.organization_id AND w.id = o.id) LIMIT most);
    GET DIAGNOSTICS n = ROW_COUNT;
    total := n;
    DELETE FROM integrations.incoming WHERE (organization_id, created_at, id) IN (
        SELECT o.organization_id, o.created_at, o.id FROM integrations.incoming o WHERE o.expires_at <= over LIMIT most);
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n;
    DELETE FROM integrations.seen WHERE ctid = ANY (ARRAY(SELECT o.ctid FROM integrations.seen o WHERE o.at <= over - interval '24 hours' LIMIT most));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n;
    DELETE FROM integrations.failure f WHERE f.at < over - interval '25 hours';
    PERFORM wharf.drop_partitions('integrations.outgoing'::regclass, over - interval '400 days');
    PERFORM wharf.drop_partitions('integrations.incoming'::regclass, over - interval '400 days');
    RETURN total;
END
$$;
