-- wharf: phase=expand

-- How the recipients of shipments that are handled at a location are told (spec 07 section 16.3).
ALTER TABLE locations.location ADD COLUMN notification_settings jsonb;
