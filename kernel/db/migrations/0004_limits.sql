-- wharf: phase=expand
-- Limits of requests of one organization or key, in the place of those of the settings (spec 01
-- section 9): {"rate", "burst", "write", "write_burst", "concurrency"}. Only operators write them
-- (wharf org limit, wharf key limit).
ALTER TABLE wharf.organization ADD COLUMN limits jsonb NOT NULL DEFAULT '{}';
ALTER TABLE wharf.api_key ADD COLUMN limits jsonb NOT NULL DEFAULT '{}';
