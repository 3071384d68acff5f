-- wharf: order=first
-- Gives the role of plugins' SQL its rights in the schema of a plugin. Runs after each of its
-- migrations.
CREATE OR REPLACE FUNCTION wharf.grant_plugin(plugin text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO wharf_plugin', plugin);
    EXECUTE format(
        'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO wharf_plugin', plugin);
    EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA %I TO wharf_plugin', plugin);
END
$$;
