-- wharf: phase=expand

-- Templates (spec 05 section 7): those of the organization, and a row for each that comes with the
-- server (builtin), which is made when templates are first asked for.
CREATE TABLE templates.template (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    type text COLLATE "C" NOT NULL,
    location_id text COLLATE "C",
    template_data jsonb NOT NULL,
    status text COLLATE "C" NOT NULL,
    builtin boolean NOT NULL DEFAULT false,
    dimensions text COLLATE "C",
    number integer NOT NULL DEFAULT 1,
    placeholders jsonb NOT NULL DEFAULT '[]',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX template_name
    ON templates.template (organization_id, type, coalesce(location_id, ''), lower(name))
    WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX template_default
    ON templates.template (organization_id, type, coalesce(location_id, ''))
    WHERE deleted_at IS NULL AND status = 'default';
CREATE UNIQUE INDEX template_builtin
    ON templates.template (organization_id, type) WHERE builtin;
CREATE INDEX template_created_at
    ON templates.template (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX template_updated_at
    ON templates.template (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX template_type
    ON templates.template (organization_id, type, created_at, id) WHERE deleted_at IS NULL;
SELECT wharf.protect_table('templates.template');

-- Versions of templates: one row for each that is kept, the current one too.
CREATE TABLE templates.template_version (
    organization_id text COLLATE "C" NOT NULL,
    template_id text COLLATE "C" NOT NULL,
    number integer NOT NULL,
    template_data jsonb NOT NULL,
    created_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    PRIMARY KEY (organization_id, template_id, number)
);
SELECT wharf.protect_table('templates.template_version');
