-- wharf: phase=expand
-- The change log's seal, the request log, and what is kept for how long (spec 01 section 13, docs/logs.md).

-- ---- the seal ----
-- The rows of an organization form a chain in the order in which they were sealed, which is `sequence`: 1, 2, 3, without holes. It is the
-- order of (created_at, id) of what was committed and not sealed yet; a row that commits late, behind others that are younger, is
-- simply sealed later. So no row can come too late for its place, and nothing waits for transactions that are still open.
ALTER TABLE wharf.change_log ADD COLUMN sequence bigint;
CREATE INDEX change_log_unsealed ON wharf.change_log (organization_id, created_at, id) WHERE sequence IS NULL;
CREATE INDEX change_log_sequence ON wharf.change_log (organization_id, sequence) WHERE sequence IS NOT NULL;

-- Both ends of each chain: the newest sealed row, and the last one that retention took away (0 and sixty-four zeros: none yet).
CREATE TABLE wharf.log_chain (
    organization_id text COLLATE "C" NOT NULL PRIMARY KEY,
    sequence bigint NOT NULL DEFAULT 0,
    hash text COLLATE "C" NOT NULL DEFAULT repeat('0', 64),
    base_sequence bigint NOT NULL DEFAULT 0,
    base_hash text COLLATE "C" NOT NULL DEFAULT repeat('0', 64)
);
SELECT wharf.protect_table('wharf.log_chain');

