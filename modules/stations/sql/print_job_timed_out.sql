-- Writes `timed_out` for a print job that a server of an older version calls `timeout` (spec 04
-- section 8), whoever brings its row.
CREATE OR REPLACE FUNCTION stations.print_job_timed_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.status := 'timed_out';
    RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER print_job_timed_out BEFORE INSERT OR UPDATE ON stations.print_job
    FOR EACH ROW WHEN (NEW.status = 'timeout') EXECUTE FUNCTION stations.print_job_timed_out();
