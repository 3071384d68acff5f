-- wharf: phase=expand
-- The kernel's own tables. Tenant tables: organization_id first in the primary key and in every unique constraint, row-level
-- security on. Growing tables are partitioned by created_at (docs/decisions.md 5 to 8).

CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;
CREATE EXTENSION IF NOT EXISTS unaccent WITH SCHEMA public;

-- The role of plugin and hook SQL: sees one organization at a time, and only plugins' schemas.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'wharf_plugin') THEN
        CREATE ROLE wharf_plugin NOLOGIN;
    END IF;
    IF NOT pg_has_role(current_user, 'wharf_plugin', 'MEMBER') THEN
        GRANT wharf_plugin TO CURRENT_USER;
    END IF;
EXCEPTION
    WHEN duplicate_object THEN
        NULL; -- another database of this server was migrated at the same moment
    WHEN insufficient_privilege THEN
        RAISE EXCEPTION 'this database user may not make roles'
            USING HINT = format('As an administrator run: CREATE ROLE wharf_plugin NOLOGIN; GRANT wharf_plugin TO %I;', current_user);
END
$$;

-- Values of the whole installation: its id, the clock offset, signing secrets.
CREATE TABLE wharf.setting (
    key text COLLATE "C" PRIMARY KEY,
    value text NOT NULL,
    updated_at timestamptz(3) NOT NULL DEFAULT now()
);

-- The kernel clock: the database's, moved by the test offset (docs/decisions.md 9).
CREATE FUNCTION wharf.now() RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT now() + make_interval(secs => COALESCE((SELECT value::bigint FROM wharf.setting WHERE key = 'clock.offset_seconds'), 0))
$$;

-- How searches compare text: without case and accents. Immutable, so that indexes may be built on it; that holds as long as the
-- rules of unaccent are not edited.
CREATE FUNCTION wharf.fold(text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT lower(public.unaccent('public.unaccent'::regdictionary, $1))
$$;

-- What must be found before the organization is known. The one exception to the rule of unique constraints.
CREATE TABLE wharf.token (
    hash bytea PRIMARY KEY,
    organization_id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL
);

-- Answers of requests with an Idempotency-Key, written in the transaction of the change (spec 01 section 8).
CREATE TABLE wharf.idempotency (
    organization_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    fingerprint bytea NOT NULL,
    status smallint NOT NULL,
    body text, -- null: too large or holding a secret; resource and resource_id say what to render again
    resource text COLLATE "C",
    resource_id text COLLATE "C",
    created_at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, key)
);
CREATE INDEX idempotency_created_at ON wharf.idempotency (created_at);

-- The change log (spec 01 section 13): one row per change, written with it; sealed later.
CREATE TABLE wharf.change_log (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    resource text COLLATE "C" NOT NULL,
    resource_id text COLLATE "C" NOT NULL,
    parent_id text COLLATE "C",
    action text COLLATE "C" NOT NULL,
    changes jsonb NOT NULL DEFAULT '[]',
    message text,
    images jsonb,
    visibility text COLLATE "C" NOT NULL DEFAULT 'internal',
    actor_type text COLLATE "C" NOT NULL,
    actor_id text COLLATE "C",
    actor_name text,
    request_id text COLLATE "C",
    event_id text COLLATE "C",
    batch_id text COLLATE "C",
    location_id text COLLATE "C",
    prev_hash text COLLATE "C",
    hash text COLLATE "C",
    PRIMARY KEY (organization_id, created_at, id)
) PARTITION BY RANGE (created_at);
CREATE TABLE wharf.change_log_default PARTITION OF wharf.change_log DEFAULT;
CREATE INDEX change_log_resource ON wharf.change_log (organization_id, resource_id, created_at DESC, id DESC);
CREATE INDEX change_log_parent ON wharf.change_log (organization_id, parent_id, created_at DESC, id DESC)
    WHERE parent_id IS NOT NULL;

-- Events (spec 07 section 1): the outbox and the record in one. data is json, not jsonb: it is written once and handed on as it is.
CREATE TABLE wharf.event (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    type text COLLATE "C" NOT NULL,
    "timestamp" timestamptz(3) NOT NULL,
    sequence bigint,
    location_id text COLLATE "C",
    resource_type text COLLATE "C" NOT NULL,
    resource_id text COLLATE "C" NOT NULL,
    batch_id text COLLATE "C",
    actor_type text COLLATE "C" NOT NULL,
    actor_id text COLLATE "C",
    actor_name text,
    request_id text COLLATE "C",
    depth integer NOT NULL DEFAULT 0,
    data json NOT NULL,
    previous_attributes json,
    data_truncated boolean NOT NULL DEFAULT false,
    disable_webhooks boolean NOT NULL DEFAULT false,
    steps json NOT NULL DEFAULT '[]',
    processed_at timestamptz(3),
    expires_at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, created_at, id)
) PARTITION BY RANGE (created_at);
CREATE TABLE wharf.event_default PARTITION OF wharf.event DEFAULT;

