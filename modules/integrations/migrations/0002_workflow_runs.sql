-- wharf: phase=expand

-- The run of a workflow that a request became (docs/spec/07-events-and-webhooks.md section 12).
ALTER TABLE integrations.outgoing ADD COLUMN run_id text COLLATE "C";
ALTER TABLE integrations.incoming ADD COLUMN run_id text COLLATE "C";
