-- wharf: phase=expand
-- What lies below a layout is looked up without its location: filters by place, removed layouts.

CREATE INDEX layout_path ON locations.layout (organization_id, path) WHERE path IS NOT NULL;
