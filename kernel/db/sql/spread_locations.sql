-- Makes the rows of wharf.principal_location follow a principal's array of locations. Arguments
-- of the trigger: the principal's type, the column with the ids.
CREATE OR REPLACE FUNCTION wharf.spread_locations() RETURNS trigger LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    ids jsonb := to_jsonb(NEW) -> TG_ARGV[1];
BEGIN
    DELETE FROM wharf.principal_location
    WHERE organization_id = NEW.organization_id AND principal_type = TG_ARGV[0]
        AND principal_id = NEW.id AND NOT ids ? location_id;
    INSERT INTO wharf.principal_location (
        organization_id, principal_type, principal_id, location_id
    )
    SELECT NEW.organization_id, TG_ARGV[0], NEW.id, x FROM jsonb_array_elements_text(ids) AS x
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER spread_locations AFTER INSERT OR UPDATE OF location_ids ON wharf.api_key
    FOR EACH ROW EXECUTE FUNCTION wharf.spread_locations('api_key', 'location_ids');
CREATE OR REPLACE TRIGGER spread_locations AFTER INSERT OR UPDATE OF locations ON wharf.user
    FOR EACH ROW EXECUTE FUNCTION wharf.spread_locations('user', 'locations');
CREATE OR REPLACE TRIGGER spread_locations AFTER INSERT OR UPDATE OF locations ON wharf.device
    FOR EACH ROW EXECUTE FUNCTION wharf.spread_locations('device', 'locations');
