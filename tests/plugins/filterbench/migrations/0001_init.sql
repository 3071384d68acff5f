-- wharf: phase=expand
CREATE TABLE filterbench.sample (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text,
    code text,
    kind text NOT NULL DEFAULT 'plain',
    status text COLLATE "C" NOT NULL,
    location_id text COLLATE "C",
    completed_at timestamptz(3),
    qty numeric(15, 4),
    count bigint NOT NULL DEFAULT 0,
    is_active boolean NOT NULL DEFAULT true,
    errors jsonb NOT NULL DEFAULT '[]',
    tags jsonb NOT NULL DEFAULT '[]',
    notes text,
    pin text,
    options jsonb NOT NULL DEFAULT '{}',
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX sample_code ON filterbench.sample (organization_id, lower(code)) WHERE deleted_at IS NULL;
CREATE INDEX sample_created ON filterbench.sample (organization_id, created_at, id) WHERE deleted_at IS NULL;

CREATE TABLE filterbench.leg (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    sample_id text COLLATE "C" NOT NULL,
    position integer NOT NULL,
    label text COLLATE "C" NOT NULL,
    is_parent boolean NOT NULL DEFAULT false,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    deleted_at timestamptz(3),
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX leg_label ON filterbench.leg (organization_id, sample_id, label) WHERE deleted_at IS NULL;

CREATE TABLE filterbench.sample_part (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    sample_id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    location_id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX sample_part_sample ON filterbench.sample_part (organization_id, sample_id, id) WHERE deleted_at IS NULL;

SELECT wharf.protect_table(t::regclass)
FROM unnest(ARRAY['filterbench.sample', 'filterbench.leg', 'filterbench.sample_part']) AS t;