-- What is sealed: the row as the API answers it with ISO dates, without prev_hash and hash, in the text form of jsonb: members sorted by
-- length and then by bytes, ": " and ", " between.
CREATE FUNCTION wharf.canonical_log(r wharf.change_log) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('object', 'log', 'id', r.id, 'resource', r.resource, 'resource_id', r.resource_id, 'parent_id', r.parent_id,
        'action', r.action, 'changes', r.changes, 'message', r.message, 'images', COALESCE(r.images, '[]'), 'visibility', r.visibility,
        'actor', jsonb_build_object('type', r.actor_type, 'id', r.actor_id, 'name', r.actor_name), 'request_id', r.request_id,
        'event_id', r.event_id, 'batch_id', r.batch_id, 'location_id', r.location_id,
        'created_at', to_char(r.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text
$$;
CREATE FUNCTION wharf.log_hash(prev text, r wharf.change_log) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT encode(sha256(convert_to(prev || wharf.canonical_log(r), 'UTF8')), 'hex')
$$;

-- Seals up to `most` rows of each organization that has unsealed ones. Returns how many.
CREATE FUNCTION wharf.seal_logs(most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    org text;
    head wharf.log_chain;
    line wharf.change_log;
    before text;
    sealed integer := 0;
BEGIN
    FOR org IN
        -- A skip scan: each organization with unsealed rows is one look into the index.
        WITH RECURSIVE waiting AS (
            (SELECT organization_id FROM wharf.change_log WHERE sequence IS NULL ORDER BY organization_id LIMIT 1)
            UNION ALL
            SELECT (SELECT c.organization_id FROM wharf.change_log c WHERE c.sequence IS NULL AND c.organization_id > w.organization_id
                ORDER BY c.organization_id LIMIT 1)
            FROM waiting w WHERE w.organization_id IS NOT NULL)
        SELECT organization_id FROM waiting WHERE organization_id IS NOT NULL
    LOOP
        INSERT INTO wharf.log_chain (organization_id) VALUES (org) ON CONFLICT DO NOTHING;
        SELECT * INTO head FROM wharf.log_chain WHERE organization_id = org FOR UPDATE;
        FOR line IN
            SELECT * FROM wharf.change_log WHERE organization_id = org AND sequence IS NULL ORDER BY created_at, id LIMIT most
        LOOP
            before := head.hash;
            head.hash := wharf.log_hash(before, line);
            head.sequence := head.sequence + 1;
            UPDATE wharf.change_log SET prev_hash = before, hash = head.hash, sequence = head.sequence
                WHERE organization_id = org AND created_at = line.created_at AND id = line.id;
            sealed := sealed + 1;
        END LOOP;
        UPDATE wharf.log_chain SET sequence = head.sequence, hash = head.hash WHERE organization_id = org;
    END LOOP;
    RETURN sealed;
END
$$;

-- Checks the links from first to last (NULL: to the end of the chain): each row's hash, that it follows the one before it, and that
-- the rows next to both ends are there. bad_id: the first row that is not as it was sealed or whose predecessor is missing; the last one
-- that is left when the end was cut off.
CREATE FUNCTION wharf.verify_log(org text, first bigint, last bigint, OUT checked bigint, OUT bad boolean, OUT bad_id text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    head wharf.log_chain;
    line wharf.change_log;
    at bigint; -- of the row before
    before text;
    until bigint;
BEGIN
    checked := 0;
    bad := false;
    SELECT * INTO head FROM wharf.log_chain WHERE organization_id = org;
    IF NOT FOUND THEN
        SELECT true, c.id INTO bad, bad_id FROM wharf.change_log c WHERE c.organization_id = org AND c.sequence IS NOT NULL
            ORDER BY c.sequence LIMIT 1;
        bad := COALESCE(bad, false);
        RETURN;
    END IF;
    first := GREATEST(first, head.base_sequence + 1);
    until := LEAST(COALESCE(last, head.sequence) + 1, head.sequence);
    at := first - 1;
    IF at <= head.base_sequence THEN
        at := head.base_sequence;
        before := head.base_hash;
    ELSE
        SELECT c.hash INTO before FROM wharf.change_log c WHERE c.organization_id = org AND c.sequence = at;
    END IF;
    -- Without a last one also what stands behind the end of the chain: nothing may.
    FOR line IN
        SELECT * FROM wharf.change_log c WHERE c.organization_id = org AND c.sequence >= first
            AND (c.sequence <= until OR last IS NULL) ORDER BY c.sequence, c.created_at, c.id
    LOOP
        bad_id := line.id;
        IF line.sequence <> at + 1 OR line.prev_hash IS DISTINCT FROM before OR line.sequence > head.sequence
            OR line.hash IS DISTINCT FROM wharf.log_hash(line.prev_hash, line) THEN
            bad := true;
            RETURN;
        END IF;
        at := line.sequence;
        before := line.hash;
        checked := checked + (line.sequence <= COALESCE(last, head.sequence))::integer;
    END LOOP;
    bad := at < until OR (at = head.sequence AND before <> head.hash);
    IF NOT bad THEN
        bad_id := NULL;
    END IF;
END
$$;

-- ---- the request log ----
CREATE TABLE wharf.request_log (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL, -- the Request-Id; its time is created_at
    created_at timestamptz(3) NOT NULL,
    method text COLLATE "C" NOT NULL,
    route text COLLATE "C",
    path text NOT NULL,
    query text,
    status smallint NOT NULL,
    code text COLLATE "C",
    duration_ms numeric(12, 3) NOT NULL,
    api_key_id text COLLATE "C",
    principal_id text COLLATE "C",
    ip text COLLATE "C",
    user_agent text,
    client_request_id text COLLATE "C",
    idempotency_key text,
    idempotent_replayed boolean NOT NULL,
    request_bytes bigint NOT NULL,
    response_bytes bigint NOT NULL,
    request_body text,
    response_body text,
    row_id text COLLATE "C", -- the row that was answered
    path_id text COLLATE "C", -- the ids in the path, from its end
    parent_id text COLLATE "C",
    PRIMARY KEY (organization_id, created_at, id)
) PARTITION BY RANGE (created_at);
CREATE TABLE wharf.request_log_default PARTITION OF wharf.request_log DEFAULT;
CREATE INDEX request_log_row ON wharf.request_log (organization_id, row_id, created_at) WHERE row_id IS NOT NULL;
CREATE INDEX request_log_path ON wharf.request_log (organization_id, path_id, created_at) WHERE path_id IS NOT NULL;
CREATE INDEX request_log_parent ON wharf.request_log (organization_id, parent_id, created_at) WHERE parent_id IS NOT NULL;
SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['wharf.request_log', 'wharf.request_log_default']) AS t;

-- ---- what is over ----
-- Expired events are found by ranges of pages: they lie in the order in which they came.
CREATE INDEX event_expires ON wharf.event USING brin (expires_at) WITH (pages_per_range = 32);

-- Days of settings.logs.<key>; a test organization has the settings of its live one (docs/decisions.md 10).
CREATE FUNCTION wharf.log_days(settings jsonb, key text, otherwise integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN settings #>> ARRAY['logs', key] ~ '^[1-9][0-9]{0,3}$' THEN (settings #>> ARRAY['logs', key])::integer ELSE otherwise END
$$;

-- Each of the next three deletes up to `most` rows that are over and returns how many there were.
-- Of the change log only from the beginning of the chain on, so that what is left is one chain still.
CREATE FUNCTION wharf.expire_change_log(most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    o record;
    line record;
    deleted integer := 0;
BEGIN
    FOR o IN
        SELECT c.organization_id AS org, wharf.now() - make_interval(days => wharf.log_days(s.settings, 'retain_days', 365)) AS before
        FROM wharf.log_chain c
        JOIN org.organization w ON w.organization_id = c.organization_id AND w.id = c.organization_id
        JOIN org.organization s ON s.organization_id = COALESCE(w.live_organization_id, w.id) AND s.id = s.organization_id
    LOOP
        EXIT WHEN deleted >= most;
        PERFORM FROM wharf.log_chain WHERE organization_id = o.org FOR UPDATE;
        FOR line IN
            SELECT created_at, id, sequence, hash FROM wharf.change_log
            WHERE organization_id = o.org AND sequence IS NOT NULL ORDER BY sequence LIMIT most - deleted
        LOOP
            EXIT WHEN line.created_at >= o.before;
            DELETE FROM wharf.change_log WHERE organization_id = o.org AND created_at = line.created_at AND id = line.id;
            UPDATE wharf.log_chain SET base_sequence = line.sequence, base_hash = line.hash WHERE organization_id = o.org;
            deleted := deleted + 1;
        END LOOP;
    END LOOP;
    RETURN deleted;
END
$$;

CREATE FUNCTION wharf.expire_request_log(most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    o record;
    n integer;
    deleted integer := 0;
BEGIN
    FOR o IN
        SELECT w.organization_id AS org, wharf.now() - make_interval(days => wharf.log_days(s.settings, 'request_retain_days', 14)) AS before
        FROM org.organization w
        JOIN org.organization s ON s.organization_id = COALESCE(w.live_organization_id, w.id) AND s.id = s.organization_id
        WHERE w.id = w.organization_id
    LOOP
        EXIT WHEN deleted >= most;
        DELETE FROM wharf.request_log WHERE (organization_id, created_at, id) IN (
            SELECT organization_id, created_at, id FROM wharf.request_log
            WHERE organization_id = o.org AND created_at < o.before ORDER BY created_at LIMIT most - deleted);
        GET DIAGNOSTICS n = ROW_COUNT;
        deleted := deleted + n;
    END LOOP;
    RETURN deleted;
END
$$;

CREATE FUNCTION wharf.expire_events(most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    over timestamptz := wharf.now();
    n integer;
BEGIN
    DELETE FROM wharf.event WHERE (organization_id, created_at, id) IN (
        SELECT organization_id, created_at, id FROM wharf.event WHERE expires_at <= over LIMIT most);
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END
$$;

-- Drops the partitions in which everything is over for everybody. They are not waited for while others use the tables.
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
        SELECT i.inhparent AS parent, c.oid::regclass AS name,
            (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO \(''([^'']+)''\)'))[1]::timestamptz AS ends
        FROM pg_inherits i
        JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent IN ('wharf.change_log'::regclass, 'wharf.request_log'::regclass, 'wharf.event'::regclass)
    LOOP
        CONTINUE WHEN part.ends IS NULL;
        IF part.parent = 'wharf.event'::regclass THEN
            CONTINUE WHEN part.ends > at;
            EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE expires_at > $1)', part.name) INTO alive USING at;
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

-- ---- what support requests need ----
-- Links for people without a key end; those of keys and files have no end of their own.
ALTER TABLE wharf.token ADD COLUMN expires_at timestamptz(3);
CREATE INDEX token_id ON wharf.token (organization_id, kind, id) WHERE expires_at IS NOT NULL;
CREATE INDEX token_expires ON wharf.token (expires_at) WHERE expires_at IS NOT NULL;
CREATE FUNCTION wharf.expire_tokens(most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    n integer;
BEGIN
    DELETE FROM wharf.token WHERE hash IN (SELECT hash FROM wharf.token WHERE expires_at <= wharf.now() LIMIT most);
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END
$$;
-- The job that is told when the bytes of an upload have come.
ALTER TABLE wharf.file ADD COLUMN announce text COLLATE "C";

SELECT wharf.ensure_partitions(now());
