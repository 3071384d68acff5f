-- wharf: phase=expand
-- First pages of long lists: equal names, codes in both orders, and how many rows have one, which partial indexes do not tell the planner.
CREATE INDEX location_name_equal ON locations.location (organization_id, lower(name), id) WHERE deleted_at IS NULL;
CREATE INDEX location_code_order ON locations.location (organization_id, lower(code) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE INDEX location_code_down ON locations.location (organization_id, lower(code) COLLATE "C" DESC NULLS LAST, id DESC) WHERE deleted_at IS NULL;
CREATE STATISTICS locations.location_names ON lower(name) FROM locations.location;
CREATE STATISTICS locations.location_codes ON lower(code) FROM locations.location;
