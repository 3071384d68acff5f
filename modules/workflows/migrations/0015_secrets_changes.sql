-- wharf: phase=expand
-- Counts the bodies of workflows that carried secrets (docs/spec/08-workflows-and-lua.md section 1): who sends nothing else changes the workflow too.
ALTER TABLE workflows.workflow ADD COLUMN secrets_changes bigint NOT NULL DEFAULT 0;
