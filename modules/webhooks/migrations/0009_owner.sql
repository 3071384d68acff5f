-- wharf: phase=expand
-- Whose rights a webhook has: those of the key that chose its events and locations (spec 07 section 1.1). NULL: made before it was noted; it keeps all.
ALTER TABLE webhooks.webhook ADD COLUMN owner_key text COLLATE "C";
