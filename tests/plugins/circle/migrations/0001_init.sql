-- wharf: phase=expand
CREATE TABLE circle.circle (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    locations jsonb NOT NULL DEFAULT '[]',
    friend_id text COLLATE "C",
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX circle_created ON circle.circle (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX circle_locations ON circle.circle USING gin (locations);
SELECT wharf.protect_table('circle.circle');
