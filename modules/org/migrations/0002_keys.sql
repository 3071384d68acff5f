-- wharf: phase=expand
-- Keys as spec 01 section 5 has them: those of live and of test mode are rows of the live organization, and mode says whose data a
-- key works on. The locations of principals are arrays of their rows, from which principal_location follows.

-- Test keys move to the live organization, where their users, devices and locations stand already. The hash is in wharf.token, the
-- unique column that a request finds a key by; workers of the version before read it there too.
UPDATE wharf.token AS t SET organization_id = o.live_organization_id
FROM org.organization AS o
WHERE t.kind = 'api_key' AND o.organization_id = t.organization_id AND o.id = t.organization_id AND o.mode = 'test';
UPDATE org.api_key AS k SET organization_id = o.live_organization_id
FROM org.organization AS o
WHERE o.organization_id = k.organization_id AND o.id = k.organization_id AND o.mode = 'test';
ALTER TABLE org.api_key DROP COLUMN hash;

ALTER TABLE org.api_key ADD COLUMN location_ids jsonb NOT NULL DEFAULT '[]';
ALTER TABLE org.user ADD COLUMN locations jsonb NOT NULL DEFAULT '[]';
ALTER TABLE org.device ADD COLUMN locations jsonb NOT NULL DEFAULT '[]';

UPDATE org.api_key AS p SET location_ids = l.ids
FROM (SELECT organization_id, principal_id, jsonb_agg(location_id ORDER BY location_id) AS ids FROM org.principal_location
    WHERE principal_type = 'api_key' GROUP BY 1, 2) AS l
WHERE l.organization_id = p.organization_id AND l.principal_id = p.id;
UPDATE org.user AS p SET locations = l.ids
FROM (SELECT organization_id, principal_id, jsonb_agg(location_id ORDER BY location_id) AS ids FROM org.principal_location
    WHERE principal_type = 'user' GROUP BY 1, 2) AS l
WHERE l.organization_id = p.organization_id AND l.principal_id = p.id;
UPDATE org.device AS p SET locations = l.ids
FROM (SELECT organization_id, principal_id, jsonb_agg(location_id ORDER BY location_id) AS ids FROM org.principal_location
    WHERE principal_type = 'device' GROUP BY 1, 2) AS l
WHERE l.organization_id = p.organization_id AND l.principal_id = p.id;

-- The arguments of the trigger: the principal's type, the column with the ids.
CREATE FUNCTION org.spread_locations() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    ids jsonb := to_jsonb(NEW) -> TG_ARGV[1];
BEGIN
    DELETE FROM org.principal_location
    WHERE organization_id = NEW.organization_id AND principal_type = TG_ARGV[0] AND principal_id = NEW.id AND NOT ids ? location_id;
    INSERT INTO org.principal_location (organization_id, principal_type, principal_id, location_id)
    SELECT NEW.organization_id, TG_ARGV[0], NEW.id, x FROM jsonb_array_elements_text(ids) AS x
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER spread_locations AFTER INSERT OR UPDATE OF location_ids ON org.api_key
    FOR EACH ROW EXECUTE FUNCTION org.spread_locations('api_key', 'location_ids');
CREATE TRIGGER spread_locations AFTER INSERT OR UPDATE OF locations ON org.user
    FOR EACH ROW EXECUTE FUNCTION org.spread_locations('user', 'locations');
CREATE TRIGGER spread_locations AFTER INSERT OR UPDATE OF locations ON org.device
    FOR EACH ROW EXECUTE FUNCTION org.spread_locations('device', 'locations');

-- Requests of test keys read the people of the live organization (docs/decisions.md 10): their SQL sees these rows as well.
DO $$
DECLARE
    target regclass;
BEGIN
    FOREACH target IN ARRAY ARRAY['org.organization', 'org.role', 'org.user', 'org.device', 'org.api_key', 'org.principal_location']::regclass[]
    LOOP
        EXECUTE format('CREATE POLICY live ON %s USING (organization_id = current_setting(''wharf.live_organization'', true))', target);
    END LOOP;
END
$$;

-- The test twin of a live organization, made as `twin` with the first test key; its settings begin as a copy. Null: there is no such
-- live organization.
CREATE FUNCTION org.test_twin(live text, twin text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    o org.organization;
BEGIN
    SELECT * INTO o FROM org.organization
    WHERE organization_id = live AND id = live AND mode = 'live' AND active AND deleted_at IS NULL FOR UPDATE;
    IF NOT FOUND OR o.test_organization_id IS NOT NULL THEN
        RETURN o.test_organization_id;
    END IF;
    UPDATE org.organization SET test_organization_id = twin WHERE organization_id = live AND id = live;
    INSERT INTO org.organization (organization_id, id, name, mode, live_organization_id, profile, logo_url, social_media, currency,
        requirements, settings, metadata, created_at, updated_at)
    VALUES (twin, twin, o.name, 'test', live, o.profile, o.logo_url, o.social_media, o.currency, o.requirements, o.settings, o.metadata,
        wharf.now(), wharf.now());
    RETURN twin;
END
$$;
