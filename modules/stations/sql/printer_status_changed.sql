-- Notes when a status was reported that differs from the last one. A trigger, because requests,
-- heartbeats and the watch for missed heartbeats all write it.
CREATE OR REPLACE FUNCTION stations.printer_status_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.status_changed_at := NEW.created_at;
    ELSIF NEW.status IS DISTINCT FROM OLD.status THEN
        NEW.status_changed_at := NEW.updated_at;
    END IF;
    RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER printer_status_changed BEFORE INSERT OR UPDATE ON stations.printer
    FOR EACH ROW EXECUTE FUNCTION stations.printer_status_changed();
