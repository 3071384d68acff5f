-- wharf: order=first
-- Makes the schema of a plugin. Runs before its first migration.
CREATE OR REPLACE FUNCTION wharf.prepare_plugin(plugin text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE SCHEMA IF NOT EXISTS %I', plugin);
END
$$;
