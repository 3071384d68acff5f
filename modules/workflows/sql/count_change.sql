-- Numbers changes of an organization's workflows in the order of their commits
-- (docs/spec/08-workflows-and-lua.md section 2).
CREATE OR REPLACE FUNCTION workflows.count_change() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('workflows.change ' || NEW.organization_id, 0));
    NEW.change := nextval('workflows.change');
    RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER workflow_made BEFORE INSERT ON workflows.workflow
    FOR EACH ROW EXECUTE FUNCTION workflows.count_change();
CREATE OR REPLACE TRIGGER workflow_changed BEFORE UPDATE ON workflows.workflow FOR EACH ROW
    WHEN (NEW.version <> OLD.version OR NEW.deleted_at IS DISTINCT FROM OLD.deleted_at)
    EXECUTE FUNCTION workflows.count_change();
