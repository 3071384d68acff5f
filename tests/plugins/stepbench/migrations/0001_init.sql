-- wharf: phase=expand
CREATE TABLE stepbench.thing (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    color text,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
-- Events that steps and handlers saw, in that order. No unique constraint: a second time must show.
CREATE TABLE stepbench.seen (
    organization_id text COLLATE "C" NOT NULL,
    n bigint GENERATED ALWAYS AS IDENTITY,
    who text COLLATE "C" NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    sequence bigint NOT NULL,
    body text NOT NULL,
    chunk integer NOT NULL,
    PRIMARY KEY (organization_id, n)
);
-- Calls of the step "stepbench.weak" fail while this sequence, which no rollback takes back, is
-- below `until`.
CREATE SEQUENCE stepbench.calls;
CREATE TABLE stepbench.fault (
    organization_id text COLLATE "C" NOT NULL PRIMARY KEY,
    until bigint NOT NULL
);
-- Fetches of the resident, and their outcome.
CREATE TABLE stepbench.errand (
    organization_id text COLLATE "C" NOT NULL,
    n bigint GENERATED ALWAYS AS IDENTITY,
    url text NOT NULL,
    status integer,
    outcome text,
    taken boolean NOT NULL DEFAULT false,
    PRIMARY KEY (organization_id, n)
);
CREATE TABLE stepbench.beat (
    organization_id text COLLATE "C" NOT NULL PRIMARY KEY,
    rounds bigint NOT NULL
);
SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['stepbench.thing', 'stepbench.seen', 'stepbench.fault', 'stepbench.errand',
    'stepbench.beat']) AS t;
CREATE FUNCTION stepbench.take(most integer) RETURNS SETOF stepbench.errand LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
    UPDATE stepbench.errand SET taken = true WHERE (organization_id, n) IN (SELECT organization_id, n FROM stepbench.errand WHERE NOT taken
        ORDER BY n LIMIT most FOR UPDATE SKIP LOCKED) RETURNING *
$$;
