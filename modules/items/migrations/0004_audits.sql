-- wharf: phase=expand

-- Audits: counts of the stock of a location (spec 01 section 14). task_changes counts writes of the
-- tasks, which have a table of their own.
CREATE TABLE items.audit (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    number text NOT NULL,
    location_id text COLLATE "C" NOT NULL,
    item_ids jsonb NOT NULL DEFAULT '[]',
    layout_ids jsonb NOT NULL DEFAULT '[]',
    status text COLLATE "C" NOT NULL,
    priority text COLLATE "C" NOT NULL,
    assignee text COLLATE "C",
    complete_at timestamptz(3),
    overdue boolean NOT NULL DEFAULT false,
    finished_at timestamptz(3),
    update_inventory boolean NOT NULL DEFAULT true,
    task_count integer NOT NULL DEFAULT 0,
    counted_count integer NOT NULL DEFAULT 0,
    discrepant_count integer,
    group_id text COLLATE "C",
    task_changes bigint NOT NULL DEFAULT 0,
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX audit_number
    ON items.audit (organization_id, location_id, lower(number)) WHERE deleted_at IS NULL;
CREATE INDEX audit_number_order
    ON items.audit (organization_id, lower(number) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE STATISTICS items.audit_numbers ON lower(number) FROM items.audit;
CREATE INDEX audit_created_at
    ON items.audit (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX audit_updated_at
    ON items.audit (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX audit_complete_at
    ON items.audit (organization_id, complete_at, id) WHERE deleted_at IS NULL;
CREATE INDEX audit_priority
    ON items.audit (organization_id, array_position(ARRAY['low', 'medium', 'high'], priority), id)
    WHERE deleted_at IS NULL;
CREATE INDEX audit_status
    ON items.audit (organization_id, status, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX audit_location
    ON items.audit (organization_id, location_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX audit_assignee ON items.audit (organization_id, assignee) WHERE assignee IS NOT NULL;
CREATE INDEX audit_metadata ON items.audit USING gin (metadata jsonb_path_ops);

-- total: what was on hand when counting ended; null until then. position: the order in which one
-- walks past the layouts.
CREATE TABLE items.audit_task (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    audit_id text COLLATE "C" NOT NULL,
    location_id text COLLATE "C" NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    layout_id text COLLATE "C" NOT NULL,
    position integer NOT NULL,
    total numeric(20, 4),
    counted numeric(15, 4) CHECK (counted >= 0),
    total_at_count numeric(20, 4),
    reason_code_id text COLLATE "C",
    lot_number text COLLATE "C",
    counted_by text COLLATE "C",
    counted_at timestamptz(3),
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX audit_task_audit ON items.audit_task (organization_id, audit_id, position, id);
CREATE INDEX audit_task_item ON items.audit_task (organization_id, item_id);
CREATE INDEX audit_task_layout ON items.audit_task (organization_id, layout_id);
CREATE INDEX audit_task_reason
    ON items.audit_task (organization_id, reason_code_id) WHERE reason_code_id IS NOT NULL;

-- The numbers of audits at a location.
CREATE TABLE items.audit_counter (
    organization_id text COLLATE "C" NOT NULL,
    location_id text COLLATE "C" NOT NULL,
    last bigint NOT NULL,
    PRIMARY KEY (organization_id, location_id)
);
SELECT wharf.protect_table(t::regclass)
FROM unnest(ARRAY['items.audit', 'items.audit_task', 'items.audit_counter']) AS t;
