-- wharf: phase=expand
-- What devices ask for by GET /v1/workflows/sync (docs/spec/08-workflows-and-lua.md section 2): what changed since they asked last. Changes of an organization's
-- workflows are numbered in the order of their commits, under a lock that each holds to its end; a moment would leave out what is committed late. What runs
-- leave in the row (last_run, failure_streak) is no change.

ALTER TABLE workflows.workflow ADD COLUMN change bigint NOT NULL DEFAULT 0;
CREATE SEQUENCE workflows.change;
CREATE INDEX workflow_change ON workflows.workflow (organization_id, change);

CREATE FUNCTION workflows.count_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('workflows.change ' || NEW.organization_id, 0));
    NEW.change := nextval('workflows.change');
    RETURN NEW;
END
$$;
CREATE TRIGGER workflow_made BEFORE INSERT ON workflows.workflow FOR EACH ROW EXECUTE FUNCTION workflows.count_change();
CREATE TRIGGER workflow_changed BEFORE UPDATE ON workflows.workflow FOR EACH ROW WHEN (NEW.version <> OLD.version OR NEW.deleted_at IS DISTINCT FROM OLD.deleted_at)
    EXECUTE FUNCTION workflows.count_change();
