-- wharf: phase=expand
CREATE TABLE jobbench.tally (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
-- Effects of jobs, in the order of the jobs. No unique constraint on job: a second effect must
-- show.
CREATE TABLE jobbench.effect (
    organization_id text COLLATE "C" NOT NULL,
    n bigint GENERATED ALWAYS AS IDENTITY,
    job text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    what text COLLATE "C" NOT NULL,
    value bigint NOT NULL,
    at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (organization_id, n)
);
SELECT wharf.protect_table('jobbench.tally');
SELECT wharf.protect_table('jobbench.effect');
