-- wharf: order=first
-- Protects a tenant table of any schema by row-level security. Partitions are reached through
-- their parent; by themselves they show nothing.
CREATE OR REPLACE FUNCTION wharf.protect_table(target regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', target);
    IF NOT (SELECT relispartition FROM pg_class WHERE oid = target) AND NOT EXISTS
        (SELECT FROM pg_policy WHERE polrelid = target AND polname = 'organization') THEN
        EXECUTE format(
            'CREATE POLICY organization ON %s USING (organization_id ='
            ' current_setting(''wharf.organization'', true))',
            target);
    END IF;
END
$$;