-- Row-level security, said once for every tenant table of any schema. Partitions are reached through their parent; by
-- themselves they show nothing.
CREATE FUNCTION wharf.protect_table(target regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', target);
    IF NOT (SELECT relispartition FROM pg_class WHERE oid = target) AND NOT EXISTS
        (SELECT FROM pg_policy WHERE polrelid = target AND polname = 'organization') THEN
        EXECUTE format('CREATE POLICY organization ON %s USING (organization_id = current_setting(''wharf.organization'', true))',
            target);
    END IF;
END
$$;

SELECT wharf.protect_table(t::regclass)
FROM unnest(ARRAY['wharf.token', 'wharf.idempotency', 'wharf.change_log', 'wharf.change_log_default', 'wharf.event',
    'wharf.event_default']) AS t;

-- Makes the partitions of the month before `at` to two months after it, for every table of any schema that is partitioned by
-- ranges of created_at. Rows that a missing partition let fall into the default partition are moved. Returns how many it made.
CREATE FUNCTION wharf.ensure_partitions(at timestamptz) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    parent record;
    first_day timestamp;
    from_at timestamptz;
    to_at timestamptz;
    name text;
    made integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('wharf.ensure_partitions', 0));
    FOR parent IN
        SELECT n.nspname AS schema, c.relname AS "table", c.oid, d.relname AS default_table
        FROM pg_partitioned_table p
        JOIN pg_class c ON c.oid = p.partrelid
        JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_attribute k ON k.attrelid = c.oid AND k.attnum = p.partattrs[0] AND k.attname = 'created_at'
        LEFT JOIN pg_class d ON d.oid = NULLIF(p.partdefid, 0)
        WHERE p.partstrat = 'r' AND p.partnatts = 1
    LOOP
        FOR month IN -1 .. 2 LOOP
            first_day := date_trunc('month', at AT TIME ZONE 'UTC') + make_interval(months => month);
            from_at := first_day AT TIME ZONE 'UTC';
            to_at := (first_day + interval '1 month') AT TIME ZONE 'UTC';
            name := format('%s_%s', parent."table", to_char(first_day, '"y"YYYY"m"MM'));
            CONTINUE WHEN to_regclass(format('%I.%I', parent.schema, name)) IS NOT NULL;
            EXECUTE format('CREATE TABLE %I.%I (LIKE %I.%I INCLUDING ALL)', parent.schema, name, parent.schema, parent."table");
            IF parent.default_table IS NOT NULL THEN
                EXECUTE format('WITH moved AS (DELETE FROM %I.%I WHERE created_at >= $1 AND created_at < $2 RETURNING *)'
                    ' INSERT INTO %I.%I SELECT * FROM moved', parent.schema, parent.default_table, parent.schema, name)
                    USING from_at, to_at;
            END IF;
            EXECUTE format('ALTER TABLE %I.%I ATTACH PARTITION %I.%I FOR VALUES FROM (%L) TO (%L)',
                parent.schema, parent."table", parent.schema, name, from_at, to_at);
            IF (SELECT relrowsecurity FROM pg_class WHERE oid = parent.oid) THEN
                PERFORM wharf.protect_table(format('%I.%I', parent.schema, name)::regclass);
            END IF;
            made := made + 1;
        END LOOP;
    END LOOP;
    RETURN made;
END
$$;

-- Drops the partitions of a table whose newest possible row is older than `before`. Returns how many.
CREATE FUNCTION wharf.drop_partitions(parent regclass, before timestamptz) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    part record;
    dropped integer := 0;
BEGIN
    FOR part IN
        SELECT c.oid::regclass AS name,
            (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO \(''([^'']+)''\)'))[1]::timestamptz AS ends
        FROM pg_inherits i
        JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = parent
    LOOP
        IF part.ends <= before THEN
            EXECUTE format('DROP TABLE %s', part.name);
            dropped := dropped + 1;
        END IF;
    END LOOP;
    RETURN dropped;
END
$$;

-- A plugin's schema, and what the plugin role may do in it. Run before its first migration and after each.
CREATE FUNCTION wharf.prepare_plugin(plugin text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE SCHEMA IF NOT EXISTS %I', plugin);
END
$$;
CREATE FUNCTION wharf.grant_plugin(plugin text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO wharf_plugin', plugin);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO wharf_plugin', plugin);
    EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA %I TO wharf_plugin', plugin);
END
$$;

INSERT INTO wharf.setting (key, value) VALUES
    ('installation.id', gen_random_uuid()::text),
    ('clock.offset_seconds', '0'),
    ('cursor.key', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')); -- 64 hex digits

SELECT wharf.ensure_partitions(now());
