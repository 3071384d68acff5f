-- wharf: phase=expand

-- The run that does a run again, and the one that it does again
-- (docs/spec/08-workflows-and-lua.md section 1): a request for all that failed leaves out what was
-- done again since.
ALTER TABLE workflows.run ADD COLUMN retry_of text COLLATE "C";
ALTER TABLE workflows.run ADD COLUMN retried_as text COLLATE "C";
CREATE INDEX run_again ON workflows.run (organization_id, created_at, id) WHERE deleted_at IS NULL AND retried_as IS NULL AND status IN ('failed', 'rejected', 'canceled', 'skipped');
