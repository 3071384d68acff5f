-- wharf: phase=expand

-- Adds settings for mails to recipients of shipments that are handled at a location (spec 07
-- section 16.3).
ALTER TABLE locations.location ADD COLUMN notification_settings jsonb;
