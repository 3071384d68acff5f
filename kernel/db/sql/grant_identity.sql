-- Lets the SQL of plugins read and write the people and keys of the organization that it runs for
-- (row-level security holds the others back).
CREATE OR REPLACE FUNCTION wharf.grant_identity() RETURNS void LANGUAGE sql AS $$
    GRANT USAGE ON SCHEMA wharf TO wharf_plugin;
    GRANT SELECT, INSERT, UPDATE, DELETE ON wharf.organization, wharf.role, wharf.user,
        wharf.device, wharf.api_key,
        wharf.principal_location, wharf.mail_outbox TO wharf_plugin;
$$;
