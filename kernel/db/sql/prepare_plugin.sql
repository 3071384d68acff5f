-- wharf: order=first
-- A plugin's schema, and what the plugin role may do in it. Run before its first migration and after each.
CREATE OR REPLACE FUNCTION wharf.prepare_plugin(plugin text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE SCHEMA IF NOT EXISTS %I', plugin);
END
$$;
