-- wharf: phase=expand
-- What a workflow wants to use at most, less than the operator's ceilings (docs/spec/08-workflows-and-lua.md section 6). Versions have it among their options.
ALTER TABLE workflows.workflow ADD COLUMN budget jsonb;
