-- wharf: phase=expand
-- Adds the hours in which a user is not told of events, by the user's own clock, and the language
-- (spec 07 section 16.2): {"from": "22:00", "to": "07:00", "time_zone": "Europe/Berlin"}.
ALTER TABLE wharf.user ADD COLUMN quiet_hours jsonb;
ALTER TABLE wharf.user ADD COLUMN language text COLLATE "C";
CREATE INDEX user_listens ON wharf.user (organization_id)
    WHERE notification_events <> '[]' AND deleted_at IS NULL;
