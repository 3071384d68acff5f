-- Makes the role of plugins' SQL, which a restore into another cluster does not bring.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'wharf_plugin') THEN
        CREATE ROLE wharf_plugin NOLOGIN;
    END IF;
    IF NOT pg_has_role(current_user, 'wharf_plugin', 'MEMBER') THEN
        GRANT wharf_plugin TO CURRENT_USER;
    END IF;
EXCEPTION
    WHEN duplicate_object THEN NULL;
END $$
