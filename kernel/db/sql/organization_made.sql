-- Gives a new live organization its built-in roles.
CREATE OR REPLACE FUNCTION wharf.organization_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM wharf.built_in_roles(NEW.id);
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER organization_made AFTER INSERT ON wharf.organization FOR EACH ROW
    WHEN (NEW.mode = 'live')
    EXECUTE FUNCTION wharf.organization_made();
