-- wharf: phase=expand

-- When the stock of a location, and of a layout, was last counted (spec 01 section 14).
ALTER TABLE locations.location ADD COLUMN last_audited_at timestamptz(3);
ALTER TABLE locations.layout ADD COLUMN last_audited_at timestamptz(3);
