-- wharf: order=first
-- Gives the role of plugins' SQL its rights in the schema of a plugin. Runs after each of its
-- migrations, so that only what is new gets them: a grant on what has them writes the catalogue all
-- the same, and each session reads the table anew.
CREATE OR REPLACE FUNCTION wharf.grant_plugin(plugin text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    target record;
BEGIN
    IF NOT has_schema_privilege('wharf_plugin', plugin, 'USAGE') THEN
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO wharf_plugin', plugin);
    END IF;
    FOR target IN
        SELECT c.oid::regclass AS name, c.relkind = 'S' AS counts FROM pg_class c
            JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = plugin AND CASE WHEN c.relkind = 'S'
            THEN NOT has_sequence_privilege('wharf_plugin', c.oid, 'USAGE')
            WHEN c.relkind IN ('r', 'p', 'v', 'm', 'f')
            THEN NOT (has_table_privilege('wharf_plugin', c.oid, 'SELECT')
                AND has_table_privilege('wharf_plugin', c.oid, 'INSERT')
                AND has_table_privilege('wharf_plugin', c.oid, 'UPDATE')
                AND has_table_privilege('wharf_plugin', c.oid, 'DELETE')) END
    LOOP
        EXECUTE format(CASE WHEN target.counts
            THEN 'GRANT USAGE ON SEQUENCE %s TO wharf_plugin'
            ELSE 'GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO wharf_plugin' END, target.name);
    END LOOP;
END
$$;
